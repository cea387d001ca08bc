import {
  condition,
  currentUpdateInfo,
  defineQuery,
  defineUpdate,
  patched,
  setHandler,
} from "@temporalio/workflow";
import {
  ANSWER_UPDATE,
  BUDGET_UPDATE,
  FINISH_UPDATE,
  GRAPH_STATE_QUERY,
  PAUSE_UPDATE,
  RESUME_UPDATE,
  RUN_STATE_QUERY,
} from "../contract/names.js";
import type { Answer, AnswerTaken, BudgetRaise, MaybeSigned } from "../contract/run.js";
import { answerSchema, raiseSchema, updateProblem, wordlessSchema } from "../contract/updates.js";
import type { GraphState } from "../core/graph-state/schemas.js";
import type { Budget } from "../core/run/budget.js";
import type { RunRecord } from "../core/engine/run-record.js";
import type { RunState } from "../core/run/run-state.js";
import {
  answerRefusal,
  finish,
  finishRefusal,
  isRaised,
  overRefusal,
  raise,
  raiseRefusal,
  setPaused,
  takeAnswer,
  takenBefore,
  wordlessRefusal,
} from "../core/engine/run-updates.js";
import { refusalOf } from "./failures.js";
import { Unreadable } from "./payload-converter.js";
import type { RunKind } from "./run-kind.js";
import { takeUpdate } from "./signed-updates.js";

interface Accepted {
  readonly accepted: true;
}
const ACCEPTED: Accepted = { accepted: true };
/** The arguments of an update that is told nothing. */
type Wordless = [signed?: MaybeSigned];

/** What a description says where nothing is to be said. */
const WORDLESS = "No argument, for example with an empty input.";

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
    description:
      'Answers the question the run waits with; its node is in the current details. Argument: {"nodeId": "ask", "text": "Blue."}',
  });
  const checkOpen = (...args: readonly unknown[]) => checkWordless(record, args);
  setHandler(pauseUpdate, (...args) => acceptPause(record, true, args), {
    validator: checkOpen,
    description: `Pauses the run before its next model turn. ${WORDLESS}`,
  });
  setHandler(resumeUpdate, (...args) => acceptPause(record, false, args), {
    validator: checkOpen,
    description: `Lets a paused run go on. ${WORDLESS}`,
  });
  setHandler(budgetUpdate, (raise) => acceptRaise(record, raise), {
    validator: (...args) => checkRaise(record, args),
    description:
      'Adds to the budget of the run, or of the visit at hand. Argument: {"scope": "run", "add": {"turns": 10, "tokens": 50000, "cost": 0.5}}; one amount is enough.',
  });
  setHandler(finishUpdate, (...args) => acceptFinish(record, kind, args), {
    validator: (...args) => checkFinish(record, kind, args),
    description: `Ends a bundle run as completed. ${WORDLESS}`,
  });
}

/** What a run can be asked. What is asked along is not looked at. */
export function handleQueries(record: RunRecord): void {
  setHandler(runStateQuery, () => record.toRunState(), {
    description: `Where the run stands: phase, node, question, failure, artifacts, usage. ${WORDLESS}`,
  });
  setHandler(graphStateQuery, () => record.carried.story?.state ?? null, {
    description: `The graph state of a run that carries a story; null of one that carries none. ${WORDLESS}`,
  });
}

function updateId(): string {
  return currentUpdateInfo()?.id ?? "";
}

function wasTaken(record: RunRecord): boolean {
  return takenBefore(record, updateId()) !== undefined;
}

function checkAnswer(record: RunRecord, args: readonly unknown[]): void {
  refuseShape(answerSchema, args, "An answer is { nodeId, text }, and its text is not empty.");
  const answer = args[0] as Answer; // the schema has said so
  refuseIf(answerRefusal(record, updateId(), answer));
}

function acceptAnswer(record: RunRecord, argument: Answer): AnswerTaken | Promise<AnswerTaken> {
  return takeUpdate(record, {
    name: ANSWER_UPDATE,
    argument,
    check: () => checkAnswer(record, [argument]),
    act: () => ({ ...ACCEPTED, ...takeAnswer(record, updateId(), argument) }),
    wasTaken: () => wasTaken(record),
  });
}

function acceptPause(record: RunRecord, paused: boolean, args: Wordless): Accepted | Promise<Accepted> {
  return takeUpdate(record, {
    name: paused ? PAUSE_UPDATE : RESUME_UPDATE,
    argument: args[0],
    check: () => checkWordless(record, args),
    act: () => {
      setPaused(record, updateId(), paused);
      return ACCEPTED;
    },
    wasTaken: () => wasTaken(record),
  });
}

const NO_ARGUMENT = "This update takes no argument.";

/** Of updates that are told nothing. */
function checkWordless(record: RunRecord, args: readonly unknown[]): void {
  refuseShape(wordlessSchema, args, NO_ARGUMENT);
  refuseIf(wordlessRefusal(record, updateId()));
}

function checkRaise(record: RunRecord, args: readonly unknown[]): void {
  refuseIf(overRefusal(record));
  refuseShape(
    raiseSchema,
    args,
    "A raise is { scope?: run | node, add: { turns?, tokens?, cost? } } with amounts above 0.",
  );
  const told = args[0] as BudgetRaise; // the schema has said so
  refuseIf(raiseRefusal(record, updateId(), told));
}

/** A run that goes on learns its budget when it is open: until then a raise waits. Where it ends before, the raise is refused. */
async function acceptRaise(record: RunRecord, argument: BudgetRaise): Promise<Budget> {
  if (record.input.resume === true && record.open === undefined) {
    await condition(() => record.open !== undefined || record.failure !== undefined);
    if (record.open === undefined && patched("no-raise-waits-for-a-run-that-is-over"))
      refuseIf(overRefusal(record));
    await condition(() => record.open !== undefined);
  }
  return takeUpdate(record, {
    name: BUDGET_UPDATE,
    argument,
    check: () => checkRaise(record, [argument]),
    act: () => raise(record, updateId(), argument),
    wasTaken: () => isRaised(record, updateId()),
  });
}

function checkFinish(record: RunRecord, kind: RunKind, args: readonly unknown[]): void {
  refuseShape(wordlessSchema, args, NO_ARGUMENT);
  refuseIf(finishRefusal(record, updateId(), kind.userMayFinish));
}

function acceptFinish(record: RunRecord, kind: RunKind, args: Wordless): Accepted | Promise<Accepted> {
  return takeUpdate(record, {
    name: FINISH_UPDATE,
    argument: args[0],
    check: () => checkFinish(record, kind, args),
    act: () => {
      finish(record);
      return ACCEPTED;
    },
    wasTaken: () => false,
  });
}

/** What cannot be read, or has another shape than it is to have. */
function refuseShape(
  schema: Parameters<typeof updateProblem>[0],
  args: readonly unknown[],
  shape: string,
): void {
  const unreadable = args.find((each) => each instanceof Unreadable);
  if (unreadable !== undefined) refuseIf(`This worker cannot read what it is told. ${unreadable.reason}`);
  const problem = updateProblem(schema, args);
  refuseIf(problem === undefined ? undefined : `${shape} ${problem}.`);
}

function refuseIf(message: string | undefined): void {
  if (message !== undefined) throw refusalOf(message);
}
