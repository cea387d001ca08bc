import * as fc from "fast-check";
import { Marked } from "marked";
import { describe, expect, test } from "vitest";
import { codeBlock, codeCell, codeSpan, inertMarkdown, summaryLine } from "../../src/core/markdown.js";
import { isPrintable } from "../../src/core/printable.js";

const LIVE = [
  "[text](https://evil.example)",
  "![](https://evil.example/x.png)",
  "<img src=x onerror=alert(1)>",
  "<https://evil.example>",
  "https://evil.example",
  "see www.evil.example",
  "a@evil.example",
  "`` ` [x](y)",
  "[x][y]",
  "\u202egpj.exe",
  "two\n# lines",
];

/** Markdown of one line whose text is a code span from its first to its last character. */
function isOneSpan(line: string): boolean {
  const fence = /^`+/.exec(line)?.[0] ?? "";
  const inside = line.slice(fence.length, -fence.length);
  const runs: readonly string[] = inside.match(/`+/g) ?? [];
  return fence !== "" && line.endsWith(fence) && !runs.some(({ length }) => length === fence.length);
}

test("a text as code in a cell of a table has no bar that would end the cell", () => {
  expect(codeCell("a | b", 200)).toBe("`a \\u{7c} b`");
  expect(codeCell("|".repeat(300), 200)).not.toContain("|");
});

describe("a line of Markdown", () => {
  test.each([
    "fs.write @project/artifacts/x_1.md",
    "model turn 3 · step-02",
    "Prüfung – nein, läuft".replace("–", "-"),
  ])("%s stays as it is", (text) => expect(summaryLine(text)).toBe(text));

  test.each(LIVE)("%j is code", (text) => {
    expect(isOneSpan(summaryLine(text))).toBe(true);
    expect(isOneSpan(codeSpan(text))).toBe(true);
  });

  test.each([
    "x".repeat(5_000),
    "漢".repeat(5_000),
    "`[x](y)".repeat(500),
    "\u{1f600}".repeat(500),
    "`".repeat(500),
  ])("a summary is short enough for Temporal (%#)", (text) =>
    expect(Buffer.byteLength(summaryLine(text))).toBeLessThanOrEqual(400),
  );

  test("is code from end to end wherever it is cut", () => {
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom("`", " ", "[", "a", "\n"), minLength: 1, maxLength: 300 }),
        (text) => {
          expect(isOneSpan(codeSpan(text))).toBe(true);
          expect(isPrintable(codeSpan(text))).toBe(true);
        },
      ),
    );
  });
});

describe("a block of code", () => {
  test.each([...LIVE, "```\n[x](y)\n```", "~~~\n````\nx"])("%j does not end early", (text) => {
    const [first = "", ...rest] = codeBlock(text);
    const fence = /^`+/.exec(first)?.[0] ?? "";
    expect(rest.at(-1)).toBe(fence);
    expect(rest.slice(0, -1).some((line) => line.includes(fence))).toBe(false);
    expect(rest.every(isPrintable)).toBe(true);
  });
});

describe("Markdown of others", () => {
  /** What a viewer makes of it as a quotation, as transcripts have it. */
  function actsIn(text: string): readonly string[] {
    const kinds: string[] = [];
    const viewer = new Marked({ walkTokens: ({ type }) => void kinds.push(type) });
    const quoted = text.split("\n").map((line) => `> ${line}`);
    void viewer.parse(quoted.join("\n")); // nothing in it waits
    return kinds.filter((kind) => kind === "image" || kind === "html");
  }

  test.each([
    ["![i](http://evil.example/x.png)", String.raw`\![i](http://evil.example/x.png)`],
    [String.raw`\![i](x)`, String.raw`\![i](x)`],
    [String.raw`\\![i](x)`, String.raw`\\\![i](x)`],
    ["a <img src=x> b</p><!-- c -->", String.raw`a \<img src=x> b\</p>\<!-- c -->`],
    ["1 < 2, a <- b, [x](y)!", "1 < 2, a <- b, [x](y)!"],
    ["```ts\n<b>![](x)\n```\n![](x)", "```ts\n<b>![](x)\n```\n\\![](x)"],
    ["~~~\n<b>\n```\n<i>\n  ~~~~ \n<u>", "~~~\n<b>\n```\n<i>\n  ~~~~ \n\\<u>"],
    ["- a\n  ```\n![](x)", "- a\n  ```\n\\![](x)"],
    ["``` a`b\n![](x)", "``` a`b\n\\![](x)"],
    ["```\n    ```\n```\n![](x)", "```\n    ```\n```\n\\![](x)"],
    ["```\n\t```\n```\n![](x)", "```\n    ```\n```\n\\![](x)"],
    ["```\n```\u00a0\n```\n![](x)", "```\n```\u00a0\n```\n\\![](x)"],
    ["```\n```\f\n```\n![](x)", "```\n```\\u{c}\n```\n\\![](x)"],
    ["  ```\n```\n<img src=x>", "  ```\n```\n\\<img src=x>"],
    ["- ~~~\n~~~\n~~~\n<img src=x>", "- ~~~\n~~~\n~~~\n\\<img src=x>"],
  ])("%j says that nothing is fetched and nothing run", (text, inert) => {
    expect(inertMarkdown(text)).toBe(inert);
    expect(actsIn(inert)).toEqual([]);
  });

  test("of backslashes without end is what it was: each of them is looked at once", () => {
    const text = "\\".repeat(300_000);
    expect(inertMarkdown(`${text}a`) === `${text}a`).toBe(true);
    expect(inertMarkdown(`${text}<b>`) === `${text}\\<b>`).toBe(true);
  });

  test("shows no image and no HTML, however it is put together", () => {
    const piece = fc.constantFrom(
      ..."! [ ] ( ) < > \\ ` x ``` ~~~ ```` ![i](u) <!-- --> <script> </div> <a@b.c> |-|-| --- !\\[ &#33; a`".split(
        " ",
      ),
      "\n",
      "\n\n",
      "\n```\n",
      "\n   ```\n",
      "\n    ~~~\n",
      "\u00a0",
      " ",
      "    ",
      "\t",
      "- ",
      "> ",
      "1. ",
      "# ",
      "<img src=x>",
      "[a]: u 't",
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 30 }), (pieces) => {
        expect(actsIn(inertMarkdown(pieces.join("")))).toEqual([]);
      }),
      { numRuns: 2_000 },
    );
  });
});
