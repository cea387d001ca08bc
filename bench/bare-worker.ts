import { fileURLToPath } from "node:url";
import { DefaultLogger, NativeConnection, Runtime, Worker, bundleWorkflowCode } from "@temporalio/worker";
import { serveParent } from "./child-process.js";

/** What there is to compare with: a worker of the same kind whose activities do nothing. */
export interface BareWorkerSettings {
  readonly address: string;
  readonly namespace: string;
  readonly taskQueue: string;
}

export interface BareActivities {
  nothing(): Promise<void>;
}

const activities: BareActivities = { nothing: () => Promise.resolve() };

await serveParent(async (settings) => {
  const { address, namespace, taskQueue } = settings as BareWorkerSettings; // written by the stage
  const logger = new DefaultLogger("ERROR");
  Runtime.install({ logger, shutdownSignals: [] });
  const connection = await NativeConnection.connect({ address });
  const worker = await Worker.create({
    connection,
    namespace,
    taskQueue,
    workflowBundle: await bundleWorkflowCode({
      workflowsPath: fileURLToPath(new URL("./bare-workflow.js", import.meta.url)),
      logger,
    }),
    activities: { ...activities },
    maxConcurrentActivityTaskExecutions: 64,
    maxConcurrentLocalActivityExecutions: 64,
  });
  const done = worker.run();
  return {
    ready: "polling",
    async stop() {
      worker.shutdown();
      await done;
      await connection.close();
    },
  };
});
