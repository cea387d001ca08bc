import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { codeBlock, codeCell, codeSpan, markdownLine, summaryLine } from "../../src/core/markdown.js";
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
  expect(codeCell("a | b")).toBe("`a \\u{7c} b`");
  expect(codeCell("|".repeat(300))).not.toContain("|");
});

describe("a line of Markdown", () => {
  test.each([
    "fs.write @project/artifacts/x_1.md",
    "model turn 3 · step-02",
    "Prüfung – nein, läuft".replace("–", "-"),
  ])("%s stays as it is", (text) => expect(markdownLine(text)).toBe(text));

  test.each(LIVE)("%j is code", (text) => {
    expect(isOneSpan(markdownLine(text))).toBe(true);
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
