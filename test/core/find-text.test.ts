import { describe, expect, test } from "vitest";
import { indexIn, placesOf, splitAt } from "../../src/core/find-text.js";

/** Long enough that the engine's own search is not used. */
const MANY = 8_000;

describe("a text in a text", () => {
  test.each([
    ["at the beginning, once", "b".repeat(MANY), `${"b".repeat(MANY)}a`],
    ["twice, side by side", "ab".repeat(MANY), "ab".repeat(2 * MANY)],
    ["so that places overlap", "a".repeat(MANY), `${"a".repeat(2 * MANY + 5)}b`],
    ["between others", `${"a".repeat(MANY)}c`, `x${"a".repeat(MANY + 3)}cy${"a".repeat(MANY)}cz`],
    ["nowhere", `${"a".repeat(MANY)}b${"a".repeat(MANY)}`, "a".repeat(4 * MANY)],
    ["short, where both are", "a", "banana"],
  ])("%s is found and cut as the engine finds and cuts it", (_, value, text) => {
    expect(indexIn(text, value)).toBe(text.indexOf(value));
    expect(splitAt(text, value)).toEqual(text.split(value));
  });

  test("has all its places, those that overlap as well", () => {
    expect([...placesOf("aba", "ababa aba")]).toEqual([0, 2, 6]);
  });

  test("of half a million characters that are almost everywhere takes a moment", () => {
    const half = "a".repeat(500_000);
    expect(indexIn(half.repeat(4), `${half}b${half}`)).toBe(-1);
    expect(splitAt(half.repeat(4), `${half}b${half}`)).toHaveLength(1);
  });
});
