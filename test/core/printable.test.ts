import { describe, expect, test } from "vitest";
import { isPrintable, printable, printableJsonText, printableLines } from "../../src/core/printable.js";

/** One of each kind that a terminal obeys or does not show. */
export const HIDDEN_CODES: readonly number[] = [
  0x00, 0x07, 0x08, 0x09, 0x0a, 0x0d, 0x1b, 0x7f, 0x80, 0x85, 0x9b, 0x9f, 0xad, 0x34f, 0x61c, 0x115f, 0x180e,
  0x200b, 0x200c, 0x200d, 0x200e, 0x200f, 0x2028, 0x2029, 0x202a, 0x202b, 0x202c, 0x202d, 0x202e, 0x2060,
  0x2064, 0x2066, 0x2067, 0x2068, 0x2069, 0x3164, 0xd800, 0xdfff, 0xfe00, 0xfe0f, 0xfeff, 0xffa0, 0xfff9,
  0xfffe, 0xffff, 0xe0001, 0xe0041, 0xe007f, 0xe0100, 0xe01ef, 0x1d173,
];

describe("what is not printable", () => {
  test.each(HIDDEN_CODES)("U+%s is shown as an escape", (code) => {
    const text = `a${String.fromCodePoint(code)}b`;
    expect(printable(text)).toBe(`a\\u{${code.toString(16)}}b`);
    expect(isPrintable(text)).toBe(false);
  });

  test.each(["", "plain", "Ärger, 日本語, עברית, ا", "tea ☕️", "👩‍👩‍👧 family", "👍🏽", "1️⃣", "🏳️‍🌈"])(
    "%j stays",
    (text) => {
      expect(printable(text)).toBe(text);
      expect(isPrintable(text)).toBe(true);
    },
  );

  test("an emoji hides no flood of selectors and no joiner to nothing", () => {
    expect(printable("☕️️️")).toBe("☕️\\u{fe0f}\\u{fe0f}");
    expect(printable("👩‍x")).toBe("👩\\u{200d}x");
    expect(printable("🏴\u{E0067}\u{E007F}")).toBe("🏴\\u{e0067}\\u{e007f}");
  });

  test("a text of several lines keeps its lines, and nothing else", () => {
    expect(printableLines("one\r\ntwo\n\tthree\rfour\u2028five")).toEqual([
      "one",
      "two",
      "    three\\u{d}four\\u{2028}five",
    ]);
  });

  test("JSON says the same, and is harmless on a terminal", () => {
    for (const code of HIDDEN_CODES) {
      const value = { [`k${String.fromCodePoint(code)}`]: ["☕️", String.fromCodePoint(code)] };
      const text = printableJsonText(JSON.stringify(value));
      expect(JSON.parse(text)).toEqual(value);
      expect(isPrintable(text)).toBe(true);
    }
  });
});
