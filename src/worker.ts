import { NativeConnection, type NativeConnectionOptions, Runtime, Worker } from "@temporalio/worker";
import { HEARTBEAT_MS, createActivities } from "./activities/create-activities.js";
import { storeQuestions } from "./activities/store-questions.js";
import type { Config } from "./config.js";
import { SEARCH_ATTRIBUTES, registeredAttributes } from "./contract/names.js";
import { planSlots, readDescriptors } from "./worker/descriptors.js";
import { createChatModel } from "./model/chat-model.js";
import { openRehearsals } from "./worker/rehearsals.js";
import { StartSignatures } from "./store/start-signatures.js";
import { type Store, openStore } from "./store/store.js";
import { createBundleHost } from "./tools/bundle/bundle-host.js";
import { createToolHost } from "./tools/graph/tool-host.js";
import { workflowBundle } from "./worker/workflow-bundle.js";

export interface WorkerOptions {
  readonly connection: NativeConnectionOptions;
  readonly namespace: string;
  /** Already open, where the caller has it open. */
  readonly store?: Store;
  /** Already made, where the caller has one. */
  readonly workflowBundle?: { readonly codePath: string };
}

export interface RunningWorker {
  /** Settles when the worker has stopped, by `shutdown` or by itself. */
  readonly done: Promise<void>;
  /** Stops taking tasks, lets running ones end, and disconnects. */
  shutdown(): Promise<void>;
}

/**
 * The composition root: config → store, tools, model → activities → a worker on the store's task queue. Resolves
 * when the worker polls.
 */
export async function startWorker(config: Config, options: WorkerOptions): Promise<RunningWorker> {
  const { protectedPaths } = config.settings;
  const opened = options.store ?? (await openStore(config.storeDir, config.taskQueue));
  const store = { ...opened, roots: opened.roots.with(config.roots) };
  const toolHost = createToolHost({ store, ...(protectedPaths === undefined ? {} : { protectedPaths }) });
  const signatures = config.starts === "signed" ? await StartSignatures.open(store) : undefined;
  const rehearsals = openRehearsals(store);
  const connection = await NativeConnection.connect(options.connection);
  const place = {
    store,
    ...(protectedPaths === undefined ? {} : { protectedPaths }),
    ...(signatures === undefined ? {} : { signatures }),
  };
  const activities = createActivities({
    ...place,
    searchAttributes: untilAll(() => searchAttributesOf(connection, options.namespace)),
    toolHost,
    bundles: createBundleHost({ store, ...(protectedPaths === undefined ? {} : { protectedPaths }) }),
    longestModelTimeoutMs: config.longestModelTimeoutMs,
    model: createChatModel(),
    modelSettingsFor: async (agentId, run) =>
      run.rehearsal === undefined ? config.modelSettingsFor(agentId) : rehearsals.settingsFor(run),
  });
  const bundle = options.workflowBundle ?? (await workflowBundle());
  let worker: Worker;
  try {
    const { activities: slots, localActivities, note } = planSlots(readDescriptors());
    if (note !== undefined) Runtime.instance().logger.warn(note);
    worker = await Worker.create({
      connection,
      namespace: options.namespace,
      taskQueue: store.taskQueue,
      workflowBundle: bundle,
      activities: { ...activities, ...storeQuestions(place) },
      // A model call that is running is let end; one that takes longer is cancelled and asked again.
      shutdownGraceTime: "10 seconds",
      shutdownForceTime: "20 seconds",
      // Workflow tasks for a worker that has died wait this long before another one gets them (10 s by default).
      stickyQueueScheduleToStartTimeout: "2 seconds",
      // Temporal answers a heartbeat with what it wants cancelled. Without these, the SDK sends four fifths of none.
      maxHeartbeatThrottleInterval: HEARTBEAT_MS,
      defaultHeartbeatThrottleInterval: HEARTBEAT_MS,
      maxConcurrentActivityTaskExecutions: slots,
      maxConcurrentLocalActivityExecutions: localActivities,
    });
  } catch (error) {
    await connection.close();
    throw error;
  }
  const done = runToEnd(worker, async () => {
    await rehearsals.close();
    await connection.close();
  });
  return {
    done,
    async shutdown() {
      if (worker.getState() === "RUNNING") worker.shutdown();
      await done;
    },
  };
}

/** The search attributes that runs may set: one that the namespace lacks would end them. None where that cannot be known. */
async function searchAttributesOf(
  connection: NativeConnection,
  namespace: string,
): Promise<readonly string[]> {
  const { customAttributes } = await connection.operatorService
    .listSearchAttributes({ namespace })
    .catch(() => ({ customAttributes: {} }));
  return registeredAttributes(customAttributes);
}

/** Asks until all are there: attributes are added, not taken away. */
function untilAll(ask: () => Promise<readonly string[]>): () => Promise<readonly string[]> {
  let known: readonly string[] = [];
  return async () => {
    if (known.length < Object.keys(SEARCH_ATTRIBUTES).length) known = await ask();
    return known;
  };
}

async function runToEnd(worker: Worker, close: () => Promise<void>): Promise<void> {
  try {
    await worker.run();
  } finally {
    await close();
  }
}
