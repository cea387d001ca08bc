import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  counted,
  cutBytes,
  cutText,
  ended,
  excerpt,
  listSome,
  oneLine,
  shellName,
  shellValue,
  shellWord,
  withoutPath,
} from "../../src/core/text.js";

test("what is counted has an s where it is not one", () => {
  expect([0, 1, 2].map((count) => counted(count, "call"))).toEqual(["0 calls", "1 call", "2 calls"]);
});

describe("oneLine", () => {
  test.each([
    ["a\nb", "a b"],
    ["a\r\n\r\nb", "a b"],
    ["a\u2028b\u2029c\u0085d\u000be", "a b c d e"],
    ["\u001b[2Ja", "[2Ja"],
    [" a  b\t", "a  b"],
    ["\n", ""],
  ])("%j becomes %j", (text, line) => {
    expect(oneLine(text)).toBe(line);
  });
});

describe("cutText", () => {
  test.each([
    ["abc", 3, "abc"],
    ["abcd", 3, "abc…"],
    ["ab\u{1f600}", 3, "ab\ufffd…"],
    ["\ud800", 3, "\ufffd"],
  ])("%j at %i is %j", (text, chars, expected) => {
    expect(cutText(text, chars)).toBe(expected);
  });
});

describe("excerpt", () => {
  test("is one bounded line of whole characters, whatever it is of", () => {
    fc.assert(
      fc.property(
        fc.string({ unit: "binary", maxLength: 300 }),
        fc.integer({ min: 1, max: 50 }),
        (text, chars) => {
          const line = excerpt(text, chars);
          expect(line.length).toBeLessThanOrEqual(chars + 1);
          expect(line).not.toMatch(/[\p{Cc}\u2028\u2029]/u);
          expect(line.isWellFormed()).toBe(true);
        },
      ),
      { numRuns: 300, seed: 3 },
    );
  });
});

describe("listSome", () => {
  test("names the first and counts the rest", () => {
    expect(listSome([])).toBe("");
    expect(listSome(["a", "b\nc"])).toBe("a, b c");
    expect(listSome(["a", "b", "c"], 1)).toBe("a, and 2 more");
  });
});

test("what is put at the end of a sentence ends with one full stop", () => {
  expect(["it is no text", "It is gone.", "cut…"].map(ended)).toEqual([
    "it is no text.",
    "It is gone.",
    "cut…",
  ]);
});

describe("cutBytes", () => {
  test.each([
    ["plain", 5, "plain"],
    ["plain", 4, "plai"],
    ["日本語", 8, "日本"],
    ["日本語", 9, "日本語"],
    ["a\u{1f600}b", 4, "a"],
    ["a\u{1f600}b", 5, "a\u{1f600}"],
    ["a\ud83d", 9, "a\ufffd"],
    ["x", 0, ""],
  ])("%j has at most %i bytes as %j", (text, bytes, cut) => {
    expect(cutBytes(text, bytes)).toBe(cut);
    expect(Buffer.byteLength(cutBytes(text, bytes))).toBeLessThanOrEqual(Math.max(bytes, 0));
  });
});

describe("a word of a shell's command", () => {
  test.each([
    ["/srv/shop", "/srv/shop"],
    ["a b", "'a b'"],
    ["it's; rm -rf /", String.raw`'it'\''s; rm -rf /'`],
    ["$(id)", "'$(id)'"],
    ["", "''"],
    ["a\nb", "…"],
    ["x".repeat(401), "…"],
    ["-odd", "./-odd"],
    ["--base-url=http:/a b", "'./--base-url=http:/a b'"],
  ])("%j is %s", (text, word) => expect(shellWord(text)).toBe(word));

  test.each([
    ["order 17; rm -rf $(id)", "'order 17; rm -rf $(id)'"],
    ["-odd", "-- -odd"],
    ["-o d", "-- '-o d'"],
  ])("the name %j, which is no path, is %s", (text, word) => expect(shellName(text)).toBe(word));

  test("what an option is given may begin with anything", () => {
    expect([shellValue("-odd"), shellValue("a b"), shellValue("a\nb")]).toEqual(["-odd", "'a b'", "…"]);
  });
});

test.each([
  ["EACCES: permission denied, open '/out/.interlock-1f'", "EACCES: permission denied"],
  ["EPERM: not permitted, link '/out/.interlock-1f' -> '/out/a.json'", "EPERM: not permitted"],
  ["EACCES: permission denied, open '/store/run.json'", "EACCES: permission denied, open '/store/run.json'"],
  ["ENOSPC: no space left on device, write", "ENOSPC: no space left on device, write"],
])("of %j, a sentence that has named a file of /out tells %j", (message, told) => {
  expect(withoutPath(message, "/out")).toBe(told);
});
