import { expect, test } from "vitest";
import { nextPause } from "../../src/core/pace.js";

const PACE = { shortestMs: 1_000, longestMs: 5_000 };

test("looks follow each other quickly after news, and ever slower without, down to a bound", () => {
  const looks = [true, false, false, false, false, false, true];
  let pauseMs = 0;
  const pauses = looks.map((isNews) => (pauseMs = nextPause(PACE, pauseMs, isNews)));
  expect(pauses).toEqual([1_000, 1_500, 2_250, 3_375, 5_000, 5_000, 1_000]);
  expect(nextPause(PACE, 0, false)).toBe(1_500);
});
