import { NativeConnection, type NativeConnectionOptions, Runtime, Worker } from "@temporalio/worker";
import { createActivities } from "./activities/create-activities.js";
import type { Config } from "./config.js";
import { SEARCH_ATTRIBUTES } from "./contract/names.js";
import { planSlots, readDescriptors } from "./descriptors.js";
import { createChatModel } from "./model/chat-model.js";
import { openRehearsals } from "./rehearsals.js";
import { StartSignatures } from "./store/start-signatures.js";
import { type Store, openStore } from "./store/store.js";
import { createBundleHost } from "./tools/bundle-host.js";
import { createToolHost } from "./tools/tool-host.js";
import { workflowBundle } from "./workflow-bundle.js";

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
  const activities = createActivities({
    store,
    ...(signatures === undefined ? {} : { signatures }),
    hasSearchAttributes: onceTrue(() => hasSearchAttributes(connection, options.namespace)),
    toolHost,
    bundles: createBundleHost({ store, ...(protectedPaths === undefined ? {} : { protectedPaths }) }),
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
      activities: { ...activities },
      // A model call that is running is let end; one that takes longer is cancelled and asked again.
      shutdownGraceTime: "10 seconds",
      shutdownForceTime: "20 seconds",
      // Workflow tasks for a worker that has died wait this long before another one gets them (10 s by default).
      stickyQueueScheduleToStartTimeout: "2 seconds",
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

/** Whether runs can be searched for. False also where that cannot be known. */
async function hasSearchAttributes(connection: NativeConnection, namespace: string): Promise<boolean> {
  const { customAttributes } = await connection.operatorService
    .listSearchAttributes({ namespace })
    .catch(() => ({ customAttributes: {} }));
  const known = Object.keys(customAttributes);
  return Object.keys(SEARCH_ATTRIBUTES).every((name) => known.includes(name));
}

/** Asks until the answer is yes: attributes are added, not taken away. */
function onceTrue(ask: () => Promise<boolean>): () => Promise<boolean> {
  let known = false;
  return async () => (known ||= await ask());
}

async function runToEnd(worker: Worker, close: () => Promise<void>): Promise<void> {
  try {
    await worker.run();
  } finally {
    await close();
  }
}
