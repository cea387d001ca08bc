import { describe, expect, test } from "vitest";
import type { JsonObject, JsonValue } from "../../../src/core/json.js";
import { holds, weigh } from "../../../src/core/package/json-logic.js";

const long = "a".repeat(120_000);
const data: JsonObject = {
  variables: {
    long,
    almost: `${long.slice(1)}b`,
    numbers: Array.from({ length: 5_000 }, (_, n) => n),
    names: Array.from({ length: 5_000 }, (_, n) => `variables.${n}`),
    texts: Array.from({ length: 60 }, () => "a".repeat(2_000)),
    deep: nested(90),
  },
};

function nested(depth: number): JsonValue {
  let value: JsonValue = 1;
  for (let level = 0; level < depth; level += 1) value = [value];
  return value;
}

const ones = (length: number) => Array.from({ length }, () => 1);
const accumulator = { var: "accumulator" };

/** What strangers' packages may try, each in a few bytes. */
const GREEDY: readonly (readonly [string, JsonValue])[] = [
  ["lists that double", { reduce: [ones(40), { merge: [accumulator, accumulator] }, [1]] }],
  ["a list of lists written out", { cat: [{ reduce: [ones(40), [accumulator, accumulator], "x"] }] }],
  ["a list of nests written out", { cat: [{ reduce: [ones(60), [accumulator, [accumulator]], "x"] }] }],
  ["a nest that grows by one", { cat: [{ reduce: [{ var: "variables.numbers" }, [accumulator], "x"] }] }],
  ["texts that double", { reduce: [ones(60), { cat: [accumulator, accumulator] }, "x"] }],
  ["a list made of lists by map", { map: [{ var: "variables.numbers" }, { merge: [ones(50), ones(50)] }] }],
  ["a path as long as a document", { map: [ones(4_000), { var: [long] }] }],
  ["a path of dots", { map: [ones(4_000), { var: [".".repeat(100_000)] }] }],
  ["names looked for again and again", { map: [ones(500), { missing: data["variables"] as JsonValue }] }],
  [
    "a text looked through for one nearly as long",
    {
      or: Array.from({ length: 500 }, () => ({
        in: [{ var: "variables.almost" }, { var: "variables.long" }],
      })),
    },
  ],
  [
    "a text looked through for half of it",
    { in: [{ substr: [{ var: "variables.almost" }, -9_000] }, { var: "variables.long" }] },
  ],
  [
    "texts compared to their ends",
    {
      or: Array.from({ length: 4_000 }, () => ({
        "===": [{ var: "variables.almost" }, { var: "variables.long" }],
      })),
    },
  ],
  [
    "texts put in order",
    {
      or: Array.from({ length: 4_000 }, () => ({
        ">": [{ var: "variables.long" }, { var: "variables.almost" }],
      })),
    },
  ],
  [
    "texts read as numbers",
    { or: Array.from({ length: 4_000 }, () => ({ "+": [{ var: "variables.long" }] })) },
  ],
  ["whole documents written out", { map: [ones(2_000), { cat: [{ var: ["", 1] }, long] }] }],
  ["parts of texts", { map: [ones(4_000), { substr: [long, 1] }] }],
  [
    "lists in lists, visited",
    { map: [ones(100), { map: [ones(100), { map: [ones(100), { map: [ones(100), 1] }] }] }] },
  ],
  ["operands without end", { max: [...ones(20_000)] }],
];

describe.each(GREEDY)("a condition with %s", (_, expression) => {
  test("does not hold, and stops at its bounds", () => {
    const verdict = weigh({ "!!": [expression] }, data);
    expect(verdict.holds).toBe(false);
    expect(verdict.steps).toBeLessThanOrEqual(10_001);
    expect(verdict.size).toBeLessThanOrEqual(200_000);
  });

  test("has less to spend beside many others out of the same node", () => {
    expect(weigh(expression, data, 1_000).steps).toBeLessThanOrEqual(126);
  });
});

test("whatever goes wrong in a condition, it does not hold", () => {
  const hostile = new Proxy(
    {},
    {
      get: () => {
        throw new RangeError("Maximum call stack size exceeded");
      },
    },
  );
  expect(holds({ var: "variables.x" }, { variables: hostile })).toBe(false);
});

describe("what an honest condition needs is there", () => {
  test.each<[string, JsonValue]>([
    ["a part of a long text", { in: ["b", { var: "variables.almost" }] }],
    ["the start of a long text", { "==": [{ substr: [{ var: "variables.long" }, 0, 3] }, "aaa"] }],
    ["a number in a long list", { in: [4_999, { var: "variables.numbers" }] }],
    [
      "a sum over a long list",
      { ">": [{ reduce: [ones(1_500), { "+": [accumulator, { var: "current" }] }, 0] }, 1_499] },
    ],
    ["a deep value", { "!!": [{ var: "variables.deep.0.0.0.0" }] }],
  ])("%s", (_, expression) => {
    expect(holds(expression, data)).toBe(true);
  });

  test("beside a thousand others", () => {
    const expression = {
      and: [{ ">": [{ var: "variables.numbers.7" }, 5] }, { "!": [{ var: "routingFlags.x" }] }],
    };
    expect(holds(expression, data, 1_000)).toBe(true);
  });
});
