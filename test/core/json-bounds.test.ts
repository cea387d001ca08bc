import { describe, expect, test } from "vitest";
import { boundsProblem } from "../../src/core/json-bounds.js";

const BOUNDS = { maxDepth: 4, maxValues: 10 };

/** `levels` lists, each in the one before. */
function nested(levels: number): unknown {
  let value: unknown = 1;
  for (let level = 0; level < levels; level += 1) value = [value];
  return value;
}

describe("a value from outside", () => {
  test.each([
    ["null", null],
    ["a text", "x".repeat(10_000)],
    ["nothing", undefined],
    ["as deep as is allowed", nested(5)],
    ["as large as is allowed", Array.from({ length: 9 }, () => 0)],
    ["with names that every object has", { constructor: 1, toString: {} }],
  ])("fits: %s", (_name, value) => expect(boundsProblem(value, BOUNDS)).toBeUndefined());

  test.each<[string, unknown, readonly PropertyKey[], string]>([
    ["bytes", { a: new Uint8Array(3) }, ["a"], "bytes are no JSON"],
    ["nested too deeply", { a: nested(5) }, ["a", "0", "0", "0", "0"], "is nested more than 4 levels deep"],
    [
      "deeper than any stack",
      nested(200_000),
      ["0", "0", "0", "0", "0"],
      "is nested more than 4 levels deep",
    ],
    ["too many values", { a: Array.from({ length: 9 }, () => 0) }, ["a"], "holds more than 10 values"],
    [
      "__proto__ as a key",
      { a: [JSON.parse('{"__proto__": {"admin": true}}')] },
      ["a", "0"],
      "a key named __proto__ is not allowed: remove it",
    ],
  ])("does not fit: %s", (_name, value, path, message) => {
    expect(boundsProblem(value, BOUNDS)).toEqual({ path, message });
  });
});
