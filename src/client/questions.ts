import { ServiceError } from "@temporalio/client";
import { defined } from "../core/defined.js";
import { asksForBudget } from "../core/run/question.js";
import type { RunState } from "../core/run/run-state.js";
import { pause, unlessAborted } from "./temporal/abortable.js";
import { isAway } from "./temporal/grpc-status.js";
import { InterlockError } from "./temporal/interlock-error.js";
import type { ListedRun } from "./runs/list-runs.js";
import { questionOf } from "./runs/next-question.js";
import type { RunReference } from "./run-handle.js";
import { someAtOnce } from "../core/some-at-once.js";

/** A question that waits, and whose it is. */
export interface OpenQuestion {
  readonly runId: string;
  readonly workflowId: string;
  /** `<visit>.<turn>`: what `answer` takes as `question`. Absent where the run's worker is of an earlier version and does not answer. */
  readonly id?: string;
  readonly nodeId: string;
  readonly text: string;
  /** False: no worker has answered, and `text` is the question's first line. */
  readonly isWhole: boolean;
  /** As a run's question has it: `BUDGET_EXCEEDED` takes a larger budget, no answer. */
  readonly code?: string;
  readonly packageId?: string;
  readonly projectId?: string;
  /** The name of the project's directory. */
  readonly project?: string;
  /** Since when it waits, ISO. */
  readonly since: string;
  readonly taskQueue: string;
}

/** What happens to questions. */
export type QuestionEvent =
  | { readonly kind: "asked"; readonly question: OpenQuestion }
  /** Somebody has answered it, or raised the budget. `by` is who, as they say. */
  | { readonly kind: "answered"; readonly question: OpenQuestion; readonly by?: string }
  /** The run is over: nobody needs the answer. */
  | { readonly kind: "ended"; readonly question: OpenQuestion };

/** How questions are asked for. */
export interface QuestionSource {
  /** The runs that wait. */
  list(): Promise<readonly ListedRun[]>;
  /** Where a run stands, or it rejects where no worker says so in time. */
  state(run: RunReference): Promise<RunState>;
  /** Whether a worker polls the queue: where none does, no run of it can say anything. */
  isPolled(taskQueue: string): Promise<boolean>;
}

const AT_A_TIME = 8;
const PAUSE_MS = 2_000;

/** What waits, the oldest first, each with the first line of its text. */
export async function firstLines(source: QuestionSource): Promise<readonly OpenQuestion[]> {
  return oldestFirst(await source.list()).map(firstLineOf);
}

/** The same, and each run is asked for the whole text. */
export async function openQuestions(source: QuestionSource): Promise<readonly OpenQuestion[]> {
  const runs = oldestFirst(await source.list());
  const found: OpenQuestion[] = [];
  for await (const [, question] of wholeQuestions(source, runs))
    if (question !== undefined) found.push(question);
  return found;
}

/** Runs with what they wait with, in their order: some at a time are asked, and of those that nobody works on none. */
async function* wholeQuestions(
  source: QuestionSource,
  runs: readonly ListedRun[],
): AsyncGenerator<readonly [ListedRun, OpenQuestion | undefined], void> {
  const polled = await polledQueues(runs, (queue) => source.isPolled(queue));
  for (let start = 0; start < runs.length; start += AT_A_TIME) {
    yield* await Promise.all(
      runs.slice(start, start + AT_A_TIME).map(async (run) => {
        const isAsked = polled.includes(run.taskQueue);
        return [run, isAsked ? await wholeQuestion(source, run) : firstLineOf(run)] as const;
      }),
    );
  }
}

/** The queues that somebody polls, each asked about once. */
async function polledQueues(
  waiting: readonly { readonly taskQueue: string }[],
  isPolled: (taskQueue: string) => Promise<boolean>,
): Promise<readonly string[]> {
  const queues = [...new Set(waiting.map(({ taskQueue }) => taskQueue))];
  const polled = await someAtOnce(queues, AT_A_TIME, isPolled);
  return queues.filter((_, at) => polled[at]);
}

/**
 * What waits, the oldest first, then what comes and goes. Ends with the signal. Temporal, once it has answered, may be away: it
 * is asked again until it answers.
 */
export async function* questionEvents(
  source: QuestionSource,
  signal: AbortSignal | undefined,
): AsyncGenerator<QuestionEvent, void> {
  try {
    yield* changesOf(signal === undefined ? source : endedBy(signal, source), signal);
  } catch (error) {
    if (signal?.aborted !== true) throw error;
  }
}

