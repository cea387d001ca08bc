import { printable, printableLines } from "../../core/printable.js";

/** A text from models, packages or projects as a person may see it: nothing in it is hidden or turns the rest around. */
export function visibleText(text: string): string {
  return printableLines(text).join("\n");
}

/** The same on one line. */
export function visibleLine(text: string): string {
  return printable(text);
}

/** The start of a text, cut between characters; undefined where nothing has to be cut. */
export function startOf(text: string, length: number): string | undefined {
  if (text.length <= length) return undefined;
  const isHalf = /[\uD800-\uDBFF]/.test(text[length - 1] ?? "");
  return text.slice(0, isHalf ? length - 1 : length);
}
