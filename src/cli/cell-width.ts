/** What takes two columns beside the emoji: the scripts of East Asia, by UAX #11. */
const WIDE =
  /[\u{1100}-\u{115f}\u{2329}\u{232a}\u{2e80}-\u{303e}\u{3041}-\u{a4cf}\u{a960}-\u{a97f}\u{ac00}-\u{d7a3}\u{f900}-\u{faff}\u{fe10}-\u{fe19}\u{fe30}-\u{fe6f}\u{ff01}-\u{ff60}\u{ffe0}-\u{ffe6}\u{16fe0}-\u{18dff}\u{1aff0}-\u{1b2ff}\u{1f200}-\u{1f265}\u{20000}-\u{3fffd}\p{Emoji_Presentation}]/u;
/** What stands over or in the character before it: accents, and the vowels of Korean that a Mac writes apart. */
const JOINED = /[\p{M}\u{200d}\u{1160}-\u{11ff}]/u;

/** The columns that a terminal takes for a character. */
export function cellWidth(char: string): number {
  if (char < "\u0300") return 1; // where most texts stay
  if (JOINED.test(char)) return 0;
  return WIDE.test(char) ? 2 : 1;
}

/** Those of a printable text. */
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
