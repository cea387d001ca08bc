import { summaryLine } from "../core/markdown.js";

/** What the timeline shows of an activity. */
export function summary(text: string): { readonly summary: string } {
  return { summary: summaryLine(text) };
}
