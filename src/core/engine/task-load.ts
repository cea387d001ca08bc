import { QUICK_TURN_MS } from "../step-size.js";

/** A turn may have 256 KiB, and so may a part of a graph. */
const MAX_BYTES_AT_BOUNDARY = 256 * 1_024;
/** Temporal takes 4 MiB from a task, and ends a run that says more in one. */
const MAX_BYTES = 1_024 * 1_024;
const MAX_BOUNDARIES = 16;

/** What the task of a run whose steps are nodes holds until it ends, since a node's boundary was last waited for. */
export class TaskLoad {
  private turnsMs = 0;
  private bytes = 0;
  private boundaries = 0;

  /** Messages to the run wait as long as its task does: half as long as one quick turn may take. */
  get isLight(): boolean {
    return (
      this.turnsMs < QUICK_TURN_MS / 2 &&
      this.bytes < MAX_BYTES_AT_BOUNDARY &&
      this.boundaries < MAX_BOUNDARIES
    );
  }

  /** One more turn may be too much for it. */
  get isFull(): boolean {
    return this.bytes >= MAX_BYTES;
  }

  noteTurns(tookMs: number): void {
    this.turnsMs += tookMs;
  }

  /** Something was said in it that has so many bytes as JSON. */
  noteSaid(bytes: number): void {
    this.bytes += bytes;
  }

  noteBoundary(): void {
    this.boundaries += 1;
  }

  /** The task has ended; bars that it handed out may be under way. */
  endTask(): void {
    [this.turnsMs, this.bytes] = [0, 0];
  }

  /** The task has ended, and the bars are over. */
  clear(): void {
    this.endTask();
    this.boundaries = 0;
  }
}
