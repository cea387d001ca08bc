import { randomUUID } from "node:crypto";
import { Client, type ConnectionOptions, type WorkflowClientInterceptor } from "@temporalio/client";
import { DEFAULT_TASK_QUEUE, SEARCH_ATTRIBUTES, registeredAttributes } from "../contract/names.js";
import { attributesOfRuns } from "../contract/sealed.js";
import { runIdIn, workflowIdOf } from "../core/run/run-id.js";
import type { BundleRunInput, Fork, GraphRunInput } from "../contract/run.js";
import type { Sign } from "../contract/signed.js";
import { defined } from "../core/defined.js";
import type { StoreReader } from "../contract/reads.js";
import { dataConverterFor } from "../seal/data-converter.js";
import type { SealKeys } from "../seal/seal-keys.js";
import type { Waiting } from "./temporal/abortable.js";
import { CHANGES, FORK_FIELDS, type ForkRun, type RetryChanges } from "./changes/asked-changes.js";
import { parseListing, requireLimit, requireRunName, requireText, requireTexts } from "./asked-for.js";
import { begunWith, refuseInPlain, succeeded } from "./begun-with.js";
import { connect } from "./temporal/connect.js";
import { isOpenStatus } from "./runs/execution-status.js";
import { InterlockError, fieldsIn, hasCode, isNotFound, knownFieldsIn } from "./temporal/interlock-error.js";
import { type Launch, begunAnew, launchRun, resuming } from "./changes/launch-run.js";
import {
  type ListedRun,
  type RunFilter,
  deleteHistories,
  knownWorkflowIds,
  listRuns,
  runsWithPrefix,
} from "./runs/list-runs.js";
import { remotePages } from "./stores/remote-pages.js";
import { storeReader } from "./stores/store-reader.js";
import {
  type OpenQuestion,
  type QuestionEvent,
  type QuestionSource,
  firstLines,
  openQuestions,
  questionEvents,
} from "./questions.js";
import { RunHandle, type RunReference } from "./run-handle.js";
import { type KnownStore, type Polling, listStores, pollingOf } from "./stores/stores.js";
import type { RunRequest } from "./runs/run-start.js";

export { InterlockError } from "./temporal/interlock-error.js";
export { RunHandle, type RunReference } from "./run-handle.js";
export type { ForkRun } from "./changes/asked-changes.js";
export type { RunQuestion } from "./runs/next-question.js";
export type { OpenQuestion, QuestionEvent } from "./questions.js";
export type { RunRequest } from "./runs/run-start.js";
export type { ListedRun, RunFilter } from "./runs/list-runs.js";
export type { KnownStore, Polling } from "./stores/stores.js";

export interface InterlockClientOptions {
  /** As for Temporal's own `Connection.connect`; absent means 127.0.0.1:7233. */
  readonly connection?: ConnectionOptions;
  readonly namespace?: string;
  /** The queue of the store that is to work on the runs. */
  readonly taskQueue?: string;
  /** Signs what is started and told, for a store that takes signed starts only: `startSigner(store)` is one. */
  readonly sign?: Sign;
  /** As for Temporal's own client: they see what is started, told and asked. */
  readonly interceptors?: readonly WorkflowClientInterceptor[];
  /** Seals and opens what Temporal keeps, as the workers do: `parseSealKeys(text)` makes them. */
  readonly sealKeys?: SealKeys;
  /** Is told when Temporal does not answer any more (false), and when it answers again (true). */
  readonly onReach?: (isReached: boolean) => void;
  /** Whether it is still the Temporal that was connected to which has the address: asked after an outage. Absent: whatever answers there is. */
  readonly isStill?: () => boolean;
}

/** What a caller does not say when it starts a run. */
type SetByClient = "runId" | "carried" | "resume" | "searchAttributes" | "signature";
type Startable<Input> = Omit<Input, SetByClient> & {
  /** A UUID; made when absent. */
  readonly runId?: string;
};

/** What starts a graph run. */
export type StartRun = Startable<GraphRunInput>;
/** What starts a bundle run. */
export type StartBundleRun = Startable<BundleRunInput>;

/** What questions are narrowed to. */
export type QuestionFilter = Omit<RunFilter, "phases">;

/** Whether questions that come later are waited for, and how long. */
export interface FollowedQuestions extends Waiting {
  readonly watch?: boolean;
}

const FOLLOWING: Readonly<Record<keyof FollowedQuestions, true>> = { watch: true, signal: true };

const MAX_QUESTIONS = 10_000;
/** How long a run is waited for that is asked for its question. */
const ANSWER_WITHIN_MS = 5_000;

const OPTIONS: Readonly<Record<keyof InterlockClientOptions, true>> = {
  connection: true,
  namespace: true,
  taskQueue: true,
  sign: true,
  interceptors: true,
  sealKeys: true,
  onReach: true,
  isStill: true,
};

