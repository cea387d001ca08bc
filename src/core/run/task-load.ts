import { QUICK_TURN_MS } from "../step-size.js";

/** Temporal takes 4 MiB from a task, and a turn may have 256 KiB. */
const MAX_CHARS = 256 * 1_024;
const MAX_BOUNDARIES = 16;

/** What the task of a run whose steps are nodes holds until it ends, since a node's boundary was last waited for. */
export class TaskLoad {
  private turnsMs = 0;
  private chars = 0;
  private boundaries = 0;

  /** Messages to the run wait as long as its task does: half as long as one quick turn may take. */
  get isLight(): boolean {
    return this.turnsMs < QUICK_TURN_MS / 2 && this.chars < MAX_CHARS && this.boundaries < MAX_BOUNDARIES;
  }

  /** Quick turns took so long and came to what has so many characters as JSON. */
  noteTurns(tookMs: number, chars: number): void {
    this.turnsMs += tookMs;
    this.chars += chars;
  }

  noteBoundary(): void {
    this.boundaries += 1;
  }

  /** The task has ended. */
  clear(): void {
    [this.turnsMs, this.chars, this.boundaries] = [0, 0, 0];
  }
}
