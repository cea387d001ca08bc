import type { ProgressLine } from "./run-state.js";

/** The newest lines of the live view, few and short enough for the run to be carried over in one value. */
export function carriedLines(lines: readonly ProgressLine[]): readonly ProgressLine[] {
  return newestLines(lines, { count: 60, chars: 8_000 });
}

/** Those before them that are remembered: who follows a run looks at it five times a second at most, and a task of it lasts as long. */
export function passedLines(lines: readonly ProgressLine[]): readonly ProgressLine[] {
  return newestLines(lines, { count: 400, chars: 64_000 });
}

function newestLines(
  lines: readonly ProgressLine[],
  most: { readonly count: number; readonly chars: number },
): readonly ProgressLine[] {
  let chars = 0;
  let first = lines.length;
  while (first > Math.max(0, lines.length - most.count)) {
    const { nodeId, text } = lines[first - 1] ?? { nodeId: "", text: "" };
    chars += nodeId.length + text.length;
    if (chars > most.chars) break;
    first -= 1;
  }
  return lines.slice(first);
}
