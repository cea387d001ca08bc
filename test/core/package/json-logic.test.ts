import { describe, expect, test } from "vitest";
import { holds } from "../../../src/core/package/json-logic.js";

const data = {
  variables: {
    score: 7,
    name: "Ada",
    tags: ["a", "b"],
    done: true,
    nothing: null,
    nested: { deep: { x: 1 } },
  },
  gateDecisions: { qaGate: "FAIL" },
  routingFlags: {},
};

describe("conditions that hold", () => {
  test.each([
    ["a number", { ">": [{ var: "variables.score" }, 5] }],
    ["between", { "<": [1, { var: "variables.score" }, 10] }],
    ["at most", { "<=": [7, { var: "variables.score" }, 7] }],
    ["a text", { "==": [{ var: "variables.name" }, "Ada"] }],
    ["loosely a number", { "==": [{ var: "variables.score" }, "7"] }],
    ["strictly", { "===": [{ var: "variables.score" }, 7] }],
    ["unlike", { "!==": [{ var: "variables.score" }, "7"] }],
    ["a gate", { in: [{ var: "gateDecisions.qaGate" }, ["FAIL", "CONCERNS"]] }],
    ["a part of a text", { in: ["d", { var: "variables.name" }] }],
    ["and", { and: [{ var: "variables.done" }, { "!": [{ var: "routingFlags.blocked" }] }] }],
    ["or", { or: [{ var: "routingFlags.proceed" }, true] }],
    ["if", { if: [{ var: "routingFlags.x" }, false, { var: "variables.done" }, true, false] }],
    ["a default", { "==": [{ var: ["variables.absent", 3] }, 3] }],
    ["what is missing", { "!": [{ missing: ["variables.name", "variables.score"] }] }],
    ["some of what is missing", { "!": [{ missing_some: [1, ["variables.name", "variables.absent"]] }] }],
    [
      "arithmetic",
      { "==": [{ "+": [1, { "*": [2, 3] }, { "-": [1] }, { "%": [7, 4] }, { "/": [4, 2] }] }, 11] },
    ],
    ["max and min", { "==": [{ max: [1, 5, { min: [9, 4] }] }, 5] }],
    ["all", { all: [{ var: "variables.tags" }, { in: [{ var: "" }, ["a", "b"]] }] }],
    ["some", { some: [{ var: "variables.tags" }, { "==": [{ var: "" }, "b"] }] }],
    ["none", { none: [{ var: "variables.tags" }, { "==": [{ var: "" }, "z"] }] }],
    [
      "filter and map",
      {
        "==": [
          { cat: [{ map: [{ filter: [[1, 2, 3], { ">": [{ var: "" }, 1] }] }, { "*": [{ var: "" }, 2] }] }] },
          "[4,6]",
        ],
      },
    ],
    [
      "reduce",
      { "==": [{ reduce: [[1, 2, 3], { "+": [{ var: "accumulator" }, { var: "current" }] }, 0] }, 6] },
    ],
    ["merge", { in: [3, { merge: [[1, 2], 3] }] }],
    ["substr", { "==": [{ substr: ["interlock", 0, 5] }, "inter"] }],
    ["an index", { "==": [{ var: "variables.tags.1" }, "b"] }],
    ["a nested value", { var: "variables.nested.deep.x" }],
  ])("%s", (_name, expression) => {
    expect(holds(expression, data)).toBe(true);
  });
});

describe("conditions that do not hold", () => {
  test.each([
    ["an empty list", { filter: [{ var: "variables.tags" }, false] }],
    ["a missing variable", { var: "variables.absent" }],
    ["null equals only null", { "==": [{ var: "variables.nothing" }, 0] }],
    ["an unknown operator", { log: ["x"] }],
    ["a method call", { method: ["abc", "repeat", [10]] }],
    ["an inherited property", { var: "constructor" }],
    ["an inherited property of a variable", { var: "variables.name.length" }],
    ["the prototype", { var: "__proto__.constructor" }],
    ["a number by nothing", { "/": [1, 0] }],
    ["all of nothing", { all: [[], true] }],
  ])("%s", (_name, expression) => {
    expect(holds(expression, data)).toBe(false);
  });

  test("an expression that is too much work ends, and does not hold", () => {
    const list = Array.from({ length: 100 }, () => 1);
    let expression: object = { var: "" };
    for (let depth = 0; depth < 8; depth += 1) expression = { map: [list, expression] };
    expect(holds({ "!!": [expression] } as never, data)).toBe(false);
  });

  test("an expression that is too deep ends, and does not hold", () => {
    let expression: object = { var: "variables.done" };
    for (let depth = 0; depth < 5_000; depth += 1) expression = { "!!": [expression] };
    expect(holds(expression as never, data)).toBe(false);
  });

  test("a text that would grow without bound ends", () => {
    let expression: object = { cat: ["0123456789"] };
    for (let depth = 0; depth < 9; depth += 1)
      expression = { cat: Array.from({ length: 10 }, () => expression) };
    expect(holds({ "!!": [expression] } as never, data)).toBe(false);
  });
});

describe("operators, each once", () => {
  test.each([
    ["unequal", { "!=": [1, 2] }, true],
    ["not identical", { "!==": [1, "1"] }, true],
    ["not not", { "!!": ["x"] }, true],
    ["not", { "!": [""] }, true],
    ["at least", { ">=": [2, "2"] }, true],
    ["at least, of texts", { ">=": ["b", "a"] }, true],
    ["a list equals nothing", { "==": [[1], [1]] }, false],
    ["if, else", { if: [false, false, true] }, true],
    ["if without an else", { if: [false, true] }, false],
    ["the rest of a text", { "==": [{ substr: ["abc", 1] }, "bc"] }, true],
    ["a part of a text", { "==": [{ substr: ["abc", 0, -1] }, "ab"] }, true],
    [
      "a text that is too long",
      { "!!": [{ cat: Array.from({ length: 30 }, () => "x".repeat(50_000)) }] },
      false,
    ],
  ])("%s", (_name, expression, result) => {
    expect(holds(expression as never, data)).toBe(result);
  });
});
