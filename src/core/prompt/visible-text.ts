/** What models think with, where they do so in their text. */
const TAGS = ["think", "thinking", "thought", "reasoning", "reflection"];

const OPENING = TAGS.map((tag) => `<${tag}>`);
const CLOSING = TAGS.map((tag) => `</${tag}>`);

/**
 * An answer's text as a person sees it: without what the model thinks aloud in tags at its beginning. A thought that is
 * not closed goes on to the end; one that is only closed was begun by the server.
 */
export function visibleText(text: string): string {
  let rest = text.trimStart();
  for (;;) {
    const lower = rest.slice(0, 20).toLowerCase();
    const tag = OPENING.findIndex((opening) => lower.startsWith(opening));
    if (tag === -1) break;
    const closing = CLOSING[tag] ?? "";
    const end = indexOfTag(rest, closing);
    if (end === -1) return "";
    rest = rest.slice(end + closing.length).trimStart();
  }
  for (const [index, closing] of CLOSING.entries()) {
    const end = indexOfTag(rest, closing);
    const begun = indexOfTag(rest, OPENING[index] ?? "");
    if (end !== -1 && (begun === -1 || begun > end)) return visibleText(rest.slice(end + closing.length));
  }
  return rest === text.trimStart() ? text : rest;
}

function indexOfTag(text: string, tag: string): number {
  const at = text.indexOf(tag);
  return at === -1 ? text.indexOf(tag.toUpperCase()) : at;
}
