import { defined } from "../defined.js";
import { cutText, utf8Length } from "../text.js";
import { type Budget, type BudgetLimits, type BudgetScope, raiseBudget } from "../run/budget.js";
import { FIRST_WORDS_ID, type TakenAnswer, type TakenUpdate } from "../run/carried-run.js";
import { ANSWER_PREVIEW_CHARS, MAX_ID_CHARS, MAX_USER_INPUT_BYTES } from "../run/limits.js";
import { questionIn } from "../run/question.js";
import type { RunRecord } from "./run-record.js";
import { breachOf, isAskedForBudget } from "./waits.js";

/**
 * What a run is told while it goes on, once its shape is known: why it is refused, and what it changes. What refuses changes
 * nothing; what changes does so once for each id, for the same update may arrive again when the run has continued as new.
 */

/** An answer, as it is told. */
interface ToldAnswer {
  readonly nodeId: string;
  readonly text: string;
  readonly question?: string;
  readonly by?: string;
}

/** What is added to the limits of one scope; without a scope, of the one whose limit was reached, else of the run's. */
interface ToldRaise {
  readonly scope?: BudgetScope;
  readonly add: BudgetLimits;
}

/** How many ids of updates a run remembers: they are sent again within minutes, or not at all. */
const KEPT_IDS = 16;

/**
 * What was taken under an update's id. Temporal runs an update of one id once in each execution, and a run may have continued as
 * new since a client sent it first.
 */
export function takenBefore({ carried }: RunRecord, updateId: string): TakenUpdate | undefined {
  return carried.taken?.find(({ id }) => id === updateId);
}

export function isRaised({ carried }: RunRecord, updateId: string): boolean {
  return carried.raises?.includes(updateId) ?? false;
}

export function answerRefusal(
  record: RunRecord,
  updateId: string,
  { nodeId, text, question: meant }: ToldAnswer,
): string | undefined {
  if (utf8Length(text) > MAX_USER_INPUT_BYTES) {
    return `An answer has at most ${MAX_USER_INPUT_BYTES} bytes. Put longer texts into a project file.`;
  }
  const wrongId = idRefusal(updateId);
  if (wrongId !== undefined) return wrongId;
  if (updateId === FIRST_WORDS_ID) {
    return `"${FIRST_WORDS_ID}" is the id of the user's first words. Give the answer another id.`;
  }
  if (takenBefore(record, updateId) !== undefined) return undefined;
  const { question, answer } = record;
  if (answer !== undefined) {
    const whose = answer.by === undefined ? "" : `, that of ${answer.by}`;
    return `The question ${questionIn(record.carried)}, at ${record.nodeId}, has another answer already${whose}: this one was not taken.`;
  }
  if (question === undefined) {
    return `The run does not wait for an answer; it is ${record.carried.phase} at ${record.nodeId}.${lastOne(record)}`;
  }
  if (question.nodeId !== nodeId) {
    return `The run waits for an answer at ${question.nodeId}, not at ${nodeId}.`;
  }
  if (isAskedForBudget(record)) {
    return "The run waits for its budget to be raised, not for an answer.";
  }
  const asked = questionIn(record.carried);
  return meant === undefined || meant === asked
    ? undefined
    : `The run waits with question ${asked}, not with ${meant}: an answer is for one question alone.${lastOne(record)}`;
}

/** Whoever was too late is told who was not. */
function lastOne({ lastAnswer }: RunRecord): string {
  const { nodeId, by } = lastAnswer ?? {};
  return by === undefined ? "" : ` The last answer, at ${nodeId}, is that of ${by}.`;
}

/** Takes an answer that is not refused; says which one has been taken under its id. */
export function takeAnswer(
  record: RunRecord,
  updateId: string,
  { nodeId, text, by }: ToldAnswer,
): TakenAnswer {
  const before = takenBefore(record, updateId);
  if (before !== undefined) return { nodeId: "", ...before.answer };
  const answer = { nodeId, begins: cutText(text, ANSWER_PREVIEW_CHARS), ...defined({ by }) };
  take(record, { id: updateId, answer });
  record.answer = { id: updateId, text, ...defined({ by }) };
  return answer;
}

/** Of updates that are told nothing. */
export function wordlessRefusal(record: RunRecord, updateId: string): string | undefined {
  return idRefusal(updateId) ?? overRefusal(record);
}

export function setPaused(record: RunRecord, updateId: string, paused: boolean): void {
  if (takenBefore(record, updateId) !== undefined) return;
  take(record, { id: updateId });
  if (record.carried.paused === paused) return;
  record.update({ paused });
  record.note(paused ? "paused by the user" : "resumed by the user");
}

export function finishRefusal(
  record: RunRecord,
  updateId: string,
  userMayFinish: boolean,
): string | undefined {
  const refusal = wordlessRefusal(record, updateId);
  if (refusal !== undefined || userMayFinish) return refusal;
  return "A graph run ends at an end node. To stop it, cancel it.";
}

export function finish(record: RunRecord): void {
  record.update({ ended: true });
  record.note("ended by the user");
}

export function overRefusal(record: RunRecord): string | undefined {
  return record.isOver ? `The run is over: it has ${record.carried.phase}.` : undefined;
}

export function raiseRefusal(
  record: RunRecord,
  updateId: string,
  { scope = scopeOf(record), add }: ToldRaise,
): string | undefined {
  const refusal = overRefusal(record) ?? idRefusal(updateId);
  if (refusal !== undefined || isRaised(record, updateId)) return refusal;
  const limits = record.carried.budget[scope] ?? {};
  const without = Object.keys(add).find((unit) => !Object.hasOwn(limits, unit));
  return without === undefined
    ? undefined
    : `There is no limit on ${without} per ${scope} that could be raised.`;
}

/** The budget after a raise that is not refused. */
export function raise(record: RunRecord, updateId: string, { scope, add }: ToldRaise): Budget {
  const { budget: before, raises = [] } = record.carried;
  if (isRaised(record, updateId)) return before;
  const budget = raiseBudget(before, scope ?? scopeOf(record), add);
  record.update({ budget, raises: [...raises, updateId].slice(-KEPT_IDS) });
  record.note("budget raised by the user");
  return budget;
}

function scopeOf(record: RunRecord): BudgetScope {
  return breachOf(record)?.scope ?? "run";
}

function idRefusal(updateId: string): string | undefined {
  return updateId.length > MAX_ID_CHARS ? `An id has at most ${MAX_ID_CHARS} characters.` : undefined;
}

function take(record: RunRecord, update: TakenUpdate): void {
  record.update({ taken: [...(record.carried.taken ?? []), update].slice(-KEPT_IDS) });
}
