import { eastAsianWidth } from "get-east-asian-width";

/** What stands over or in the character before it: accents, and the vowels of Korean that a Mac writes apart. */
const JOINED = /[\p{M}\u{200d}\u{1160}-\u{11ff}]/u;

/** The columns that a terminal takes for a character. */
function cellWidth(char: string): number {
  if (char < "\u0300") return 1; // where most texts stay
  if (JOINED.test(char)) return 0;
  return eastAsianWidth(char.codePointAt(0) ?? 0);
}

/** Those that some terminal may take for it: a line that is a little short does no harm where one that is too long is shown on two. */
export function mostCellWidth(char: string): number {
  const code = char.codePointAt(0) ?? 0;
  const isFrame = code >= 0x2500 && code < 0x2580;
  return code >= 0x1100 && !isFrame ? 2 : 1;
}

/** The columns of a printable text. */
export function textWidth(text: string): number {
  let width = 0;
  for (const char of text) width += cellWidth(char);
  return width;
}

/** A text in just so many columns: cut, or with spaces behind it. */
export function inColumns(text: string, columns: number): string {
  const width = textWidth(text);
  if (width <= columns) return text + " ".repeat(columns - width);
  let [kept, taken] = ["", 0];
  for (const char of text) {
    taken += cellWidth(char);
    if (taken > columns - 1) break;
    kept += char;
  }
  const cut = columns > 0 ? `${kept}…` : "";
  return cut + " ".repeat(Math.max(0, columns - textWidth(cut)));
}
