import { type NativeConnection, type NativeConnectionOptions, Runtime, Worker } from "@temporalio/worker";
import { HEARTBEAT_MS, createActivities } from "./activities/create-activities.js";
import { storeQuestions } from "./activities/store-questions.js";
import { SILENT, temporalWords, unreadyWords, workerTlsTrouble } from "./client/temporal/temporal-words.js";
import { writeRefusal } from "./client/temporal/write-refusal.js";
import { type Config, ConfigError, loadConfig } from "./config.js";
import { SEARCH_ATTRIBUTES, registeredAttributes } from "./contract/names.js";
import { attributesOfRuns } from "./contract/sealed.js";
import { defined } from "./core/defined.js";
import { wordsOf } from "./core/system-code.js";
import type { RunEvent } from "./core/run/run-event.js";
import { type Announcement, announceStore } from "./worker/announce-store.js";
import { type WorkerCapacity, readMachine, workerCapacity } from "./worker/capacity.js";
import type { ChatModel, ModelSettings } from "./model/chat.js";
import { createChatModel } from "./model/chat-model.js";
import type { Notifier } from "./notify/notifier.js";
import { heldToInterface } from "./model/own-model.js";
import { inTime } from "./within.js";
import { besideRehearsals, openRehearsals } from "./worker/rehearsals.js";
import { dataConverterFor } from "./seal/data-converter.js";
import { whyLost } from "./store/lost-store.js";
import { StartSignatures } from "./store/start-signatures.js";
import { type Store, openStore } from "./store/store.js";
import { createBundleHost } from "./tools/bundle/bundle-host.js";
import {
  type DefinedTool,
  type ToolDefinition,
  type ToolInput,
  defineTool,
} from "./tools/external/define-tool.js";
import { createToolHost } from "./tools/graph/tool-host.js";
import { openExternalTools } from "./worker/external-tools.js";
import { type Instrument, watched, watchedCalls } from "./worker/instrument.js";
import { connectNatively } from "./worker/native-connection.js";
import { certificateOver } from "./worker/own-certificate.js";
import { renewKey } from "./worker/renewed-key.js";
import { type Reasons, markAsked, runToEnd } from "./worker/run-to-end.js";
import { PATIENT_VM } from "./worker/patient-vm.js";
import { workerIdentity } from "./worker/worker-identity.js";
import { workflowBundle } from "./worker/workflow-bundle.js";

// What a program needs that runs a worker of its own: this file is `interlock-temporal/worker`.
export { type Config, ConfigError, type Instrument, loadConfig };
export { type DefinedTool, type ToolDefinition, type ToolInput, defineTool };
export type { WatchCall, WatchedCall } from "./core/tools/watched-call.js";
export type { ToolCallScope } from "./tools/external/tool-source.js";
export type { WorkerCapacity } from "./worker/capacity.js";

/** Where a worker works, and what it works with. */
export interface WorkerOptions {
  /** As for `NativeConnection.connect` of `@temporalio/worker`; `{ address: "127.0.0.1:7233" }` is one. */
  readonly connection: NativeConnectionOptions;
  /** Temporal's namespace, `default` in most places. */
  readonly namespace: string;
  /** Already open, where the caller has it open; absent: that of the configuration is opened. */
  readonly store?: Store;
  /** Already made, where the caller has one; absent: the one that comes with the package. */
  readonly workflowBundle?: { readonly codePath: string };
  /** What answers for the agents; absent: `createChatModel()`, any OpenAI-compatible endpoint. Rehearsals keep their script. */
  readonly model?: ChatModel;
  /**
   * The settings of an agent's requests, by the agent's id; undefined where no model is configured for it, which fails the run
   * with `LLM_AUTH_FAILED`. Absent: those of the configuration, and `{ model: "custom" }` with the longest configured wait
   * where it names none and `model` is given.
   */
  readonly modelSettingsFor?: (agentId: string) => ModelSettings | undefined;
  /** Tools that agents have beside the engine's own: what `defineTool` returns. */
  readonly tools?: readonly DefinedTool[];
  /** Is told of each event that this worker writes into a run's audit log, once it is there. What it throws is not heard. */
  readonly onEvent?: (event: RunEvent) => void;
  /** What watches this worker; absent: nothing does. */
  readonly instruments?: readonly Instrument[];
}

