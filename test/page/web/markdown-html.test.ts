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

  test.each([
    [
      "a table of a few long lines and many short ones",
      `${"|a".repeat(500)}\n${"|-".repeat(500)}\n${"|\n".repeat(990)}`,
    ],
    ["one in a list", `1. a\n   ${"|a".repeat(500)}\n   ${"|-".repeat(500)}\n${"   |\n".repeat(900)}`],
    ["many such tables", `${"|a".repeat(100)}\n${"|-".repeat(100)}\n${"|\n".repeat(90)}\n`.repeat(6)],
    [
      "a long address behind many short links",
      `[a]: http://${"b".repeat(20_000)}\n\n${"[a] ".repeat(1_000)}`,
    ],
    ["one behind as many images", `[a]: http://${"b".repeat(2_000)}\n\n${"![a]".repeat(500)}`],
    ["lines that each begin a table and are none", "a|b\n-|\n".repeat(1_000)],
    ["those in a quote", "> a\n> -\n".repeat(1_000)],
  ])("is shown as it stands where it is %s", (_, text) => {
    expect(markdownHtml(text) === asItStands(text)).toBe(true); // what is shown instead may have half a million cells
  });

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
  const rows = `|${"a table | of people |".repeat(8)}\n`;
  const table = `${rows}|${"-|".repeat(16)}\n${rows.repeat(300)}`;
  expect(markdownHtml(`${table}\n${table}`).match(/<td>/g)).toHaveLength(2 * 16 * 300);
  expect(markdownHtml("a: b\n\n---\n\n".repeat(200)).match(/<hr>/g)).toHaveLength(200);
  expect(markdownHtml("> - **a**\n>   1. b")).toMatch(/<blockquote>\s*<ul>\s*<li><strong>a<\/strong>\s*<ol>/);
  expect(codeHtml("const a = 1;\n\nlet b;", "ts")).toContain("hljs-keyword");
  expect(codeHtml(`{"long": "${"a".repeat(1_000)}"}`, "json")).toContain("hljs-attr");
});