const ATTRIBUTES: readonly string[] = Object.keys(SEARCH_ATTRIBUTES);

/** A typed handle on Interlock's runs. */
export class InterlockClient {
  readonly taskQueue: string;
  readonly namespace: string;
  readonly temporal: Client;
  readonly sign: Sign | undefined;
  /** Once all search attributes are there, they are not asked for again. */
  private hasAllAttributes = false;

  /** What is sealed says no names to Temporal: what lists are narrowed to is looked for in what runs say of themselves. */
  private readonly sealKeys: SealKeys | undefined;

  private constructor(temporal: Client, { taskQueue, sign, sealKeys }: InterlockClientOptions) {
    this.temporal = temporal;
    this.sign = sign;
    this.sealKeys = sealKeys;
    this.namespace = temporal.options.namespace;
    this.taskQueue = taskQueue ?? DEFAULT_TASK_QUEUE;
  }

  /** Connects to Temporal. Rejects when nothing answers there, and with `E_SCHEMA_VALIDATION` for an option that there is none of. */
  static async connect(options: InterlockClientOptions = {}): Promise<InterlockClient> {
    knownFieldsIn("what a client connects with", options, OPTIONS);
    const connection = await connect(options.connection ?? {}, options.onReach, options.isStill);
    const namespace = options.namespace ?? "default";
    const dataConverter = dataConverterFor(options.sealKeys, "client");
    const interceptors = { workflow: [...(options.interceptors ?? [])] };
    return new InterlockClient(new Client({ connection, namespace, dataConverter, interceptors }), options);
  }

  /** Reads the store whose workers poll the task queue. `storeId`: none but that one. */
  reader(storeId?: string): StoreReader {
    return storeReader(remotePages(this), defined({ storeId }));
  }

  async close(): Promise<void> {
    await this.temporal.connection.close();
  }

  /**
   * Starts a run and returns its handle. The same run id again is the same run. Throws what `validateRunInput` says:
   * `E_SCHEMA_VALIDATION` with the field, `E_WRITE_LIMIT` for more than a history may hold.
   */
  async start(request: StartRun): Promise<RunHandle> {
    const input = fieldsIn("what starts a run", request);
    return this.launch({ kind: "graph", input: { ...input, runId: input.runId ?? randomUUID() } });
  }

  /** Starts a bundle run and returns its handle. The same run id again is the same run. Throws as `start`. */
  async startBundle(request: StartBundleRun): Promise<RunHandle> {
    const input = fieldsIn("what starts a run", request);
    return this.launch({ kind: "bundle", input: { ...input, runId: input.runId ?? randomUUID() } });
  }

  /**
   * Lets a failed, cancelled or terminated run, named by its id or its workflow's, go on from its document, under the same ids
   * and with its models, unless others are named. One that has failed before it was opened begins anew. Throws `E_RUN_NOT_FOUND`
   * when Temporal does not know it, `E_PRECONDITION_FAILED` when it is open or completed, where what it was started with is to be
   * signed and nobody who can sign has started it, and for who lacks the keys that it is sealed with.
   */
  async retry(run: string | RunHandle, changes: RetryChanges = {}): Promise<RunHandle> {
    return this.retryFrom(undefined, run, changes);
  }

  /** As `retry`, of a run that was begun with `source` as its store says. @internal */
  async retryFrom(
    source: RunRequest | undefined,
    run: string | RunHandle,
    changes: RetryChanges,
  ): Promise<RunHandle> {
    const { limits: newLimits = {}, model } = knownFieldsIn("what a retry changes", changes, CHANGES);
    fieldsIn("the limits of a retry", newLimits);
    const handle = run instanceof RunHandle ? run : this.handle(run);
    const { runId } = handle;
    const status = await handle.executionStatus();
    if (isOpenStatus(status) || status === "COMPLETED") {
      const sentence = `Run ${runId} is ${status.toLowerCase()}: only a failed or cancelled run can be retried.`;
      throw new InterlockError({ code: "E_PRECONDITION_FAILED", message: sentence });
    }
    if ((await handle.address()).executionRunId !== undefined) throw succeeded(handle);
    const ofItsStore = source === undefined ? this.onQueue(await handle.taskQueue()) : this;
    const { request, isInStore } = await begunWith(handle, ofItsStore.sign, source);
    refuseInPlain(request, this.sealKeys);
    const limits = { ...request.input.limits, ...newLimits };
    // Without an id of its own a run is its first execution's: one that has not been made is begun again, with another id.
    const isNamed = request.workflowId === undefined || request.input.resume === true;
    const isMade = isInStore || isNamed || (await handle.wasOpened());
    const changed = { limits, ...defined({ model }) };
    const again = isMade ? resuming(request, changed) : begunAnew(request, changed);
    return ofItsStore.launch(again, "ALLOW_DUPLICATE_FAILED_ONLY");
  }