/** A worker that polls. */
export interface RunningWorker {
  /**
   * Settles when the worker has stopped, by `shutdown` or by itself; rejects with what has stopped it, and where work of it was cut
   * off, 20 seconds after `shutdown`, with an error whose cause says how.
   */
  readonly done: Promise<void>;
  /** How much it does at once. */
  readonly capacity: WorkerCapacity;
  /** Why it takes no tasks now, in a sentence; undefined while it polls and Temporal answers. */
  whyNotReady(): Promise<string | undefined>;
  /** Stops taking tasks, lets running ones end, and disconnects. */
  shutdown(): Promise<void>;
}

/**
 * The composition root: config → store, tools, model → activities → a worker on the store's task queue. Resolves
 * when the worker polls. Rejects where Temporal does not answer or gives it no work, the store is damaged or cannot be written, or the process may
 * open too few files; nothing is left open then.
 */
export async function startWorker(config: Config, options: WorkerOptions): Promise<RunningWorker> {
  const { instruments = [] } = options;
  const { mcpServers = {} } = config.settings;
  const capacity = capacityOf(config);
  const opened = options.store ?? (await openStore(config.storeDir, config.taskQueue));
  const store = { ...opened, roots: opened.roots.with(config.roots) };
  const external = await openExternalTools(store.dir, mcpServers, config.variable, options.tools ?? []);
  const toolHost = createToolHost({ store });
  const signatures = config.starts === "signed" ? await StartSignatures.open(store) : undefined;
  const rehearsals = openRehearsals(store);
  const settingsFor = options.modelSettingsFor ?? settingsOf(config, options);
  // A program's own model answers whatever a run has chosen elsewhere, and nothing is chosen for it.
  const isOwn = options.model !== undefined || options.modelSettingsFor !== undefined;
  const { connection, disconnect } = await connect(config, options);
  const seals = config.sealKeys?.writer !== undefined;
  const namespaceHas = untilAll(() => searchAttributesOf(connection, options.namespace));
  const place = { store, ...defined({ signatures }) };
  let worker: Worker;
  try {
    const notifier = await notifierOf(config, connection, options.namespace, store);
    const activities = createActivities({
      ...place,
      searchAttributes: async () => {
        const registered = await namespaceHas();
        return registered && attributesOfRuns(registered, seals);
      },
      newestExecution: (workflowId) => newestExecutionOf(connection, options.namespace, workflowId),
      seals,
      toolHost,
      ...defined({ external, watchCall: watchedCalls(instruments) }),
      ...(notifier === undefined ? {} : { announce: notifier.announce }),
      bundles: createBundleHost({ store }),
      longestModelTimeoutMs: config.longestModelTimeoutMs,
      model: watched(modelOf(options), instruments),
      ...(isOwn ? {} : { models: config.models }),
      async modelSettingsFor(agentId, run, model) {
        if (run.rehearsal !== undefined) return rehearsals.settingsFor(run);
        return isOwn || model === undefined ? settingsFor(agentId) : config.models.reachRef(model, agentId);
      },
    });
    worker = await temporalWorker(config, options, {
      store,
      capacity,
      connection,
      activities: { ...activities, ...storeQuestions(place), ...notifier?.activities },
    });
  } catch (error) {
    await external?.close();
    await disconnect();
    throw error;
  }
  const announcement = announceStore(
    { connection, namespace: options.namespace, dataConverter: dataConverterFor(config.sealKeys, "client") },
    store,
  );
  const unobserve = options.onEvent && store.runs.observe(options.onEvent);
  const unwatch = instruments.map(({ watchStore }) => watchStore?.(store));
  const reasons = reasonsOf(connection, options);
  const done = runToEnd(worker, reasons, async () => {
    unobserve?.();
    for (const stop of unwatch) stop?.();
    await announcement.stop();
    await rehearsals.close();
    await external?.close();
    await disconnect();
  });
  return {
    done,
    capacity,
    whyNotReady: () => whyNotReady(worker, store, reasons),
    async shutdown() {
      if (worker.getState() === "RUNNING") await askToEnd(worker, announcement);
      await done;
    },
  };
}

