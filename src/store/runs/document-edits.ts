/** What of a text is another than in the one before, so that many versions of a document cost what changes from one to the next. */

/** At `at` of the text before, so many of its characters (UTF-16 units) are replaced by `text`. */
export interface Edit {
  readonly at: number;
  readonly drop: number;
  readonly text: string;
}

/**
 * The edits that make `next` of `before`, in order. Documents have a line for each key: lines are compared one by one, unless some
 * were added or taken away.
 */
export function editsBetween(before: string, next: string): readonly Edit[] {
  const [old, now] = [before.split("\n"), next.split("\n")];
  if (old.length !== now.length) return editWithin(before, next, 0);
  const edits: Edit[] = [];
  let at = 0;
  for (const [index, line] of old.entries()) {
    edits.push(...editWithin(line, now[index] ?? "", at));
    at += line.length + 1;
  }
  return edits;
}

/** The text after its edits. */
export function withEdits(before: string, edits: readonly Edit[]): string {
  const parts: string[] = [];
  let from = 0;
  for (const { at, drop, text } of edits) {
    parts.push(before.slice(from, at), text);
    from = at + drop;
  }
  return [...parts, before.slice(from)].join("");
}

/** What two texts have in common at their beginnings and ends stays; none where they are the same. */
function editWithin(before: string, next: string, at: number): readonly Edit[] {
  if (before === next) return [];
  const shorter = Math.min(before.length, next.length);
  let same = 0;
  while (same < shorter && before[same] === next[same]) same += 1;
  let sameAtEnd = 0;
  while (sameAtEnd < shorter - same && before.at(-1 - sameAtEnd) === next.at(-1 - sameAtEnd)) sameAtEnd += 1;
  const text = next.slice(same, next.length - sameAtEnd);
  return [{ at: at + same, drop: before.length - same - sameAtEnd, text }];
}
