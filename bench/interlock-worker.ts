import { DefaultLogger, Runtime } from "@temporalio/worker";
import { loadConfig } from "../src/config.js";
import { createMetrics, prometheus } from "../src/instruments/metrics.js";
import { startWorker } from "../src/worker.js";
import { serveParent } from "./child-process.js";

/** Interlock's worker as `interlock worker` starts it, in a process of its own. */
export interface InterlockWorkerSettings {
  readonly address: string;
  readonly namespace: string;
  readonly metrics?: boolean;
  /** The environment variables that Interlock reads. */
  readonly variables: Readonly<Record<string, string>>;
}

await serveParent(async (settings) => {
  const { address, namespace, variables, metrics = false } = settings as InterlockWorkerSettings; // written by the stage
  Runtime.install({
    logger: new DefaultLogger("ERROR"),
    shutdownSignals: [],
    ...(metrics ? { telemetryOptions: { metrics: { prometheus: prometheus("127.0.0.1:0") } } } : {}),
  });
  const { metricMeter: meter } = Runtime.instance();
  const instruments = metrics ? [createMetrics({ meter, models: ["scripted"] })] : [];
  const worker = await startWorker(loadConfig(variables), {
    connection: { address },
    namespace,
    instruments,
  });
  return { ready: "polling", stop: () => worker.shutdown() };
});
