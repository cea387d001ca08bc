import { Marked } from "marked";
import { codeHtml, escaped } from "./code.js";

/** A paragraph that is longer is plain: finding the ends of what is emphasised takes the square of its length. */
const MAX_PARAGRAPH = 8_000;
/** The same of one with so many marks before its end. */
const MANY_MARKS = /^(?:[^*_]*[*_]){300}/;
/** A line that begins with so many quotes and lists in each other is no text for people: each is a level of the parser's stack. */
const NESTED_TOO_DEEPLY = /^(?:[ \t]*(?:>|[-*+]|\d{1,9}[.)])){50}/m;

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
  tokenizer: {
    // `false` leaves it to the parser.
    emStrong: (rest) => (rest.length > MAX_PARAGRAPH || MANY_MARKS.test(rest) ? undefined : false),
    inlineText: (rest) =>
      rest.length > MAX_PARAGRAPH && { type: "text", raw: rest, text: rest, escaped: false },
  },
});

/** A Markdown text as HTML that is still to be sanitised; as it stands there where no parser can be asked for it. */
export function markdownHtml(text: string): string {
  if (!NESTED_TOO_DEEPLY.test(text)) {
    try {
      return marked.parse(text, { async: false });
    } catch {
      // lists in lists by their indentation, more than the stack holds
    }
  }
  return `<pre><code>${escaped(text)}</code></pre>`;
}
