import { expect, test } from "vitest";
import {
  headerNameProblem,
  isHeaderName,
  isHeaderValue,
  isMetadataValue,
} from "../../src/core/header-value.js";

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

test("a header that each request says of itself is nobody's to set, in any case", () => {
  const own = ["Authorization", "X-Accept", "Mcp-Toolset", "Ocp-Apim-Subscription-Key", "hostess"];
  expect(own.filter((name) => headerNameProblem(name) !== undefined)).toEqual([]);
  expect(
    ["Content-Type", "ACCEPT", "accept-encoding", "host", "mcp-session-id", "Mcp-Param-Region"].map(
      headerNameProblem,
    ),
  ).toEqual(Array(6).fill("must be another header: each request says what belongs in this one"));
  expect(headerNameProblem("a b")).toBe("must be the name of a header");
});
