import { writeFileSync } from "node:fs";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { DefaultLogger, Runtime } from "@temporalio/worker";
import { loadConfig } from "../src/config.js";
import { createMetrics, prometheus } from "../src/instruments/metrics.js";
import { startWorker } from "../src/worker.js";
import { keepHeapsLean } from "../src/worker/lean-heap.js";
import { serveParent } from "./child-process.js";

/** Interlock's worker as `interlock worker` starts it, in a process of its own. */
export interface InterlockWorkerSettings {
  readonly address: string;
  readonly namespace: string;
  /** Where it serves metrics, as `127.0.0.1:9464`; absent: nowhere. */
  readonly metrics?: string | undefined;
  /** Where the delays of its event loop are written down each second, as JSON. */
  readonly loopDelays?: string;
  /** The environment variables that Interlock reads. */
  readonly variables: Readonly<Record<string, string>>;
}

await serveParent(async (settings) => {
  const { address, namespace, variables, metrics, loopDelays } = settings as InterlockWorkerSettings; // written by the stage
  keepHeapsLean();
  Runtime.install({
    logger: new DefaultLogger("ERROR"),
    shutdownSignals: [],
    ...(metrics === undefined ? {} : { telemetryOptions: { metrics: { prometheus: prometheus(metrics) } } }),
  });
  const { metricMeter: meter } = Runtime.instance();
  const instruments = metrics === undefined ? [] : [createMetrics({ meter, models: ["scripted"] })];
  const worker = await startWorker(loadConfig(variables), {
    connection: { address },
    namespace,
    instruments,
  });
  if (loopDelays !== undefined) writeLoopDelays(loopDelays);
  return { ready: "polling", stop: () => worker.shutdown() };
});

/** Delays of the event loop in milliseconds. */
export interface LoopDelays {
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
}

function writeLoopDelays(path: string): void {
  const resolution = 10;
  const delays = monitorEventLoopDelay({ resolution });
  delays.enable();
  const beyond = (nanoseconds: number): number => Math.max(0, nanoseconds / 1e6 - resolution);
  setInterval(() => {
    const found: LoopDelays = {
      p50: beyond(delays.percentile(50)),
      p99: beyond(delays.percentile(99)),
      max: beyond(delays.max),
    };
    writeFileSync(path, JSON.stringify(found));
  }, 1_000).unref();
}