/** Nobody waits for an answer any longer than for the signal. */
function endedBy(signal: AbortSignal, source: QuestionSource): QuestionSource {
  return {
    list: () => unlessAborted(signal, source.list()),
    state: (run) => unlessAborted(signal, source.state(run)),
    isPolled: (taskQueue) => unlessAborted(signal, source.isPolled(taskQueue)),
  };
}

async function* changesOf(
  source: QuestionSource,
  signal: AbortSignal | undefined,
): AsyncGenerator<QuestionEvent, void> {
  let open = new Map<string, OpenQuestion>();
  let wasReached = false;
  for (;;) {
    signal?.throwIfAborted();
    const waiting = await source.list().catch((error: unknown) => {
      if (!wasReached || !isAway(error)) throw error;
    });
    if (waiting === undefined) {
      await pause(PAUSE_MS, signal);
      continue;
    }
    wasReached = true;
    const listed = new Map(oldestFirst(waiting).map((run) => [keyOf(run), run]));
    yield* await goneEvents(
      source,
      [...open].filter(([key]) => !listed.has(key)).map(([, question]) => question),
    );
    open = new Map([...open].filter(([key]) => listed.has(key)));
    const asked = [...listed].filter(([key]) => !open.has(key)).map(([, run]) => run);
    try {
      for await (const [run, question] of wholeQuestions(source, asked)) {
        if (question === undefined) continue; // answered meanwhile
        open.set(keyOf(run), question);
        yield { kind: "asked", question };
      }
    } catch (error) {
      if (!isAway(error)) throw error; // those that are left are told of when it is back
    }
    await pause(PAUSE_MS, signal);
  }
}

/** Undefined where the run waits no more. */
async function wholeQuestion(source: QuestionSource, run: ListedRun): Promise<OpenQuestion | undefined> {
  const state = await stateOf(source, run);
  if (state === undefined) return firstLineOf(run);
  const question = questionOf(state);
  if (question === undefined) return undefined;
  const { code: _, ...listed } = firstLineOf(run);
  return { ...listed, ...question, isWhole: true };
}

/** Undefined where nobody says it. */
async function stateOf(source: QuestionSource, run: RunReference): Promise<RunState | undefined> {
  return source.state(run).catch((error: unknown) => {
    if (error instanceof ServiceError || error instanceof InterlockError) return undefined;
    throw error;
  });
}

/** Some at a time are asked how they went, and of those that nobody works on none. */
async function goneEvents(
  source: QuestionSource,
  gone: readonly OpenQuestion[],
): Promise<readonly QuestionEvent[]> {
  const polled = await polledQueues(gone, (queue) => isPolledNow(source, queue));
  return someAtOnce(gone, AT_A_TIME, async (question): Promise<QuestionEvent> =>
    polled.includes(question.taskQueue) ? goneEvent(source, question) : { kind: "answered", question },
  );
}

/** Not where Temporal is away. */
async function isPolledNow(source: QuestionSource, taskQueue: string): Promise<boolean> {
  return source.isPolled(taskQueue).catch((error: unknown) => {
    if (!isAway(error)) throw error;
    return false;
  });
}

async function goneEvent(source: QuestionSource, question: OpenQuestion): Promise<QuestionEvent> {
  const state = await stateOf(source, question);
  if (state?.phase === "failed") return { kind: "ended", question };
  const { lastAnswer } = state ?? {};
  const isIts = !asksForBudget(question) && lastAnswer?.nodeId === question.nodeId;
  return { kind: "answered", question, ...(isIts ? defined({ by: lastAnswer.by }) : {}) };
}

function firstLineOf(run: ListedRun): OpenQuestion {
  const { runId, workflowId, asked, nodeId = "", question = "", code, packageId, projectId, project } = run;
  return {
    runId,
    workflowId,
    nodeId,
    text: question,
    isWhole: false,
    ...defined({ id: asked, code, packageId, projectId, project }),
    since: run.since ?? run.startedAt,
    taskQueue: run.taskQueue,
  };
}

function oldestFirst(runs: readonly ListedRun[]): readonly ListedRun[] {
  const waitsSince = (run: ListedRun): string => run.since ?? run.startedAt;
  return runs.toSorted((a, b) => waitsSince(a).localeCompare(waitsSince(b)));
}

/** A run comes into its phase anew with each question, but where one limit of its budget after the other is reached. */
function keyOf({ workflowId, runId, asked, since, question }: ListedRun): string {
  return JSON.stringify([workflowId, runId, asked, since, question]);
}