  /**
   * Starts a run again that Temporal has lost, from what the store knows: its document, at its node. Throws
   * `E_PRECONDITION_FAILED` when Temporal still knows it, and for who lacks the keys that it is sealed with.
   */
  async restore(request: RunRequest): Promise<RunHandle> {
    const { runId } = fieldsIn("what a run was started with", fieldsIn("a run's request", request).input);
    refuseInPlain(request, this.sealKeys);
    const { workflowId = workflowIdOf(runId) } = request;
    const status = await this.handle({ runId, workflowId })
      .executionStatus()
      .catch((error: unknown) => {
        if (hasCode(error, "E_RUN_NOT_FOUND")) return undefined;
        throw error;
      });
    if (status !== undefined) {
      const sentence = `Temporal knows run ${runId}: it is ${status.toLowerCase()}. A failed run goes on with a retry.`;
      throw new InterlockError({ code: "E_PRECONDITION_FAILED", message: sentence });
    }
    if (await this.isAnothers(workflowId)) throw succeeded({ runId, workflowId });
    return this.launch(resuming(request, {}));
  }

  /** Whether a workflow id is in use, of a run that Temporal does not know. Listings are no word on it: they are behind. */
  private async isAnothers(workflowId: string): Promise<boolean> {
    if (runIdIn(workflowId) !== undefined) return false;
    try {
      await this.temporal.workflow.getHandle(workflowId).describe();
      return true;
    } catch (error) {
      if (isNotFound(error)) return false;
      throw error;
    }
  }

  /**
   * Starts a new run that begins as another one stood at a node boundary. Throws `E_RUN_NOT_FOUND`, `E_PRECONDITION_FAILED` for a
   * bundle run, and for who lacks the keys that it is sealed with.
   */
  async fork(runId: string, options: ForkRun): Promise<RunHandle> {
    return this.forkFrom(undefined, runId, options);
  }

  /** As `fork`, of a run that was begun with `source` as its store says: Temporal may no longer know it. @internal */
  async forkFrom(source: RunRequest | undefined, runId: string, options: ForkRun): Promise<RunHandle> {
    const handle = this.handle(runId);
    const ofItsStore = source === undefined ? this.onQueue(await handle.taskQueue()) : this;
    const { request } = await begunWith(handle, ofItsStore.sign, source);
    refuseInPlain(request, this.sealKeys);
    if (request.kind === "bundle") {
      const message = "A bundle run has no node boundaries to fork from. Start it anew.";
      throw new InterlockError({ code: "E_PRECONDITION_FAILED", message });
    }
    // Of a run below another one, too, it is a run of its own: nobody waits for it.
    const { resume: _resume, carried: _carried, fork: _fork, parent: _parent, ...same } = request.input;
    const {
      fromNode,
      visit,
      set,
      allowMissing,
      projectRoot = same.projectRoot,
      model,
    } = knownFieldsIn("where a fork begins", options, FORK_FIELDS);
    const fork: Fork = {
      runId: request.input.runId,
      ...defined({ fromNode, visit, set }),
      ...(allowMissing === true ? { allowMissing } : {}),
    };
    const input = { ...same, projectRoot, fork, ...defined({ model }), runId: options.runId ?? randomUUID() };
    return ofItsStore.launch({ kind: "graph", input });
  }

  private async launch(launch: Launch, reuse?: "ALLOW_DUPLICATE_FAILED_ONLY"): Promise<RunHandle> {
    // Where the namespace lacks some, the worker looks which it has.
    const hasAll = (await this.registeredAttributes())?.length === ATTRIBUTES.length;
    const searchAttributes = hasAll && this.sealKeys === undefined;
    return new RunHandle(this, await launchRun(this, { ...launch, searchAttributes, reuse }));
  }

  /**
   * A handle on a run that exists, by its id or by its workflow's, which is the newest under it each time; by both, where both are
   * known. Throws `E_SCHEMA_VALIDATION` for what names none.
   */
  handle(id: string | RunReference): RunHandle {
    requireRunName(id);
    return new RunHandle(this, id);
  }

  /** The same connection, with another store's queue and nothing to sign with: a secret belongs to one store. */
  onQueue(taskQueue: string): InterlockClient {
    requireText("a task queue", taskQueue);
    return taskQueue === this.taskQueue
      ? this
      : new InterlockClient(this.temporal, { taskQueue, ...defined({ sealKeys: this.sealKeys }) });
  }

