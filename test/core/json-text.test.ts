import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseJsonText } from "../../src/core/json-text.js";

const refusal = (text: string) => {
  const parsed = parseJsonText(text);
  if (parsed.ok) throw new Error("was accepted");
  return { path: parsed.path, message: parsed.message };
};

function parsedByTheEngine(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return "refused";
  }
}

describe("parseJsonText", () => {
  test("gives what JSON.parse gives", () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 6 }), (text) => {
        fc.pre(!text.includes("__proto__"));
        expect(parseJsonText(text)).toEqual({ ok: true, value: JSON.parse(text) });
      }),
    );
  });

  test("accepts exactly the texts that JSON.parse accepts", () => {
    const fragment = fc.constantFrom(
      ..."{}[],:".split(""),
      '"a"',
      '"b"',
      '"\\u0063"',
      '"\\x"',
      '"',
      "1",
      "-0.5e+3",
      "01",
      "1.",
      "-",
      "true",
      "nul",
      " ",
      "\n",
      "\t",
      "\u00a0",
    );
    fc.assert(
      fc.property(fc.array(fragment, { maxLength: 12 }), (fragments) => {
        const text = fragments.join("");
        const parsed = parseJsonText(text);
        fc.pre(parsed.ok || !parsed.message.includes("twice"));
        expect(parsed.ok ? parsed.value : "refused").toEqual(parsedByTheEngine(text));
      }),
      { numRuns: 3000 },
    );
  });

  test("tolerates a byte-order mark", () => {
    expect(parseJsonText("\ufeff[1]")).toEqual({ ok: true, value: [1] });
  });

  test("accepts 100 levels and refuses 101, however many follow", () => {
    const nested = (levels: number) => "[".repeat(levels) + "]".repeat(levels);
    expect(parseJsonText(nested(100)).ok).toBe(true);
    expect(refusal(nested(101)).message).toBe("is nested deeper than 100 levels");
    expect(refusal("[".repeat(1_000_000)).message).toBe("is nested deeper than 100 levels");
    expect(refusal('{"a":'.repeat(1_000_000)).message).toBe("is nested deeper than 100 levels");
  });

  test("accepts 100,000 values and refuses one more", () => {
    const list = (items: number) => `[${Array.from({ length: items }, () => "0").join(",")}]`;
    expect(parseJsonText(list(99_999)).ok).toBe(true);
    expect(refusal(list(100_000))).toEqual({ path: [], message: "holds more than 100000 values" });
  });

  test("refuses a key that stands twice, however it is spelled", () => {
    expect(refusal('{"a":{"b":1,"\\u0062":2}}')).toEqual({
      path: ["a", "b"],
      message: "the key stands here twice: remove one of the two",
    });
  });

  test.each(['{"__proto__":{"a":1}}', '[{"\\u005f_proto__":1}]'])("refuses a __proto__ key: %s", (text) => {
    expect(refusal(text).message).toContain("__proto__");
  });

  test("takes keys that plain objects inherit as ordinary keys", () => {
    const parsed = parseJsonText('{"constructor":1,"toString":2,"hasOwnProperty":3}');
    expect(parsed).toEqual({ ok: true, value: { constructor: 1, toString: 2, hasOwnProperty: 3 } });
  });

  test.each([
    ['{\n  "a": 1,\n}', "line 3, column 1: a key in double quotes is expected"],
    ["[1 2]", "line 1, column 4: a comma or ] is expected"],
    ['{"a" 1}', "line 1, column 6: a colon is expected after a key"],
    ['["a', "line 1, column 2: a text that begins here is not closed"],
    ['["\t"]', "line 1, column 2: a text that begins here holds a control character or a false escape"],
    ["", "line 1, column 1: a value is expected"],
    ["{} {}", "line 1, column 4: nothing may follow the document's one value"],
    ["{'a':1}", "line 1, column 2: a key in double quotes is expected"],
    ["NaN", "line 1, column 1: a value is expected"],
  ])("says where %j breaks off", (text, sentence) => {
    expect(refusal(text).message).toBe(`is not valid JSON: ${sentence}`);
  });

  test("takes one long text and one long number without trouble", () => {
    expect(parseJsonText(JSON.stringify("x".repeat(4_000_000))).ok).toBe(true);
    expect(parseJsonText("1".repeat(1_000_000)).ok).toBe(true);
  });
});
