import { expect, test } from "vitest";
import { beyondBackoff } from "../../src/core/retry-delay.js";

const retryPolicy = { initialInterval: 1_000, backoffCoefficient: 3, maximumInterval: 3_600_000 };

test("a wait that is asked for each time spends no try before its turn: tries for a day last a day", () => {
  const waits = Array.from({ length: 29 }, (_, tries) => {
    const attempt = tries + 1;
    const own = Math.min(1_000 * 3 ** tries, 3_600_000);
    return beyondBackoff(5_000, { attempt, retryPolicy }) ?? own;
  });
  expect(waits.slice(0, 4)).toEqual([5_000, 5_000, 9_000, 27_000]);
  expect(waits.reduce((sum, wait) => sum + wait)).toBeGreaterThan(20 * 3_600_000);
});

test.each([
  [600_000, 1, 600_000],
  [7_000, 9, undefined],
  [3_600_001, 9, 3_600_001],
  [1_000, 1, undefined],
  [0, 1, undefined],
  [undefined, 1, undefined],
])(
  "asked to wait %s ms, the try after number %i takes %s in place of its own wait",
  (wanted, attempt, wait) => {
    expect(beyondBackoff(wanted, { attempt, retryPolicy })).toBe(wait);
  },
);

test("where no spacing is known, what is asked for holds, but not nothing", () => {
  expect([20, 0, 0.5].map((wanted) => beyondBackoff(wanted, { attempt: 3 }))).toEqual([
    20,
    undefined,
    undefined,
  ]);
});
