import { summaryLine } from "../core/markdown.js";

/** What the timeline shows of an activity. */
export interface Summary {
  readonly summary: string;
}

export function summary(text: string): Summary {
  return { summary: summaryLine(text) };
}
