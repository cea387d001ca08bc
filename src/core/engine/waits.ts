import { type BudgetBreach, type ReachedLimit, findBreach } from "../run/budget.js";
import { NO_LOOP } from "../run/loop-detection.js";
import { BUDGET_EXCEEDED, type Question, asksForBudget } from "../run/question.js";
import { tellGraphState } from "./run-graph-state.js";
import type { RunRecord } from "./run-record.js";

/** What a run has to wait for before its next turn: the end of a pause, or room in its budget. */
export type Wait = "pause" | "budget";

export function waitBeforeTurn(record: RunRecord): Wait | undefined {
  if (record.carried.ended) return undefined;
  if (record.carried.paused) return "pause";
  return breachOf(record) === undefined ? undefined : "budget";
}

export function isPauseOver({ carried }: RunRecord): boolean {
  return !carried.paused || carried.ended;
}

/** The limit that is reached, if one is. */
export function breachOf(record: RunRecord): BudgetBreach | undefined {
  const { budget, usage, visitUsage } = record.carried;
  return findBreach(budget, { run: usage, node: visitUsage });
}

/** Whether a breach is gone, was raised to another limit, or matters no more. */
export function isBreachOver(record: RunRecord, breach: BudgetBreach): boolean {
  const now = breachOf(record);
  return now === undefined || !isSameLimit(now, breach) || record.carried.ended;
}

function isSameLimit(one: ReachedLimit, other: ReachedLimit): boolean {
  return one.scope === other.scope && one.unit === other.unit && one.limit === other.limit;
}

/** It waits for room in its budget, since an execution before this one if need be. */
export function isAskedForBudget({ question }: RunRecord): boolean {
  return asksForBudget(question);
}

/** It is this limit that the run waits with. */
export function isAskedFor(record: RunRecord, breach: BudgetBreach): boolean {
  const reached = record.question?.reached;
  return reached !== undefined && isSameLimit(reached, breach);
}

/**
 * It was handed on with a question that it does not wait with: an execution in between was a worker's of a version that knows no question to
 * be handed on. That one has asked again, has been answered, and has passed the question on.
 */
export function isQuestionLeft({ question, carried }: RunRecord): boolean {
  return question !== undefined && carried.phase !== "waiting-user";
}

/** It waits for its user's words, since an execution before this one if need be. */
export function isAskedForWords(record: RunRecord): boolean {
  return record.question !== undefined && !isAskedForBudget(record);
}

/** Asks for more room. */
export function askForBudget(record: RunRecord, breach: BudgetBreach): void {
  const { scope, unit, limit } = breach;
  record.question = {
    nodeId: record.nodeId,
    text: describeBreach(breach),
    code: BUDGET_EXCEEDED,
    reached: { scope, unit, limit },
  };
}

function describeBreach({ scope, unit, limit, used }: BudgetBreach): string {
  const what = unit === "turns" ? "model turns" : unit;
  const amount = unit === "cost" ? used.toFixed(4) : String(used);
  const where = scope === "run" ? "run" : "node visit";
  return `The budget of this ${where} is used up: ${amount} of ${limit} ${what}. Raise it with --add-${unit} to let the run go on, or cancel it.`;
}

/** Asks the user what the run cannot decide. */
export function ask(record: RunRecord, question: Question): void {
  record.question = question;
  tellGraphState(record, { kind: "asked" });
}

/** The question is answered, or nobody needs the answer. */
export function isAnswered(record: RunRecord): boolean {
  return record.answer !== undefined || record.carried.ended;
}

/** The run goes on with what it was told: what it repeated before counts no more. */
export function endQuestion(record: RunRecord): void {
  record.question = undefined;
  record.answer = undefined;
  record.update({ loop: NO_LOOP });
}
