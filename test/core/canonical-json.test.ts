import { describe, expect, test } from "vitest";
import { canonicalJson } from "../../src/core/canonical-json.js";

describe("the one text of a JSON value", () => {
  test("keys stand in the order of their UTF-16 code units, at each depth", () => {
    // As RFC 8785 has it in section 3.2.3.
    const value = {
      "\u20ac": "Euro Sign",
      "\r": "Carriage Return",
      "\ufb33": "Hebrew Letter Dalet With Dagesh",
      "1": "One",
      "\ud83d\ude00": "Emoji: Grinning Face",
      "\u0080": "Control",
      "\u00f6": "Latin Small Letter O With Diaeresis",
    };
    const keys = Object.keys(JSON.parse(canonicalJson({ inner: value })).inner as object);
    expect(canonicalJson({ b: { d: 1, c: [{ f: 2, e: 3 }] }, a: 4 })).toBe(
      '{"a":4,"b":{"c":[{"e":3,"f":2}],"d":1}}',
    );
    expect(new Set(keys)).toEqual(new Set(Object.keys(value)));
    expect(canonicalJson(value)).toBe(
      '{"\\r":"Carriage Return","1":"One","\u0080":"Control","ö":"Latin Small Letter O With Diaeresis","€":"Euro Sign","😀":"Emoji: Grinning Face","דּ":"Hebrew Letter Dalet With Dagesh"}'.replace(
        "דּ",
        "\ufb33",
      ),
    );
  });

  test("numbers are written as ECMAScript writes them, and minus zero is zero", () => {
    expect(
      canonicalJson([JSON.parse("333333333.33333329"), 1e30, 4.5, 2e-3, 1e-27, -0, 0.1 + 0.2, 1e21, 100]),
    ).toBe("[333333333.3333333,1e+30,4.5,0.002,1e-27,0,0.30000000000000004,1e+21,100]");
  });

  test("texts keep every character, and half a surrogate pair is an escape", () => {
    expect(canonicalJson("é")).not.toBe(canonicalJson("e\u0301"));
    expect(canonicalJson("\u20ac$\u000f\nA'B\"\\/")).toBe('"€$\\u000f\\nA\'B\\"\\\\/"');
    expect(canonicalJson("\ud83d")).toBe('"\\ud83d"');
  });

  test("what is undefined is left out, and what is no JSON is refused", () => {
    expect(canonicalJson({ a: undefined, b: null })).toBe('{"b":null}');
    expect(canonicalJson(Object.assign(Object.create(null), { a: 1 }))).toBe('{"a":1}');
    for (const value of [
      Number.NaN,
      Number.POSITIVE_INFINITY,
      1n,
      undefined,
      [undefined],
      new Date(),
      new Map(),
    ]) {
      expect(() => canonicalJson(value)).toThrow(TypeError);
    }
  });
});
