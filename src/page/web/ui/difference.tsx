import { structuredPatch } from "diff";
import { useMemo } from "preact/hooks";
import { visibleText } from "../visible.js";

/** Longer texts, or those that differ in more, or take longer, are not compared: the page stays quick. */
const MAX_CHARS = 400_000;
const MAX_EDITS = 4_000;
const MAX_MS = 500;
const MAX_LINES = 3_000;

/** What was taken away and what was added, line by line. */
export function Difference({ before, after }: { readonly before: string; readonly after: string }) {
  const hunks = useMemo(() => compare(before, after), [before, after]);
  if (hunks === undefined)
    return <p class="muted">The two are too different, or too long, to be compared here.</p>;
  if (hunks.length === 0) return <p class="muted">Nothing differs.</p>;
  const lines = hunks.flatMap((hunk) => [`@ line ${hunk.newStart}`, ...hunk.lines]);
  return (
    <div class="difference" tabIndex={0} role="region" aria-label="What differs">
      {lines.slice(0, MAX_LINES).map((line, index) => (
        <Line key={index} line={line} />
      ))}
      {lines.length > MAX_LINES && <div class="gap">… {lines.length - MAX_LINES} lines more</div>}
    </div>
  );
}

function Line({ line }: { readonly line: string }) {
  const text = visibleText(line);
  if (line.startsWith("+"))
    return (
      <div>
        <ins>{text}</ins>
      </div>
    );
  if (line.startsWith("-"))
    return (
      <div>
        <del>{text}</del>
      </div>
    );
  return <div class={line.startsWith("@") ? "gap" : ""}>{text}</div>;
}

function compare(before: string, after: string) {
  if (before.length + after.length > MAX_CHARS) return undefined;
  const bounds = { context: 3, maxEditLength: MAX_EDITS, timeout: MAX_MS };
  const patch = structuredPatch("", "", before, after, "", "", bounds);
  return patch?.hunks;
}
