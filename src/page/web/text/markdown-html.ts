import { Marked } from "marked";
import { codeHtml, escaped } from "./code.js";

/** A paragraph that is longer is plain: finding the ends of what is emphasised takes the square of its length. */
const MAX_PARAGRAPH = 8_000;
/** The same of one with so many marks before its end. */
const MANY_MARKS = /^(?:[^*_]*[*_]){300}/;
/** A line that begins with so many quotes and lists in each other is no text for people: each is a level of the parser's stack. */
const NESTED_TOO_DEEPLY = /^(?:[ \t]*(?:>|[-*+]|\d{1,9}[.)])){50}/m;
/** For each line that could be the second of a table, the parser looks at all that follows without a gap. */
const MAX_TABLE_STARTS = 100;
/** It fills each row up to the width of the first: a few long lines over many short ones are more cells than a page can hold. */
const MAX_FILLED_CELLS = 10_000;
const GAP = /\n[ \t>]*\n/;

/** What people write grows less, coloured code as well. A long address that is named in three characters each time fills the memory. */
const MAX_GROWTH = 50;

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
  if (!NESTED_TOO_DEEPLY.test(text) && !hasTablesOfNobody(text)) {
    try {
      const html = marked.parse(text, { async: false });
      if (html.length <= MAX_GROWTH * text.length) return html;
    } catch {
      // lists in lists by their indentation, more than the stack holds
    }
  }
  return `<pre><code>${escaped(text)}</code></pre>`;
}

/** Whether a text holds more tables, or more cells, than people write into as much text. */
function hasTablesOfNobody(text: string): boolean {
  const cells = text.split(GAP).reduce((sum, part) => sum + cellsIn(part), 0);
  return cells > Math.max(MAX_FILLED_CELLS, text.length);
}

/** How many cells tables may have in lines without a gap, at most. */
function cellsIn(part: string): number {
  const lines = part.split("\n");
  const widths = lines.flatMap((line, at) =>
    isTableRule(line) ? [lines[at - 1]?.split("|").length ?? 0] : [],
  );
  if (widths.length > MAX_TABLE_STARTS) return Number.POSITIVE_INFINITY;
  return lines.length * widths.reduce((widest, width) => Math.max(widest, width), 0);
}

function isTableRule(line: string): boolean {
  return line.includes("-") && /^[ \t>|:-]+$/.test(line);
}
