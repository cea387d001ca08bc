import {
  ApplicationFailure,
  condition,
  currentUpdateInfo,
  defineQuery,
  defineUpdate,
  setHandler,
} from "@temporalio/workflow";
import {
  ANSWER_PREVIEW_CHARS,
  ANSWER_UPDATE,
  BUDGET_UPDATE,
  FINISH_UPDATE,
  GRAPH_STATE_QUERY,
  PAUSE_UPDATE,
  RESUME_UPDATE,
  RUN_STATE_QUERY,
} from "../contract/names.js";
import type { Answer, AnswerTaken, BudgetRaise, MaybeSigned } from "../contract/run.js";
import type { TakenUpdate } from "../core/run/carried-run.js";
import type { RunState } from "../core/run/run-state.js";
import { answerSchema, raiseSchema, updateProblem, wordlessSchema } from "../contract/updates.js";
import { type Budget, raiseBudget } from "../core/run/budget.js";
import { MAX_USER_INPUT_BYTES } from "../core/run/limits.js";
import type { GraphState } from "../core/graph-state/schemas.js";
import { cutText, utf8Length } from "../core/text.js";
import type { RunKind } from "./run-kind.js";
import type { RunRecord } from "./run-record.js";
import { takeUpdate } from "./signed-updates.js";
import { FIRST_WORDS_ID, breachOf } from "./waiting.js";

interface Accepted {
  readonly accepted: true;
}
const ACCEPTED: Accepted = { accepted: true };
/** The arguments of an update that is told nothing. */
type Wordless = [signed?: MaybeSigned];

const runStateQuery = defineQuery<RunState>(RUN_STATE_QUERY);
/** The typed graph state of a run that carries a story; null for a run that carries none. */
const graphStateQuery = defineQuery<GraphState | null>(GRAPH_STATE_QUERY);
const answerUpdate = defineUpdate<AnswerTaken, [Answer]>(ANSWER_UPDATE);
const pauseUpdate = defineUpdate<Accepted, Wordless>(PAUSE_UPDATE);
const resumeUpdate = defineUpdate<Accepted, Wordless>(RESUME_UPDATE);
const budgetUpdate = defineUpdate<Budget, [BudgetRaise]>(BUDGET_UPDATE);
const finishUpdate = defineUpdate<Accepted, Wordless>(FINISH_UPDATE);

/** What a run can be asked and told. Validators are synchronous: a refused update leaves no trace. */
export function handleMessages(record: RunRecord, kind: RunKind): void {
  handleQueries(record);
  setHandler(answerUpdate, (answer) => acceptAnswer(record, answer), {
    validator: (...args) => checkAnswer(record, args),
    description: "Answers the question the run waits with.",
  });
  const checkOpen = (...args: readonly unknown[]) => checkWordless(record, args);
  setHandler(pauseUpdate, (...args) => setPaused(record, true, args), {
    validator: checkOpen,
    description: "Pauses the run before its next model turn.",
  });
  setHandler(resumeUpdate, (...args) => setPaused(record, false, args), {
    validator: checkOpen,
    description: "Lets a paused run go on.",
  });
  setHandler(budgetUpdate, (raise) => acceptRaise(record, raise), {
    validator: (...args) => checkRaise(record, args),
    description: "Adds to the run's budget.",
  });
  const checkFinish = (...args: readonly unknown[]) => {
    checkWordless(record, args);
    if (!kind.userMayFinish) throw refusal("A graph run ends at an end node. To stop it, cancel it.");
  };
  setHandler(finishUpdate, (...args) => finish(record, args, () => checkFinish(...args)), {
    validator: checkFinish,
    description: "Ends the run as completed.",
  });
}

/** What a run can be asked. What is asked along is not looked at. */
export function handleQueries(record: RunRecord): void {
  setHandler(runStateQuery, () => record.toRunState());
  setHandler(graphStateQuery, () => record.carried.story?.state ?? null);
}

/** How many ids of updates a run remembers: they are sent again within minutes, or not at all. */
const KEPT_IDS = 16;
const MAX_ID_CHARS = 100;

function updateId(): string {
  return currentUpdateInfo()?.id ?? "";
}

/** What a run remembers of its updates it carries along, so it has to be short. */
function checkId(): void {
  if (updateId().length > MAX_ID_CHARS) throw refusal(`An id has at most ${MAX_ID_CHARS} characters.`);
}

/**
 * What was taken under the update's id. Temporal runs an update of one id once in each execution, and a run may have
 * continued as new since a client sent it first.
 */
function takenBefore({ carried }: RunRecord): TakenUpdate | undefined {
  return carried.taken?.find(({ id }) => id === updateId());
}

function take(record: RunRecord, answer?: TakenUpdate["answer"]): void {
  const update = { id: updateId(), ...(answer === undefined ? {} : { answer }) };
  record.update({ taken: [...(record.carried.taken ?? []), update].slice(-KEPT_IDS) });
}

function isRaised({ carried }: RunRecord): boolean {
  return carried.raises?.includes(updateId()) ?? false;
}