async function askToEnd(worker: Worker, announcement: Announcement): Promise<void> {
  markAsked(worker);
  await announcement.leave();
  if (worker.getState() === "RUNNING") worker.shutdown();
}

function capacityOf({ workerSize }: Config): WorkerCapacity {
  const capacity = workerCapacity(readMachine(), workerSize);
  if (capacity.note !== undefined) Runtime.instance().logger.warn(capacity.note);
  return capacity;
}

/** Temporal's own worker on the store's task queue. Rejects as `startWorker`. */
async function temporalWorker(
  config: Config,
  options: WorkerOptions,
  {
    store,
    connection,
    activities,
    capacity,
  }: { store: Store; connection: NativeConnection; activities: object; capacity: WorkerCapacity },
): Promise<Worker> {
  const { instruments = [] } = options;
  const workflows = instruments.find((instrument) => instrument.workflows)?.workflows;
  return Worker.create({
    connection,
    namespace: options.namespace,
    taskQueue: store.taskQueue,
    identity: workerIdentity(),
    workflowBundle: options.workflowBundle ?? (await (workflows?.bundle ?? workflowBundle)()),
    ...(workflows === undefined ? {} : { sinks: workflows.sinks }),
    interceptors: { activity: instruments.flatMap(({ activities: seen = [] }) => seen) },
    dataConverter: dataConverterFor(config.sealKeys, "worker"),
    activities,
    // A model call that is running is let end; one that takes longer is cancelled and asked again.
    shutdownGraceTime: "10 seconds",
    shutdownForceTime: "20 seconds",
    ...PATIENT_VM,
    // Workflow tasks for a worker that has died wait this long before another one gets them (10 s by default).
    stickyQueueScheduleToStartTimeout: "2 seconds",
    // Temporal answers a heartbeat with what it wants cancelled. Without these, the SDK sends four fifths of none.
    maxHeartbeatThrottleInterval: HEARTBEAT_MS,
    defaultHeartbeatThrottleInterval: HEARTBEAT_MS,
    maxConcurrentActivityTaskExecutions: capacity.activities,
    maxConcurrentLocalActivityExecutions: capacity.localActivities,
    maxConcurrentWorkflowTaskExecutions: capacity.workflowTasks,
    maxCachedWorkflows: capacity.cachedRuns,
    maxConcurrentWorkflowTaskPolls: capacity.pollers,
    // All that a task of a run by nodes hands out begins with it, where slots are free: of more than three, each would be polled for by itself.
    maxEagerActivityReservationsPerWorkflowTask: 20,
    maxConcurrentActivityTaskPolls: Math.min(capacity.pollers, capacity.activities),
  });
}

const READY_MS = 3_000;

/** What Temporal says, in less time than an activity has that waits for it: the connection goes on asking past its deadline. */
function answered<T>(asked: Promise<T>): Promise<T> {
  return inTime(READY_MS, asked, () => new Error(SILENT));
}

async function whyNotReady(worker: Worker, store: Store, { why }: Reasons): Promise<string | undefined> {
  const state = worker.getState();
  if (state !== "RUNNING") return `The worker is ${state.toLowerCase()}.`;
  return (await whyLost(store)) ?? why();
}

function reasonsOf(connection: NativeConnection, { connection: how, namespace }: WorkerOptions): Reasons {
  const isOver = certificateOver(how);
  return {
    isOver,
    async why() {
      const refusal = await whyRefused(connection, namespace);
      if (refusal === undefined) return undefined;
      return isOver() ?? (refusal === SILENT ? await whyUnconnected(how) : undefined) ?? refusal;
    },
  };
}

