import { type BlockLine, blockOf, isSame } from "./live-block.js";
import { eraseNotes, noteRoom, printFaintNote, printNote } from "../terminal/output.js";
import { type Standing, noticesOf } from "../report/waiting-words.js";

/** For pipes, logs and CI: what a run waits for, each change of it once. */
export function notesOfChanges(): (standing: Standing) => void {
  let said: ReadonlySet<string> = new Set();
  return (standing) => {
    const notices = noticesOf(standing);
    for (const { key, text } of notices) if (!said.has(key)) printNote(text);
    said = new Set(notices.map(({ key }) => key));
  };
}

/** For terminals: what stands at the end of the notes, taken back and written anew where it changes. */
export class RedrawnBlock {
  private drawn: readonly BlockLine[] = [];
  private waiting: Standing | undefined;

  /** After Ctrl-Z and `fg` the shell's lines stand at the end: they are not taken back. */
  private readonly leaveDrawn = (): void => {
    this.drawn = [];
  };

  constructor() {
    process.on("SIGCONT", this.leaveDrawn);
  }

  /** From now on the run waits for this. */
  wait(standing: Standing): void {
    this.waiting = standing;
  }

  /** `news` is printed above; undefined where there is none. */
  draw(head: readonly string[], news?: () => void): void {
    const block = blockOf(head, this.waiting, noteRoom());
    if (news === undefined && isSame(block, this.drawn)) return;
    this.erase();
    news?.();
    for (const { text, isFaint } of block) (isFaint ? printFaintNote : printNote)(text);
    this.drawn = block;
  }

  erase(): void {
    eraseNotes(this.drawn.length);
    this.drawn = [];
  }

  /** It is drawn no more; what is drawn stays. */
  close(): void {
    process.off("SIGCONT", this.leaveDrawn);
  }
}
