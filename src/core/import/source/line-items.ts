/** A menu in one line, "[R] Again: return to `x.md`, [C] On: load `y.md`": what an item says holds of that item alone. */

interface TextLine {
  readonly text: string;
  readonly isCode: boolean;
}

const DOES = String.raw`(?:[:：](?![/\\])|→|->|=>)`;
const IF = "(?:IF|If|if)";
/** `[C] On:`, `(C) →`, `2) Again:`, `IF C:` and, where a clause begins, `C:`. */
const ITEM = new RegExp(
  [
    String.raw`(?<=^|[\s,;.|/])(?:${IF}\s)?[*\x60]{0,3}(?:\[([A-Z\d]\d?)\]|\(([A-Z\d]\d?)\)|([1-9])\))[^[\](){}→:：,;]{0,60}?${DOES}`,
    String.raw`(?<=\s)${IF}\s[*\x60]{0,3}([A-Z]\d?)[*\x60]{0,3}\s?${DOES}`,
    String.raw`(?<=^\s{0,12}(?:-\s{1,3})?|[,;.|/]\s)(?:${IF}\s)?[*\x60]{0,3}([A-Z]\d?)[*\x60]{0,3}\s?${DOES}`,
  ].join("|"),
  "g",
);
const INDENT = /^\s{0,12}(?:-\s{1,3})?/;
/** "Menu:", "**Choose one:**": of "Example: [R] …" and "Never: [R] …" the word before the items holds of all of them. */
const LEAD =
  /^[\s*-]{0,12}(?:(?:menu|options?|choices?|choose|select|pick|ask|offer|present|show|display)\b[^.!?;]{0,60}[:*\s])?$/i;

/** The lines, and in the place of each that holds several items of a menu these items, as deep as the line; rows of tables are read whole. */
export function itemsApart<Line extends TextLine>(lines: readonly Line[]): readonly Line[] {
  return lines.flatMap((line) => {
    const starts = line.isCode || line.text.trimStart().startsWith("|") ? [] : startsIn(line.text);
    const [first] = starts;
    if (first === undefined) return [line];
    const indent = INDENT.exec(line.text)?.[0] ?? "";
    const lead = first > indent.length ? [line.text.slice(0, first)] : [];
    const items = starts.map((start, index) => indent + line.text.slice(start, starts[index + 1]));
    return [...lead, ...items].map((text) => ({ ...line, text }));
  });
}

/** Where the items of a line begin, by their letters; none where it is not several. */
function startsIn(text: string): readonly number[] {
  const starts = new Map<string, number>();
  for (const match of text.matchAll(ITEM)) {
    const letter = match.slice(1).find(Boolean) ?? "";
    if (!starts.has(letter)) starts.set(letter, match.index);
  }
  const [first = 0] = starts.values();
  return starts.size < 2 || !LEAD.test(text.slice(0, first)) ? [] : [...starts.values()];
}
