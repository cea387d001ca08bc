import { describe, expect, test } from "vitest";
import { budgetProblem, findBreach, isAmount, raiseBudget } from "../../../src/core/run/budget.js";
import { NO_USAGE, type Usage } from "../../../src/core/run/usage.js";

const spent = (changes: Partial<Usage> = {}): Usage => ({ ...NO_USAGE, ...changes });
const used = (run: Partial<Usage>, node: Partial<Usage> = {}) => ({
  run: spent(run),
  node: spent(node),
});

describe("findBreach", () => {
  test("is at the limit, not beyond it: the next turn would go beyond", () => {
    const budget = { run: { turns: 2 } };
    expect(findBreach(budget, used({ modelTurns: 1 }))).toBeUndefined();
    expect(findBreach(budget, used({ modelTurns: 2 }))).toEqual({
      scope: "run",
      unit: "turns",
      limit: 2,
      used: 2,
    });
  });

  test("counts tokens in and out together, and each scope by itself", () => {
    const budget = { run: { tokens: 1_000 }, node: { tokens: 100 } };
    const both = used(
      { promptTokens: 900, completionTokens: 50 },
      { promptTokens: 60, completionTokens: 40 },
    );
    expect(findBreach(budget, both)).toEqual({ scope: "node", unit: "tokens", limit: 100, used: 100 });
  });

  test("names the run's before the node's, turns before tokens before cost", () => {
    const limits = { turns: 1, tokens: 1, cost: 1 };
    const all = { modelTurns: 1, promptTokens: 1, cost: 1 };
    expect(findBreach({ run: limits, node: limits }, used(all, all))).toMatchObject({
      scope: "run",
      unit: "turns",
    });
    expect(findBreach({ node: { cost: 1, tokens: 1 } }, used(all, all))).toMatchObject({ unit: "tokens" });
  });

  test("without limits there is none", () => {
    expect(findBreach({}, used({ modelTurns: 1e9, cost: 1e9 }))).toBeUndefined();
    expect(findBreach({ run: {} }, used({ modelTurns: 1e9 }))).toBeUndefined();
  });
});

describe("raiseBudget", () => {
  test("adds to the limits of one scope and leaves the rest", () => {
    const budget = { run: { turns: 5, cost: 1.5 }, node: { turns: 2 } };
    expect(raiseBudget(budget, "run", { turns: 3, cost: 0.5 })).toEqual({
      run: { turns: 8, cost: 2 },
      node: { turns: 2 },
    });
    expect(budget.run).toEqual({ turns: 5, cost: 1.5 });
  });

  test("a unit without a limit stays without one", () => {
    expect(raiseBudget({ run: { turns: 5 } }, "run", { tokens: 10 })).toEqual({ run: { turns: 5 } });
  });
});

describe("what may be a limit", () => {
  test.each([
    ["turns", 1, true],
    ["tokens", 1e12, true],
    ["cost", 0.0001, true],
    ["turns", 1.5, false],
    ["turns", 0, false],
    ["cost", -1, false],
    ["cost", Number.NaN, false],
    ["cost", Number.POSITIVE_INFINITY, false],
    ["tokens", 1e13, false],
    ["tokens", "5", false],
    ["hours", 1, false],
    ["__proto__", 1, false],
  ])("%s %s: %s", (unit, amount, expected) => {
    expect(isAmount(unit, amount)).toBe(expected);
  });

  test("a budget that is none is described", () => {
    expect(budgetProblem({ run: { turns: 1 }, node: { cost: 2.5 } })).toBeUndefined();
    expect(budgetProblem({ node: { turns: 0 } })).toContain("The budget's turns per node cannot be 0");
    expect(budgetProblem({ run: { tokens: 2e12 } })).toContain("at most 1000000000000");
    expect(budgetProblem(JSON.parse('{"week":{"turns":1}}') as object)).toContain('not per "week"');
  });
});
