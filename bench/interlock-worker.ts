import { DefaultLogger, Runtime } from "@temporalio/worker";
import { loadConfig } from "../src/config.js";
import { startWorker } from "../src/worker.js";
import { serveParent } from "./child-process.js";

/** Interlock's worker as `interlock worker` starts it, in a process of its own. */
export interface InterlockWorkerSettings {
  readonly address: string;
  readonly namespace: string;
  /** The environment variables that Interlock reads. */
  readonly variables: Readonly<Record<string, string>>;
}

await serveParent(async (settings) => {
  const { address, namespace, variables } = settings as InterlockWorkerSettings; // written by the stage
  Runtime.install({ logger: new DefaultLogger("ERROR"), shutdownSignals: [] });
  const worker = await startWorker(loadConfig(variables), { connection: { address }, namespace });
  return { ready: "polling", stop: () => worker.shutdown() };
});
