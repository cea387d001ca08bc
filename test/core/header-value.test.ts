import { expect, test } from "vitest";
import { isHeaderName, isHeaderValue, isMetadataValue } from "../../src/core/header-value.js";

test.each([
  ["", true, true],
  ["sk-a b~", true, true],
  ["a\tb", true, false],
  ["ü", true, false],
  ["a\n", false, false],
  ["a\r", false, false],
  ["a\0", false, false],
  ["a’", false, false],
  ["\uFEFFa", false, false],
])("%j in a header: %s, in metadata: %s", (text, inHeader, inMetadata) => {
  expect([isHeaderValue(text), isMetadataValue(text)]).toEqual([inHeader, inMetadata]);
});

test("a header's name is one word", () => {
  expect(["X-Api-Key", "cf_aig.1"].every(isHeaderName)).toBe(true);
  expect(["", "a b", "a:", "ü", "a\n"].some(isHeaderName)).toBe(false);
});
