import { markdownLine } from "../core/markdown.js";

/** Temporal takes 400 bytes; what is said may have up to three for each character. */
const MAX_CHARS = 120;

/** What the timeline shows of an activity: a line of Markdown in which nothing is live. */
export function summary(text: string): { readonly summary: string } {
  return { summary: markdownLine(text, MAX_CHARS) };
}
