import { describe, expect, test } from "vitest";

/** By its address: the highlighter's types are those of a browser, which this program of types is none of. */
const TEXT = new URL("../../../src/page/web/text/", import.meta.url);
interface TextModules {
  readonly codeHtml: (text: string, language: string) => string;
  readonly escaped: (text: string) => string;
  readonly markdownHtml: (text: string) => string;
}
const { codeHtml, escaped, markdownHtml } = {
  ...(await import(new URL("code.ts", TEXT).href)),
  ...(await import(new URL("markdown-html.ts", TEXT).href)),
} as TextModules; // as those two files say

describe("a text that is made to hold the page up", () => {
  const asItStands = (text: string) => `<pre><code>${escaped(text)}</code></pre>`;

  test.each([">", "> ", "1. ", "* ", "- > "])(
    "is shown as it stands where %j is nested without end",
    (mark) => {
      const text = `First.\n\n${mark.repeat(2_000)}`;
      expect(markdownHtml(text)).toBe(asItStands(text));
    },
  );

  test("is plain in a paragraph that nobody writes, and has its emphasis in the others", () => {
    const html = markdownHtml(`*one*\n\n${"_a".repeat(50_000)}\n\n**two**`);
    expect(html).toContain("<em>one</em>");
    expect(html).toContain("<strong>two</strong>");
    expect(html.match(/<em>/g)).toHaveLength(1);
  });

  test("is plain in a paragraph of marks, but for its end", () => {
    expect(markdownHtml("*a* ".repeat(1_900)).match(/<em>/g)?.length).toBeLessThan(200);
  });

  test.each([
    ["markdown", "[a](".repeat(1_000)],
    ["java", "a".repeat(50_000)],
    ["javascript", `-${"\n".repeat(50_000)}-`],
  ])("is not coloured as %s", (language, text) => {
    expect(codeHtml(text, language)).toBe(escaped(text));
    expect(markdownHtml(`\`\`\`${language}\n${text}\n\`\`\``)).toBe(asItStands(text));
  });
});

test("what people write is read as it is meant", () => {
  expect(markdownHtml("> - **a**\n>   1. b")).toMatch(/<blockquote>\s*<ul>\s*<li><strong>a<\/strong>\s*<ol>/);
  expect(codeHtml("const a = 1;\n\nlet b;", "ts")).toContain("hljs-keyword");
  expect(codeHtml(`{"long": "${"a".repeat(1_000)}"}`, "json")).toContain("hljs-attr");
});
