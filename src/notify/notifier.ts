import { basename } from "node:path";
import { ApplicationFailure, Context, log } from "@temporalio/activity";
import {
  Client,
  type ClientOptions,
  type ConnectionLike,
  WorkflowExecutionAlreadyStartedError,
  isGrpcServiceError,
} from "@temporalio/client";
import { NamespaceNotFoundError, WorkflowNotFoundError } from "@temporalio/common";
import { WORKFLOW_TASK_TIMEOUT, WRONG_STORE_FAILURE } from "../contract/names.js";
import {
  LONGEST_DELIVERY_MS,
  NOTICE_ACTIVITY,
  NOTICE_WORKFLOW,
  type NoticeRef,
  noticeIdOf,
  parseNoticeRef,
} from "../contract/notice.js";
import { webUrlOf } from "../contract/web-url.js";
import { defined } from "../core/defined.js";
import { failpoint } from "../core/failpoint.js";
import { type Notice, type PhaseChange, commandOf, eventOf, toNotice } from "../core/notify/notice.js";
import { noticeLine, noticeText } from "../core/notify/notice-texts.js";
import { type Webhook, wants } from "../core/notify/webhooks.js";
import { beyondBackoff } from "../core/retry-delay.js";
import { excerpt } from "../core/text.js";
import type { Question } from "../core/run/question.js";
import type { RunRef } from "../core/run/run-ref.js";
import { inTime } from "../within.js";
import { whyLost } from "../store/lost-store.js";
import type { Store } from "../store/store.js";
import { sendMessage } from "./send-message.js";
import { type Send, sparingPlaces } from "./spare-places.js";

/** A change of a run that somebody may want to know of. */
export interface Told extends PhaseChange {
  readonly run: RunRef;
  readonly nodeId: string;
  readonly question?: Question;
  /** That question's id. */
  readonly asked?: string;
}

export interface NotifierDeps {
  readonly store: Store;
  readonly webhooks: readonly Webhook[];
  readonly connection: ConnectionLike;
  readonly namespace: string;
  /** Absent: Temporal's own. */
  readonly dataConverter?: NonNullable<ClientOptions["dataConverter"]>;
  /** Base URL of the Web UI, for links. */
  readonly webUi: string | undefined;
}

export interface Notifier {
  /**
   * Writes down what each webhook is to be told, and begins its delivery: twice is once. Should Temporal or the disk not take it, it
   * rejects, and the activity that it is called in is tried again. What is refused for good, or still at the last attempt, is lost: the
   * run goes on, and the worker's log says so.
   */
  readonly announce: (told: Told) => Promise<void>;
  readonly activities: Readonly<
    Record<typeof NOTICE_ACTIVITY, (asked: unknown) => Promise<{ found: string }>>
  >;
}

/** The deliveries of a notice have to begin within this, together: the activity that they are begun in has six seconds in all. */
const START_MS = 3_000;
const MAX_TOLD_NAME_CHARS = 200;

/** What tells others of runs: the worker has one where its settings name webhooks. */
export function openNotifier(deps: NotifierDeps): Notifier {
  const { connection, namespace } = deps;
  const client = new Client({ connection, namespace, ...defined({ dataConverter: deps.dataConverter }) });
  const send = sparingPlaces(sendMessage);
  return {
    announce: (told) => announceTo(deps, client, told),
    activities: { [NOTICE_ACTIVITY]: (asked) => deliver(deps, send, asked) },
  };
}

async function announceTo(deps: NotifierDeps, client: Client, told: Told): Promise<void> {
  const begun = performance.now();
  const notice = await describe(deps, told);
  if (notice === undefined) return;
  const { change, run } = told;
  const { storeId, projectId, runId } = run;
  const kept: NoticeRef[] = [];
  for (const { name: webhook } of deps.webhooks.filter((each) => wants(each, notice.data))) {
    await unlessLost(webhook, async () => {
      const { notices } = await filesOf(deps.store, { projectId, runId });
      await notices.keep(change, webhook, notice);
      failpoint("notice.kept");
      kept.push({ storeId, projectId, runId, change, webhook });
    });
  }
  const left = begun + START_MS - performance.now();
  // At once: one after the other, those behind a Temporal that is slow or far away would have no time left, in no attempt.
  const starts = kept.map((ref) =>
    unlessLost(ref.webhook, async () => {
      await inTime(left, begin(client, deps.store, ref, notice), late);
      failpoint("notice.started");
    }),
  );
  const failed = (await Promise.allSettled(starts)).find((start) => start.status === "rejected");
  if (failed !== undefined) throw failed.reason;
}

function late(): Error {
  return new Error("Temporal has not taken the notice in time.");
}

/** Rejects where another attempt may help, and there is one. */
async function unlessLost(webhook: string, announcing: () => Promise<void>): Promise<void> {
  try {
    await announcing();
  } catch (error) {
    const { attempt, retryPolicy } = Context.current().info;
    const isLast = attempt >= (retryPolicy?.maximumAttempts ?? 1);
    if (!isLast && !isFinal(error)) throw error;
    log.warn("A notice of the run could not be handed to Temporal, and is not sent.", { webhook, error });
  }
}

