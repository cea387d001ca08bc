import { expect, test } from "vitest";
import { elapsedWords } from "../../../src/cli/terminal/time-of-day.js";

test.each([
  [0, "0 s"],
  [59_999, "59 s"],
  [185_000, "3 min 05 s"],
  [7_440_000, "2 h 04 min"],
  [(93 * 24 + 4) * 3_600_000, "93 d 4 h"],
  [-5_000, "0 s"],
])("the head of a run that has gone on for %i ms says %s", (ms, words) => {
  expect(elapsedWords(ms)).toBe(words);
});
