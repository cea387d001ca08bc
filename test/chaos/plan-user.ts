import type { Random } from "./random.js";

/** What is done to a run beside answering its questions. Times are milliseconds. */
export interface PlannedUser {
  /** `after` its start. */
  readonly pause?: { readonly after: number; readonly for: number };
  readonly cancel?: { readonly after: number };
  readonly budget?: PlannedBudget;
}

/** In model turns; `raise` is added whenever a limit is reached. */
export interface PlannedBudget {
  readonly run?: { readonly turns: number };
  readonly node?: { readonly turns: number };
  readonly raise: number;
}

export const LEFT_ALONE: PlannedUser = {};

const SOONEST_MS = 300;
const LATEST_MS = 8_000;

/** Each deed has its own chance: a run may be paused, cancelled and short of budget. */
export function planUser(random: Random): PlannedUser {
  const after = () => random.between(SOONEST_MS, LATEST_MS);
  const pause = random.chance(0.35) ? { pause: { after: after(), for: random.between(1_000, 6_000) } } : {};
  const cancel = random.chance(0.2) ? { cancel: { after: after() } } : {};
  const budget = random.chance(0.35) ? { budget: planBudget(random) } : {};
  return { ...pause, ...cancel, ...budget };
}

function planBudget(random: Random): PlannedBudget {
  const kind = random.pick(["run", "node", "both"]);
  return {
    ...(kind === "node" ? {} : { run: { turns: random.between(1, 5) } }),
    ...(kind === "run" ? {} : { node: { turns: random.between(1, 2) } }),
    raise: random.between(1, 3),
  };
}
