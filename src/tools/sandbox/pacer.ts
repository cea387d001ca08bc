import { Refusal } from "./faults.js";

const LONGEST_BUSY_MS = 8;

/** Keeps long work polite: it lets the event loop run, hears an abort, and knows when time is up. */
export class Pacer {
  private readonly deadline: number;
  private busySince = performance.now();
  private readonly signal: AbortSignal | undefined;

  constructor(maxDurationMs: number, signal?: AbortSignal) {
    this.signal = signal;
    this.deadline = performance.now() + maxDurationMs;
  }

  /** Whether a pause is due: cheap enough to ask after every small step. */
  get due(): boolean {
    return performance.now() - this.busySince > LONGEST_BUSY_MS;
  }

  get expired(): boolean {
    return performance.now() > this.deadline;
  }

  /** Lets others run. Refuses to go on after an abort. */
  async pause(): Promise<void> {
    this.refuseAborted();
    await new Promise((resolve) => setImmediate(resolve));
    this.refuseAborted();
    this.busySince = performance.now();
  }

  private refuseAborted(): void {
    if (this.signal?.aborted === true) throw new Refusal("ENGINE_ABORTED", "The call was cancelled.");
  }
}
