import { expect, test } from "vitest";
import { someAtOnce } from "../../src/core/some-at-once.js";

test("so many are under way at once, and what comes of them is in their order", async () => {
  let underWay = 0;
  let most = 0;
  const squares = await someAtOnce([5, 4, 3, 2, 1], 2, async (number) => {
    underWay += 1;
    most = Math.max(most, underWay);
    for (let turn = 0; turn < number; turn += 1) await Promise.resolve();
    underWay -= 1;
    return number * number;
  });
  expect(squares).toEqual([25, 16, 9, 4, 1]);
  expect(most).toBe(2);
  await expect(someAtOnce([], 2, () => Promise.resolve(1))).resolves.toEqual([]);
});

test("what one throws is thrown when none is under way any more, and none is begun after it", async () => {
  const begun: number[] = [];
  const ended: number[] = [];
  const all = someAtOnce([1, 2, 3, 4], 2, async (number) => {
    begun.push(number);
    if (number === 1) throw new Error("the first");
    for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
    ended.push(number);
  });
  await expect(all).rejects.toThrow("the first");
  expect({ begun, ended }).toEqual({ begun: [1, 2], ended: [2] });
});
