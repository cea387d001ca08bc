import { Marked } from "marked";
import { codeHtml, escaped } from "./code.js";
import { safeFragment } from "./safe-html.js";
import { visibleText } from "../visible.js";

/** Markup in a Markdown text is shown as text, and so is where an image would come from: nothing is loaded. */
const marked = new Marked({
  gfm: true,
  renderer: {
    html: ({ text }) => escaped(text),
    image: ({ href, text }) =>
      `<span class="image">${escaped(`[image: ${text || "without a name"} · ${href}]`)}</span>`,
    code: ({ text, lang }) => {
      const language = /^[\w+#-]+/.exec(lang ?? "")?.[0] ?? "";
      return `<pre><code>${codeHtml(text, language)}</code></pre>`;
    },
  },
});

/** A Markdown text of a model's as elements that may be shown. */
export function markdownFragment(text: string): DocumentFragment {
  return safeFragment(marked.parse(visibleText(text), { async: false }));
}
