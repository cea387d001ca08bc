import { NativeConnection, type NativeConnectionOptions, Worker } from "@temporalio/worker";
import { HEARTBEAT_MS, createActivities } from "./activities/create-activities.js";
import type { Config } from "./config.js";
import { createChatModel } from "./model/chat-model.js";
import { openRehearsals } from "./rehearsals.js";
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
  const store = options.store ?? (await openStore(config.storeDir, config.taskQueue));
  const { protectedPaths } = config.settings;
  const toolHost = createToolHost({ store, ...(protectedPaths === undefined ? {} : { protectedPaths }) });
  const rehearsals = openRehearsals(store);
  const activities = createActivities({
    store,
    toolHost,
    bundles: createBundleHost({ store }),
    longestModelTimeoutMs: config.longestModelTimeoutMs,
    model: createChatModel(),
    modelSettingsFor: async (agentId, run) =>
      run.rehearsal === undefined ? config.modelSettingsFor(agentId) : rehearsals.settingsFor(run),
  });
  const connection = await NativeConnection.connect(options.connection);
  let worker: Worker;
  try {
    worker = await Worker.create({
      connection,
      namespace: options.namespace,
      taskQueue: store.taskQueue,
      workflowBundle: options.workflowBundle ?? (await workflowBundle()),
      activities: { ...activities },
      // A model call that is running is let end; one that takes longer is cancelled and asked again.
      shutdownGraceTime: "10 seconds",
      shutdownForceTime: "20 seconds",
      // Workflow tasks for a worker that has died wait this long before another one gets them (10 s by default).
      stickyQueueScheduleToStartTimeout: "2 seconds",
      // Temporal answers a heartbeat with what it wants cancelled. Without these, the SDK sends four fifths of none.
      maxHeartbeatThrottleInterval: HEARTBEAT_MS,
      defaultHeartbeatThrottleInterval: HEARTBEAT_MS,
      maxConcurrentActivityTaskExecutions: 64,
      maxConcurrentLocalActivityExecutions: 64,
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

async function runToEnd(worker: Worker, close: () => Promise<void>): Promise<void> {
  try {
    await worker.run();
  } finally {
    await close();
  }
}
