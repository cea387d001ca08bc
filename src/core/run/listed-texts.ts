import { printable } from "../printable.js";
import { cutText } from "../text.js";

const MAX_CHARS = 150;

/** A question as a listing shows it. */
export function listedQuestion(text: string): string {
  return listedText(firstLine(text));
}

/** The first line of a text that says anything. */
export function firstLine(text: string): string {
  return (
    text
      .split(/[\r\n]+/)
      .map((line) => line.trim())
      .find((line) => line !== "") ?? ""
  );
}

/** The name of a directory, on whatever system it lies. */
export function directoryName(root: string): string {
  return root.split(/[/\\]/).findLast((part) => part !== "") ?? root;
}

/** A text as a listing shows it: short, on one line. */
export function listedText(text: string): string {
  return cutText(printable(text.slice(0, 2 * MAX_CHARS).toWellFormed()), MAX_CHARS);
}
