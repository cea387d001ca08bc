import { newest } from "../newest.js";
import type { ProgressLine } from "../run/run-state.js";

/** The newest lines of the live view, few and short enough for the run to be carried over in one value. */
export function carriedLines(lines: readonly ProgressLine[]): readonly ProgressLine[] {
  return newest(lines, { count: 60, size: 8_000 }, charsOf);
}

/** Those before them that are remembered: who follows a run looks at it five times a second at most, and a task of it lasts as long. */
export function passedLines(lines: readonly ProgressLine[]): readonly ProgressLine[] {
  return newest(lines, { count: 400, size: 64_000 }, charsOf);
}

function charsOf({ nodeId, text }: ProgressLine): number {
  return nodeId.length + text.length;
}
