/** What models think with, where they do so in their text. */
const TAGS = ["think", "thinking", "thought", "reasoning", "reflection"];

export const OPENING_TAGS = TAGS.map((tag) => `<${tag}>`);
export const CLOSING_TAGS = TAGS.map((tag) => `</${tag}>`);

/**
 * An answer's text as a person sees it: without what the model thinks aloud in tags at its beginning. A thought that is
 * not closed goes on to the end; one that is only closed was begun by the server.
 */
export function visibleText(text: string): string {
  let rest = text.trimStart();
  for (;;) {
    const lower = rest.slice(0, 20).toLowerCase();
    const tag = OPENING_TAGS.findIndex((opening) => lower.startsWith(opening));
    if (tag === -1) break;
    const closing = CLOSING_TAGS[tag] ?? "";
    const end = indexOfTag(rest, closing);
    if (end === -1) return "";
    rest = rest.slice(end + closing.length).trimStart();
  }
  for (const [index, closing] of CLOSING_TAGS.entries()) {
    const end = indexOfTag(rest, closing);
    const begun = indexOfTag(rest, OPENING_TAGS[index] ?? "");
    if (end !== -1 && (begun === -1 || begun > end)) return visibleText(rest.slice(end + closing.length));
  }
  return rest === text.trimStart() ? text : rest;
}

/** Where a tag stands in a text, in small letters or in capitals; -1 where it does not. */
export function indexOfTag(text: string, tag: string): number {
  const at = text.indexOf(tag);
  return at === -1 ? text.indexOf(tag.toUpperCase()) : at;
}
