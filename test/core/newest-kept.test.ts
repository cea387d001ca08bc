import { expect, test } from "vitest";
import { NewestKept } from "../../src/core/newest-kept.js";

test("of more entries than there is room for the oldest goes, and what is set again is no old one", () => {
  const kept = new NewestKept<string, number>(2);
  kept.set("leaf", 1).set("pot", 2).set("leaf", 3).set("cup", 4);
  expect([...kept]).toEqual([
    ["leaf", 3],
    ["cup", 4],
  ]);
});
