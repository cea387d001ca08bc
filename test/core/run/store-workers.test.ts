import { describe, expect, test } from "vitest";
import { workersAfter } from "../../../src/core/run/store-workers.js";

const at = (minute: number) => new Date(Date.UTC(2026, 0, 1, 0, minute)).toISOString();
const worker = (instance: string, minute: number) => ({ instance, seenAt: at(minute) });
const stays = { left: false, max: 3 };

describe("the workers of a store", () => {
  test("are those that were heard of within a quarter of an hour, the newest word first", () => {
    const known = [worker("a", 10), worker("b", 0)];
    expect(workersAfter(known, worker("b", 12), stays)).toEqual([worker("b", 12), worker("a", 10)]);
    expect(workersAfter(known, worker("c", 17), stays)).toEqual([worker("c", 17), worker("a", 10)]);
  });

  test("are a bounded number", () => {
    const known = [worker("a", 3), worker("b", 2), worker("c", 1)];
    expect(workersAfter(known, worker("d", 4), stays).map(({ instance }) => instance)).toEqual([
      "d",
      "a",
      "b",
    ]);
  });

  test("one that leaves is gone, but the last one stays: it says when the store was worked on last", () => {
    const leaves = { left: true, max: 3 };
    expect(workersAfter([worker("a", 1), worker("b", 1)], worker("a", 2), leaves)).toEqual([worker("b", 1)]);
    expect(workersAfter([worker("a", 1)], worker("a", 2), leaves)).toEqual([worker("a", 2)]);
  });
});