/** INVALID_ARGUMENT, NOT_FOUND, PERMISSION_DENIED, FAILED_PRECONDITION, UNIMPLEMENTED: Temporal will say so the next time as well. */
const FINAL_CODES: readonly number[] = [3, 5, 7, 9, 12];

function isFinal(error: unknown): boolean {
  if (error instanceof ApplicationFailure) return error.nonRetryable === true;
  // What the client makes of NOT_FOUND has no code any more.
  if (error instanceof NamespaceNotFoundError || error instanceof WorkflowNotFoundError) return true;
  const cause = error instanceof Error ? error.cause : undefined;
  return [error, cause].some((each) => isGrpcServiceError(each) && FINAL_CODES.includes(each.code));
}

/** What is said of the run; undefined where nobody needs to be told. */
async function describe({ store, namespace, webUi }: NotifierDeps, told: Told): Promise<Notice | undefined> {
  const event = eventOf(told);
  if (event === undefined) return undefined;
  const { run, change, nodeId, question: asked, asked: id, fault } = told;
  const root = await store.runs.projectRoot(run.projectId);
  const execution = Context.current().info.workflowExecution;
  const { workflowId = "", runId: executionRunId = "" } = execution ?? {};
  const question = asked && { ...defined({ id, code: asked.code }), text: noticeText(asked.text) };
  const data = {
    event,
    runId: run.runId,
    workflowId,
    change,
    phase: told.phase,
    package: excerpt(run.packageId, MAX_TOLD_NAME_CHARS),
    workflow: excerpt(run.workflowRef, MAX_TOLD_NAME_CHARS),
    projectId: run.projectId,
    project: root.ok ? excerpt(basename(root.value), MAX_TOLD_NAME_CHARS) : "",
    node: excerpt(nodeId, MAX_TOLD_NAME_CHARS),
    ...defined({ question }),
    ...(fault === undefined ? {} : { failure: { code: fault.code, message: noticeLine(fault.message) } }),
    ...(run.rehearsal === undefined ? {} : { rehearsal: true }),
    ...defined({ webUrl: webUrlOf(webUi, namespace, workflowId, executionRunId) ?? undefined }),
  };
  return toNotice({ ...data, command: commandOf(data) }, new Date());
}

async function begin(client: Client, store: Store, ref: NoticeRef, notice: Notice): Promise<void> {
  const { event, runId } = notice.data;
  const starting = client.workflow.start(NOTICE_WORKFLOW, {
    workflowId: noticeIdOf(ref),
    taskQueue: store.taskQueue,
    args: [ref],
    workflowIdReusePolicy: "REJECT_DUPLICATE",
    workflowExecutionTimeout: LONGEST_DELIVERY_MS,
    workflowTaskTimeout: WORKFLOW_TASK_TIMEOUT,
    staticSummary: `${event} to ${ref.webhook}`,
    staticDetails: `Tells the webhook \`${ref.webhook}\` of run \`${runId}\`.`,
  });
  await starting.catch((error: unknown) => {
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
  });
}

async function deliver(
  { store, webhooks }: NotifierDeps,
  send: Send,
  asked: unknown,
): Promise<{ found: string }> {
  const ref = parseNoticeRef(asked);
  if (ref === undefined)
    throw ApplicationFailure.nonRetryable("This names no notice.", "E_SCHEMA_VALIDATION");
  if (ref.storeId !== store.storeId) {
    const message = `This worker has store ${store.storeId}, but the notice lies in store ${ref.storeId}.`;
    throw ApplicationFailure.create({ type: WRONG_STORE_FAILURE, message });
  }
  const lost = await whyLost(store);
  if (lost !== undefined) throw ApplicationFailure.create({ type: WRONG_STORE_FAILURE, message: lost });
  const { notices } = await filesOf(store, ref);
  const notice = await notices.read(ref.change, ref.webhook);
  if (notice === undefined) return { found: "There is nothing to tell any more." };
  const webhook = webhooks.find(({ name }) => name === ref.webhook);
  if (webhook === undefined) {
    throw notSent(`the settings of this worker name no webhook ${ref.webhook}`, { retryable: true });
  }
  const delivery = await send(webhook, noticeIdOf(ref), notice);
  const where = "problem" in webhook.target ? ", where this worker runs" : "";
  if (!delivery.ok) throw notSent(`${delivery.found}${where}`, delivery);
  failpoint("notice.sent");
  notices.remove(ref.change, ref.webhook);
  return { found: delivery.found };
}

function notSent(
  found: string,
  { retryable, retryAfterMs }: { readonly retryable: boolean; readonly retryAfterMs?: number | undefined },
): ApplicationFailure {
  return ApplicationFailure.create({
    type: "NoticeNotTaken",
    message: `Not delivered: ${found}.`,
    nonRetryable: !retryable,
    // Receivers are down at times: no error of the worker's.
    category: "BENIGN",
    ...defined({ nextRetryDelay: beyondBackoff(retryAfterMs, Context.current().info) }),
  });
}

async function filesOf(
  store: Store,
  { projectId, runId }: { readonly projectId: string; readonly runId: string },
) {
  const files = await store.runs.openFiles(projectId, runId);
  if (files.ok) return files.value;
  throw ApplicationFailure.nonRetryable(files.error.message, files.error.code);
}
