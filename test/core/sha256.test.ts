import { expect, test } from "vitest";
import { isSha256, sha256Schema } from "../../src/core/sha256.js";

const HASH = "0123456789abcdef".repeat(4);

test.each([
  ["64 digits", HASH, true],
  ["63 digits", HASH.slice(1), false],
  ["65 digits", `${HASH}0`, false],
  ["capital digits", HASH.toUpperCase(), false],
  ["a line end after them", `${HASH}\n`, false],
  ["a path", "/etc/passwd", false],
])("%s", (_, text, expected) => {
  expect(isSha256(text)).toBe(expected);
  expect(sha256Schema.safeParse(text).success).toBe(expected);
});
