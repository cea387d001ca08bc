import { markdownHtml } from "./markdown-html.js";
import { safeFragment } from "./safe-html.js";
import { visibleText } from "../visible.js";

/** A Markdown text of a model's as elements that may be shown. */
export function markdownFragment(text: string): DocumentFragment {
  return safeFragment(markdownHtml(visibleText(text)));
}
