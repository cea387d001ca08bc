import type { ReachedLimit } from "./budget.js";

/** What the run asks its user, and for which node. */
export interface Question {
  readonly nodeId: string;
  readonly text: string;
  /**
   * `ENGINE_LOOP_DETECTED` or `BUDGET_EXCEEDED` when the engine asks, not the model; `LLM_REFUSED` or
   * `LLM_CONTENT_FILTERED` when the model has refused; `LLM_BAD_RESPONSE` when its answers ask nothing.
   */
  readonly code?: string;
  /** Of `BUDGET_EXCEEDED`: what there is to raise. */
  readonly reached?: ReachedLimit;
}

/** The code of the question that takes a raised budget, no answer. */
export const BUDGET_EXCEEDED = "BUDGET_EXCEEDED";

/** Whether it is a decision on the budget that is asked for, not an answer. */
export function asksForBudget(question: { readonly code?: string | undefined } | undefined): boolean {
  return question?.code === BUDGET_EXCEEDED;
}

/** The id of the question that a run asks now: there is one in a turn at most. */
export function questionIn({ visit, turn }: { readonly visit: number; readonly turn: number }): string {
  return `${visit}.${turn}`;
}