function checkAnswer(record: RunRecord, args: readonly unknown[]): void {
  const problem = updateProblem(answerSchema, args);
  if (problem !== undefined) {
    throw refusal(`An answer is { nodeId, text }, and its text is not empty. ${problem}.`);
  }
  const { nodeId, text } = args[0] as Answer; // the schema has said so
  if (utf8Length(text) > MAX_USER_INPUT_BYTES) {
    throw refusal(
      `An answer has at most ${MAX_USER_INPUT_BYTES} bytes. Put longer texts into a project file.`,
    );
  }
  checkId();
  if (updateId() === FIRST_WORDS_ID) {
    throw refusal(`"${FIRST_WORDS_ID}" is the id of the user's first words. Give the answer another id.`);
  }
  if (takenBefore(record) !== undefined) return;
  const { question } = record;
  if (question === undefined || record.answer !== undefined) {
    throw refusal(`The run does not wait for an answer; it is ${record.carried.phase} at ${record.nodeId}.`);
  }
  if (question.nodeId !== nodeId) {
    throw refusal(`The run waits for an answer at ${question.nodeId}, not at ${nodeId}.`);
  }
  if (question.code === "BUDGET_EXCEEDED") {
    throw refusal("The run waits for its budget to be raised, not for an answer.");
  }
}

function acceptAnswer(record: RunRecord, argument: Answer): AnswerTaken | Promise<AnswerTaken> {
  return takeUpdate(record, {
    name: ANSWER_UPDATE,
    argument,
    check: () => checkAnswer(record, [argument]),
    act: () => takeAnswer(record, argument),
    wasTaken: () => takenBefore(record) !== undefined,
  });
}

/** Takes an answer that passed {@link checkAnswer}, once; says which one has been taken under its id. */
function takeAnswer(record: RunRecord, { nodeId, text }: Answer): AnswerTaken {
  const before = takenBefore(record);
  if (before !== undefined) return { ...ACCEPTED, nodeId: "", ...before.answer };
  const answer = { nodeId, begins: cutText(text, ANSWER_PREVIEW_CHARS) };
  take(record, answer);
  record.answer = { id: updateId(), text };
  return { ...ACCEPTED, ...answer };
}

function checkNotOver(record: RunRecord): void {
  const { phase } = record.carried;
  if (phase === "completed" || phase === "failed") throw refusal(`The run is over: it has ${phase}.`);
}

function setPaused(record: RunRecord, paused: boolean, args: Wordless): Accepted | Promise<Accepted> {
  return takeUpdate(record, {
    name: paused ? PAUSE_UPDATE : RESUME_UPDATE,
    argument: args[0],
    check: () => checkWordless(record, args),
    act: () => pauseOnce(record, paused),
    wasTaken: () => takenBefore(record) !== undefined,
  });
}

function pauseOnce(record: RunRecord, paused: boolean): Accepted {
  if (takenBefore(record) !== undefined) return ACCEPTED;
  take(record);
  if (record.carried.paused !== paused) {
    record.update({ paused });
    record.note(paused ? "paused by the user" : "resumed by the user");
  }
  return ACCEPTED;
}

/** Of updates that are told nothing. */
function checkWordless(record: RunRecord, args: readonly unknown[]): void {
  const problem = updateProblem(wordlessSchema, args);
  if (problem !== undefined) throw refusal(`This update takes no argument. ${problem}.`);
  checkId();
  checkNotOver(record);
}

function checkRaise(record: RunRecord, args: readonly unknown[]): void {
  checkNotOver(record);
  const problem = updateProblem(raiseSchema, args);
  if (problem !== undefined) {
    throw refusal(
      `A raise is { scope?: run | node, add: { turns?, tokens?, cost? } } with amounts above 0. ${problem}.`,
    );
  }
  const { scope, add } = args[0] as BudgetRaise; // the schema has said so
  const amounts = Object.entries(add);
  checkId();
  if (isRaised(record)) return;
  const limits = record.carried.budget[scope ?? scopeOf(record)] ?? {};
  const without = amounts.find(([unit]) => !Object.hasOwn(limits, unit));
  if (without !== undefined) {
    throw refusal(`There is no limit on ${without[0]} per ${scope ?? scopeOf(record)} that could be raised.`);
  }
}

/** A run that goes on learns its budget when it is open: until then a raise waits. */
async function acceptRaise(record: RunRecord, argument: BudgetRaise): Promise<Budget> {
  if (record.input.resume === true && record.open === undefined) {
    await condition(() => record.open !== undefined);
  }
  return takeUpdate(record, {
    name: BUDGET_UPDATE,
    argument,
    check: () => checkRaise(record, [argument]),
    act: () => raiseOnce(record, argument),
    wasTaken: () => isRaised(record),
  });
}

function raiseOnce(record: RunRecord, raise: BudgetRaise): Budget {
  const { budget: before, raises = [] } = record.carried;
  if (isRaised(record)) return before;
  const budget = raiseBudget(before, raise.scope ?? scopeOf(record), raise.add);
  record.update({ budget, raises: [...raises, updateId()].slice(-KEPT_IDS) });
  record.note("budget raised by the user");
  return budget;
}

function scopeOf(record: RunRecord): "run" | "node" {
  return breachOf(record)?.scope ?? "run";
}

function finish(record: RunRecord, args: Wordless, check: () => void): Accepted | Promise<Accepted> {
  return takeUpdate(record, {
    name: FINISH_UPDATE,
    argument: args[0],
    check,
    act: () => {
      record.update({ ended: true });
      record.note("ended by the user");
      return ACCEPTED;
    },
    wasTaken: () => false,
  });
}

function refusal(message: string): ApplicationFailure {
  return ApplicationFailure.create({ type: "E_PRECONDITION_FAILED", message, nonRetryable: true });
}
