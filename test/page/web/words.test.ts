import { expect, test } from "vitest";
import { ago, amount, bytes, cost, duration } from "../../../src/page/web/words.js";

test.each([
  [0, "0 ms"],
  [999.6, "1000 ms"],
  [4_100, "4.1 s"],
  [59_900, "60 s"],
  [185_000, "3 min 5 s"],
  [7_200_000, "2 h"],
  [90_000_000, "1 d 1 h"],
])("%d ms are %s", (ms, words) => {
  expect(duration(ms)).toBe(words);
});

test("how long ago something was is said in its largest unit", () => {
  const now = Date.parse("2026-11-22T12:00:00Z");
  expect(ago("2026-11-22T11:59:55Z", now)).toBe("just now");
  expect(ago("2026-11-22T11:59:20Z", now)).toBe("40 s ago");
  expect(ago("2026-11-22T09:30:00Z", now)).toBe("2 h ago");
  expect(ago("no time", now)).toBe("");
});

test("numbers are short", () => {
  expect([950, 12_340, 99_960, 999_950, 4_500_000].map(amount)).toEqual([
    "950",
    "12.3k",
    "100k",
    "1.0M",
    "4.5M",
  ]);
  expect([640, 1_200, 12_000, 3_400_000].map(bytes)).toEqual(["640 B", "1.2 KB", "12 KB", "3.4 MB"]);
  expect([0, 0.00123, 1.23456, 12.3].map(cost)).toEqual(["0", "0.0012", "1.235", "12.30"]);
});
