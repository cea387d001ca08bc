import type { Usage } from "./usage.js";

/** What may be used: model turns, tokens in and out together, cost in the currency of the prices. */
export interface BudgetLimits {
  readonly turns?: number;
  readonly tokens?: number;
  readonly cost?: number;
}

/** What may be used before the run waits for a decision: in the whole run, and in one visit of a node. */
export interface Budget {
  readonly run?: BudgetLimits;
  readonly node?: BudgetLimits;
}

export type BudgetScope = "run" | "node";
export type BudgetUnit = keyof BudgetLimits;

const UNITS: readonly BudgetUnit[] = ["turns", "tokens", "cost"];
export const MAX_AMOUNT = 1e12;

/** What has been used, in the units of a budget. */
type Spending = Omit<Usage, "toolCalls">;

/** A limit that is reached: the next model turn would go beyond it. */
export interface ReachedLimit {
  readonly scope: BudgetScope;
  readonly unit: BudgetUnit;
  readonly limit: number;
}

export interface BudgetBreach extends ReachedLimit {
  readonly used: number;
}

/** The first limit that is reached, the run's before the node's. */
export function findBreach(
  budget: Budget,
  used: Readonly<Record<BudgetScope, Spending>>,
): BudgetBreach | undefined {
  for (const scope of ["run", "node"] as const) {
    for (const unit of UNITS) {
      const limit = budget[scope]?.[unit];
      const spent = inUnit(used[scope], unit);
      if (limit !== undefined && spent >= limit) return { scope, unit, limit, used: spent };
    }
  }
  return undefined;
}

/** Whether this may be a limit, or be added to one: above 0, and whole unless it is a cost. */
export function isAmount(unit: string, amount: unknown): amount is number {
  if (typeof amount !== "number" || !(amount > 0 && amount <= MAX_AMOUNT)) return false;
  return unit === "cost" || ((unit === "turns" || unit === "tokens") && Number.isInteger(amount));
}

/** What is wrong with a budget that a run is to be started with; undefined where nothing is. */
export function budgetProblem(budget: Budget): string | undefined {
  for (const [scope, limits] of Object.entries(budget)) {
    if (scope !== "run" && scope !== "node") return `A budget is per run or per node, not per "${scope}".`;
    const wrong = Object.entries(limits).find(([unit, limit]) => !isAmount(unit, limit));
    if (wrong !== undefined) {
      return `The budget's ${wrong[0]} per ${scope} cannot be ${String(wrong[1])}: turns and tokens are whole numbers above 0, a cost is a number above 0, and each is at most ${MAX_AMOUNT}`;
    }
  }
  return undefined;
}

/** The budget with more room in one scope. A unit that has no limit stays without one. */
export function raiseBudget<B extends Budget>(budget: B, scope: BudgetScope, add: BudgetLimits): B {
  const limits = budget[scope] ?? {};
  const raised = UNITS.flatMap((unit) => {
    const limit = limits[unit];
    return limit === undefined ? [] : [[unit, limit + (add[unit] ?? 0)] as const];
  });
  return { ...budget, [scope]: Object.fromEntries(raised) };
}

/** What is left of limits, each of them above 0: one that is reached has room for as little as there is. */
export function budgetLeft(limits: BudgetLimits, used: Spending): BudgetLimits {
  const left = UNITS.flatMap((unit) => {
    const limit = limits[unit];
    return limit === undefined ? [] : [[unit, Math.max(limit - inUnit(used, unit), LEAST[unit])] as const];
  });
  return Object.fromEntries(left);
}

const LEAST: Readonly<Record<BudgetUnit, number>> = { turns: 1, tokens: 1, cost: 1e-9 };

function inUnit(used: Spending, unit: BudgetUnit): number {
  switch (unit) {
    case "turns":
      return used.modelTurns;
    case "tokens":
      return used.promptTokens + used.completionTokens;
    case "cost":
      return used.cost;
  }
}
