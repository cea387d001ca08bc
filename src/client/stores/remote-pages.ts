import { randomUUID } from "node:crypto";
import { type Client, ActivityExecutionFailedError, WorkflowFailedError } from "@temporalio/client";
import { TimeoutFailure } from "@temporalio/common";
import { STORE_READ_WORKFLOW } from "../../contract/names.js";
import {
  type AskedPage,
  type PageSource,
  type StoreQuestionName,
  READ_SIGNATURE_MS,
  isChange,
  parseAnswer,
} from "../../contract/reads.js";
import { type Sign, readStatement } from "../../contract/signed.js";
import { fail } from "../../core/errors.js";
import { excerpt } from "../../core/text.js";
import { abortable } from "../temporal/abortable.js";
import { UNIMPLEMENTED, isNotLetIn, statusIn } from "../temporal/grpc-status.js";
import { temporalWords } from "../temporal/temporal-words.js";

export interface RemoteStore {
  readonly temporal: Client;
  readonly namespace: string;
  /** Of the store. */
  readonly taskQueue: string;
  readonly sign?: Sign | undefined;
}

/** How long a question waits for somebody who has the store. */
const SILENCE_MS = 5_000;
const ANSWER_MS = 60_000;
/** A worker that is stopped takes questions and answers none: what only reads is asked of another one then. */
const READ_ATTEMPTS = 2;

/** Servers that have no activities without a workflow: asked once. */
const withoutActivities = new WeakSet<Client["connection"]>();

/**
 * Asks a store by activities on its task queue, or by a workflow of one step where the server has no activities of their own. Both
 * are deleted from the server when they are answered: an answer holds what runs have said and written.
 */
export function remotePages(store: RemoteStore): PageSource {
  return async (name, asked) => {
    const signed = await signedQuestion(store, name, asked);
    try {
      return parseAnswer(await ask(store, name, signed));
    } catch (error) {
      if (error instanceof NobodyAnswers) {
        return fail("E_PRECONDITION_FAILED", error.message, { nobodyAnswers: true });
      }
      const refusal = isNotLetIn(error) ? temporalWords(error) : undefined;
      if (refusal !== undefined) return fail("E_PRECONDITION_FAILED", refusal);
      if (!(error instanceof ActivityExecutionFailedError || error instanceof WorkflowFailedError))
        throw error;
      return fail(
        "E_INTERNAL",
        `The worker of the store has failed at this: ${excerpt(innermost(error), 300)}`,
      );
    }
  };
}

/** What was thrown where it went wrong. */
function innermost(error: Error): string {
  let at = error;
  while (at.cause instanceof Error) at = at.cause;
  return at.message;
}

/** Nobody who has the store has taken the question, or whoever has does not answer it. */
class NobodyAnswers extends Error {
  constructor(taskQueue: string, isTaken: boolean) {
    const queue = `the task queue "${excerpt(taskQueue)}"`;
    const sentence = isTaken
      ? `A worker of ${queue} has taken the question and does not answer it: it is stopped, or has died. Ask again once another one is there.`
      : `No worker of the store answers: nobody polls ${queue}, or whoever does has an earlier version of Interlock. On the store's machine: interlock worker`;
    super(sentence);
  }
}

async function signedQuestion(
  { sign }: RemoteStore,
  name: StoreQuestionName,
  asked: AskedPage,
): Promise<AskedPage> {
  if (sign === undefined) return asked;
  const until = new Date(Date.now() + READ_SIGNATURE_MS).toISOString();
  return { ...asked, until, signature: await sign(readStatement(name, until, asked)) };
}

async function ask(store: RemoteStore, name: StoreQuestionName, asked: AskedPage): Promise<unknown> {
  const { connection } = store.temporal;
  if (withoutActivities.has(connection)) return askByWorkflow(store, name, asked);
  try {
    return await askByActivity(store, name, asked);
  } catch (error) {
    if (statusIn(error)?.code !== UNIMPLEMENTED) throw error;
    withoutActivities.add(connection);
    return askByWorkflow(store, name, asked);
  }
}

async function askByActivity(
  { temporal, namespace, taskQueue }: RemoteStore,
  name: StoreQuestionName,
  asked: AskedPage,
): Promise<unknown> {
  const attempts = isChange(name) ? 1 : READ_ATTEMPTS;
  const activityId = `interlock-${name}-${randomUUID()}`;
  const handle = await temporal.activity.start<unknown>(name, {
    id: activityId,
    taskQueue,
    args: [asked],
    scheduleToStartTimeout: SILENCE_MS,
    startToCloseTimeout: ANSWER_MS / attempts,
    retry: { maximumAttempts: attempts },
    summary: "interlock asks the store",
  });
  try {
    return await handle.result();
  } catch (error) {
    if (!(error instanceof ActivityExecutionFailedError)) throw error;
    if (isUntaken(error.cause)) throw new NobodyAnswers(taskQueue, false);
    if (error.cause instanceof TimeoutFailure) throw new NobodyAnswers(taskQueue, true);
    throw error;
  } finally {
    await temporal.workflowService
      .deleteActivityExecution({ namespace, activityId, runId: handle.runId ?? "" })
      .catch(() => undefined); // it goes with the namespace's retention
  }
}

/** Nobody came for it, or somebody who does not know it. */
function isUntaken(cause: unknown): boolean {
  if (cause instanceof TimeoutFailure) return cause.timeoutType === "SCHEDULE_TO_START";
  return cause instanceof Error && /is not registered on this Worker/.test(cause.message);
}

/** That of the workflow, or that of its activity. */
function isTimeout(error: unknown): boolean {
  for (let at = error; at instanceof Error; at = at.cause) if (at instanceof TimeoutFailure) return true;
  return false;
}

async function askByWorkflow(
  { temporal, namespace, taskQueue }: RemoteStore,
  name: StoreQuestionName,
  asked: AskedPage,
): Promise<unknown> {
  const handle = await temporal.workflow.start(STORE_READ_WORKFLOW, {
    workflowId: `interlock-${name}-${randomUUID()}`,
    taskQueue,
    args: [name, asked],
    workflowExecutionTimeout: ANSWER_MS + SILENCE_MS,
    staticSummary: "interlock asks the store",
  });
  const silence = new AbortController();
  const timer = setTimeout(() => {
    // Its second event is scheduled with it; the third one says that somebody has taken it.
    handle.describe().then(
      ({ historyLength }) => historyLength <= 2 && silence.abort(),
      () => undefined,
    );
  }, SILENCE_MS);
  try {
    return await abortable(temporal, silence.signal, () => handle.result() as Promise<unknown>);
  } catch (error) {
    if (silence.signal.aborted) throw new NobodyAnswers(taskQueue, false);
    if (isTimeout(error)) throw new NobodyAnswers(taskQueue, true);
    throw error;
  } finally {
    clearTimeout(timer);
    const execution = { workflowId: handle.workflowId, runId: handle.firstExecutionRunId };
    await temporal.workflowService
      .deleteWorkflowExecution({ namespace, workflowExecution: execution })
      .catch(() => undefined); // it goes with the namespace's retention
  }
}
