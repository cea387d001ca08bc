/** What may be used: model turns, tokens in and out together, cost in the currency of the prices. */
export interface BudgetLimits {
  readonly turns?: number;
  readonly tokens?: number;
  readonly cost?: number;
}

export type BudgetScope = "run" | "node";
export type BudgetUnit = keyof BudgetLimits;

const UNITS: readonly BudgetUnit[] = ["turns", "tokens", "cost"];

/** What has been used, in the units of a budget. */
export interface Spending {
  readonly modelTurns: number;
  readonly promptTokens: number;
  readonly completionTokens: number;
  readonly cost: number;
}

/** A limit that is reached: the next model turn would go beyond it. */
export interface BudgetBreach {
  readonly scope: BudgetScope;
  readonly unit: BudgetUnit;
  readonly limit: number;
  readonly used: number;
}

type Limits = Readonly<Partial<Record<BudgetScope, BudgetLimits>>>;

/** The first limit that is reached, the run's before the node's. */
export function findBreach(
  budget: Limits,
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

/** The budget with more room in one scope. A unit that has no limit stays without one. */
export function raiseBudget<B extends Limits>(budget: B, scope: BudgetScope, add: BudgetLimits): B {
  const limits = budget[scope] ?? {};
  const raised = UNITS.flatMap((unit) => {
    const limit = limits[unit];
    return limit === undefined ? [] : [[unit, limit + (add[unit] ?? 0)] as const];
  });
  return { ...budget, [scope]: Object.fromEntries(raised) };
}

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
