/** How long nothing may come of what a server is asked. Some of it takes longer by nature: then the server is asked whether it is there. */
const SILENT_MS = 10_000;
/** Before it is taken for gone. Twice: it may be this process that was busy or stopped for so long. */
const LOOKS = 2;
const LOOK_AGAIN_MS = 2_000;

/** What a server that may fall silent is watched by. */
export interface Watched {
  /** Asks something that is answered at once; whether it was. */
  readonly look: () => Promise<boolean>;
  /** Whether anything that was asked is not answered yet. */
  readonly isWaiting: () => boolean;
  /** It is silent, or has answered again. */
  readonly onChange: (isSilent: boolean) => void;
}

/** Notices a server whose connection stands and that answers nothing, as one that was stopped: by itself gRPC waits for it. */
export class Silence {
  private timer: NodeJS.Timeout | undefined;
  private isLooking = false;
  private hasHeard = false;
  private isOver = false;
  private readonly watched: Watched;
  private readonly silentMs: number;

  constructor(watched: Watched, silentMs = SILENT_MS) {
    this.watched = watched;
    this.silentMs = silentMs;
  }

  /** Something was asked. */
  asked(): void {
    if (this.isLooking || this.isOver) return;
    this.timer ??= setTimeout(() => void this.look(), this.silentMs).unref();
  }

  /** Something that was asked has ended; by an answer of the server's, though it be a refusal, or without. */
  heard(isAnswer: boolean): void {
    this.hasHeard ||= isAnswer;
    if (this.watched.isWaiting()) this.timer?.refresh();
    else this.clear();
  }

  end(): void {
    this.isOver = true;
    this.clear();
  }

  private clear(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
  }

  private async look(): Promise<void> {
    const { look, onChange } = this.watched;
    this.clear();
    this.isLooking = true;
    this.hasHeard = false;
    for (let looks = 0; looks < LOOKS && !this.isOver; looks += 1) {
      if ((await look()) || this.hasHeard) return this.goOn(); // one that answers others meanwhile is busy
    }
    if (!this.isOver) onChange(true);
    while (!this.isOver && !(await look())) await pause(LOOK_AGAIN_MS);
    if (!this.isOver) onChange(false);
    this.goOn();
  }

  private goOn(): void {
    this.isLooking = false;
    if (this.watched.isWaiting()) this.asked();
  }
}

/** Holds no process. */
function pause(ms: number): Promise<void> {
  return new Promise((resolve) => void setTimeout(resolve, ms).unref());
}