/** Why Temporal says nothing of the namespace, or gives out no work there; undefined where it does. */
async function whyRefused(connection: NativeConnection, namespace: string): Promise<string | undefined> {
  try {
    const described = connection.workflowService.describeNamespace({ namespace });
    const refused = await answered(described.then(() => writeRefusal(connection, namespace)));
    return refused === undefined ? undefined : temporalWords(refused);
  } catch (error) {
    return unreadyWords(error) ?? SILENT;
  }
}

/** Which certificate keeps a worker from a new connection: its core takes that for an outage. Undefined where none does. */
async function whyUnconnected(how: NativeConnectionOptions): Promise<string | undefined> {
  if (how.tls === undefined || how.tls === null || how.tls === false) return undefined;
  try {
    await answered(connectNatively(how).then((made) => made.close()));
    return undefined;
  } catch (error) {
    const trouble = workerTlsTrouble(wordsOf(error));
    return trouble && `${trouble.found}. ${trouble.remedy}`;
  }
}

/** What tells others of runs, where the settings name any. */
async function notifierOf(
  { webhooks, webUi, sealKeys }: Config,
  connection: NativeConnection,
  namespace: string,
  store: Store,
): Promise<Notifier | undefined> {
  if (webhooks.length === 0) return undefined;
  const { openNotifier } = await import("./notify/notifier.js");
  const dataConverter = dataConverterFor(sealKeys, "client");
  return openNotifier({ store, webhooks, connection, namespace, dataConverter, webUi });
}

function modelOf({ model }: WorkerOptions): ChatModel {
  const note = (sentence: string): void => Runtime.instance().logger.info(sentence);
  const speaksHttp = createChatModel({ note });
  return model === undefined ? speaksHttp : besideRehearsals(heldToInterface(model), speaksHttp);
}

/** A model of the program's own needs no endpoint and no key to be configured. */
function settingsOf(config: Config, { model }: WorkerOptions) {
  return (agentId: string): ModelSettings | undefined =>
    config.modelSettingsFor(agentId) ??
    (model && { model: "custom", stream: false, timeoutMs: config.longestModelTimeoutMs });
}

/** Rejects where Temporal does not say in time: who asks holds a lock. */
async function newestExecutionOf(
  connection: NativeConnection,
  namespace: string,
  workflowId: string,
): Promise<string | undefined> {
  const { workflowExecutionInfo } = await answered(
    connection.workflowService.describeWorkflowExecution({ namespace, execution: { workflowId } }),
  );
  return workflowExecutionInfo?.execution?.runId ?? undefined;
}

/** The search attributes that runs may set: one that the namespace lacks would end them. Undefined where that cannot be known. */
async function searchAttributesOf(
  connection: NativeConnection,
  namespace: string,
): Promise<readonly string[] | undefined> {
  try {
    const { customAttributes } = await answered(
      connection.operatorService.listSearchAttributes({ namespace }),
    );
    return registeredAttributes(customAttributes);
  } catch {
    return undefined;
  }
}

/** Asks until all are there: attributes are added, not taken away. */
function untilAll<T extends readonly string[] | undefined>(
  ask: () => Promise<T>,
): () => Promise<T | undefined> {
  let known: T | undefined;
  return async () => {
    if ((known?.length ?? 0) < Object.keys(SEARCH_ATTRIBUTES).length) known = (await ask()) ?? known;
    return known;
  };
}

/** A connection that shows the key that its file has now. Throws what Temporal says where it gives no work out on it. */
async function connect(config: Config, { connection: how, namespace }: WorkerOptions) {
  // A store's memo says which projects it has, 100 at most: the SDK would warn of 2 KB each time it is said.
  const payloadLimits = { memoWarnSize: 0 };
  const connection = await connectNatively({ payloadLimits, ...how });
  const refusal = await writeRefusal(connection, namespace);
  if (refusal !== undefined) {
    await connection.close();
    throw refusal; // it would poll for a minute, be refused and say that it does
  }
  const stopRenewing = renewKey(connection, how.apiKey, config);
  const disconnect = (): Promise<void> => {
    stopRenewing();
    return connection.close();
  };
  return { connection, disconnect };
}
