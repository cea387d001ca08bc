import { utf8Length } from "../core/text.js";

/** A text as far as it is handed out. */
export interface Bounded {
  readonly text: string;
  /** Of the whole, in UTF-8. */
  readonly bytes: number;
  /** There is more than `text`. */
  readonly isCut: boolean;
}

/** The start of a text, and how long it is. */
export function bounded(text: string, maxChars: number): Bounded {
  const isCut = text.length > maxChars;
  return { text: (isCut ? text.slice(0, maxChars) : text).toWellFormed(), bytes: utf8Length(text), isCut };
}