  /** The newest runs of all stores that fit, newest first, at most `limit`. Needs no worker. Throws `E_SCHEMA_VALIDATION`, and what Temporal says of a query. */
  async runs(filter: RunFilter = {}, limit = 50): Promise<readonly ListedRun[]> {
    const listing = parseListing(filter, limit);
    const searchable = async (): Promise<readonly string[]> =>
      attributesOfRuns((await this.registeredAttributes()) ?? [], this.sealKeys !== undefined);
    return listRuns(this.temporal, listing.filter, listing.limit, searchable);
  }

  /** Has Temporal delete what it has of a run that is over, in all its executions that are closed. */
  async forget(run: RunReference): Promise<void> {
    await deleteHistories(this.temporal, run);
  }

  /**
   * Every question that waits, in all stores, the oldest first. With `watch` it goes on with those that come, until the signal ends
   * it. Answer with `client.handle(question).answer({ nodeId, text, question: id })`. Where no worker says the whole text within
   * five seconds it is the first line (`isWhole`).
   */
  async *questions(
    filter: QuestionFilter = {},
    following: FollowedQuestions = {},
  ): AsyncGenerator<OpenQuestion, void> {
    const { watch = false, signal } = knownFieldsIn("how questions are followed", following, FOLLOWING);
    if (!watch) {
      yield* await this.openQuestions(filter);
      return;
    }
    for await (const { kind, question } of this.questionEvents(filter, signal)) {
      if (kind === "asked") yield question;
    }
  }

  /** What waits, the oldest first, each with its whole text where a worker says it. */
  async openQuestions(filter: QuestionFilter = {}): Promise<readonly OpenQuestion[]> {
    return openQuestions(this.questionSource(filter));
  }

  /** What waits, the oldest first, each with the first line of its text: no run is asked, so it needs no worker. */
  async questionLines(filter: QuestionFilter = {}): Promise<readonly OpenQuestion[]> {
    return firstLines(this.questionSource(filter));
  }

  /** As `questions` with `watch`, and what becomes of them. */
  questionEvents(filter: QuestionFilter = {}, signal?: AbortSignal): AsyncGenerator<QuestionEvent, void> {
    return questionEvents(this.questionSource(filter), signal);
  }

  private questionSource(filter: QuestionFilter): QuestionSource {
    return {
      list: () => this.runs({ ...filter, phases: ["waiting-user"] }, MAX_QUESTIONS),
      state: ({ runId, workflowId }) =>
        this.temporal.withDeadline(Date.now() + ANSWER_WITHIN_MS, () =>
          this.handle({ runId, workflowId }).state(),
        ),
      isPolled: async (taskQueue) => (await this.polling(taskQueue)).polled,
    };
  }

  /** The runs whose id or workflow id begins so, newest first, at most `limit`. */
  async runsBeginningWith(prefix: string, limit: number): Promise<readonly ListedRun[]> {
    requireText("what ids begin with", prefix);
    requireLimit(limit);
    return runsWithPrefix(this.temporal, prefix, limit);
  }

  /** Which of these workflows Temporal still has. */
  async knowsOf(workflowIds: readonly string[]): Promise<ReadonlySet<string>> {
    requireTexts("workflow ids", workflowIds);
    return knownWorkflowIds(this.temporal, workflowIds);
  }

  /** The stores that workers have made known. What they say of themselves is text from outside. */
  async stores(): Promise<readonly KnownStore[]> {
    return listStores(this.temporal);
  }

  /** Whether workers poll a store's queue. `mayLive` says of a worker's identity whether it may be there still. */
  async polling(taskQueue: string, mayLive?: (identity: string) => boolean): Promise<Polling> {
    requireText("a task queue", taskQueue);
    return pollingOf(this.temporal, taskQueue, mayLive);
  }

  /** Whether workers poll the client's own queue. `mayLive` is that of `polling`. */
  async hasWorker(mayLive?: (identity: string) => boolean): Promise<boolean> {
    return (await this.polling(this.taskQueue, mayLive)).polled;
  }

  /** The search attributes of contracts §14 that the namespace lacks. Empty where that cannot be known. */
  async missingSearchAttributes(): Promise<readonly string[]> {
    const registered = await this.registeredAttributes();
    return registered === undefined ? [] : ATTRIBUTES.filter((name) => !registered.includes(name));
  }

  /** Those of contracts §14 that the namespace has as keywords; undefined where that cannot be known now. */
  private async registeredAttributes(): Promise<readonly string[] | undefined> {
    if (this.hasAllAttributes) return ATTRIBUTES;
    const { namespace } = this;
    const response = await this.temporal.connection.operatorService
      .listSearchAttributes({ namespace })
      .catch(() => undefined);
    if (response === undefined) return undefined;
    const registered = registeredAttributes(response.customAttributes);
    this.hasAllAttributes = registered.length === ATTRIBUTES.length;
    return registered;
  }
}
