import { inspect } from "node:util";
import {
  DefaultLogger,
  type LogEntry,
  type LogLevel as SdkLogLevel,
  Runtime,
  type RuntimeOptions,
  makeTelemetryFilterString,
} from "@temporalio/worker";
import type { Config } from "../../config.js";
import { type ListenAddress, addressText } from "../../environment/listen-address.js";
import type { LogLevel } from "../../environment/log-words.js";
import { keepHeapsLean } from "../../worker/lean-heap.js";
import { type RunningWorker, type WorkerOptions, startWorker } from "../../worker.js";
import { CommandError, printError, waitForNoTerminal } from "../terminal/output.js";
import { wordsOf } from "../../core/system-code.js";

/** What a process with a worker says of itself, and where. */
export interface WorkerRuntime {
  readonly level: LogLevel;
  /** Where entries of the log go; absent: as text to standard error. */
  readonly printEntry?: (entry: LogEntry) => void;
  /** Where metrics are served; absent: nowhere. */
  readonly metrics?: ListenAddress;
  /** Is told, again and again, that requests to Temporal fail. Absent: the log says each time. */
  readonly onUnreached?: () => void;
}

/** A command in passing says less than a worker in the foreground. */
export const IN_PASSING: WorkerRuntime = { level: "error" };

/** Starts a worker in this process, whose Temporal runtime it is the first to need. */
export async function startOnlyWorker(
  config: Config,
  options: WorkerOptions,
  runtime: WorkerRuntime,
): Promise<RunningWorker> {
  waitForNoTerminal();
  if (runtime.metrics === undefined) {
    installRuntime(runtime);
    return startWorker(config, options);
  }
  const { createMetrics, prometheus } = await import("../../instruments/metrics.js");
  const address = addressText(runtime.metrics);
  try {
    installRuntime(runtime, { metrics: { prometheus: prometheus(address) } });
  } catch (error) {
    const reason = wordsOf(error);
    throw new CommandError(
      `Metrics cannot be served at ${address} (${reason}). Choose another address with --metrics or INTERLOCK_METRICS.`,
      { cause: error },
    );
  }
  const metrics = createMetrics({ meter: Runtime.instance().metricMeter, models: modelsOf(config) });
  return startWorker(config, { ...options, instruments: [...(options.instruments ?? []), metrics] });
}

/** Once in a process. */
export function installRuntime(
  { level, printEntry = printLogEntry, onUnreached }: WorkerRuntime,
  telemetry: RuntimeOptions["telemetryOptions"] = {},
): void {
  keepHeapsLean();
  // The commands handle signals themselves: workers are shut down by `close`, in order.
  Runtime.install({
    // The same words, in capitals.
    logger: new DefaultLogger(level.toUpperCase() as SdkLogLevel, (entry) => {
      if (onUnreached !== undefined && isUnreached(entry)) onUnreached();
      else printEntry(entry);
    }),
    // The SDK's core would write to standard output by itself, and that belongs to `--json`.
    telemetryOptions: {
      ...telemetry,
      logging: level === "error" ? { filter: "off" } : { filter: CORE_FILTERS[level], forward: {} },
    },
    shutdownSignals: [],
  });
}

/** In an outage, the core says so of each try of each of its pollers; where Temporal stands still, of each heartbeat. */
export function isUnreached({ message, meta }: Pick<LogEntry, "message" | "meta">): boolean {
  const isOfPoller = /^gRPC call \w+ retried \d+ times$/.test(message);
  if (!isOfPoller && message !== "Network error while sending worker heartbeat") return false;
  return /\bUnavailable\b|\bTimeoutExpired\b/.test(String(meta?.["error"]));
}

/** The core says more at each level than the rest. */
const CORE_FILTERS: Readonly<Record<LogLevel, string>> = {
  trace: makeTelemetryFilterString({ core: "DEBUG", other: "INFO" }),
  debug: makeTelemetryFilterString({ core: "INFO", other: "WARN" }),
  info: makeTelemetryFilterString({ core: "WARN", other: "ERROR" }),
  warn: makeTelemetryFilterString({ core: "WARN", other: "ERROR" }),
  error: makeTelemetryFilterString({ core: "ERROR", other: "ERROR" }),
};

/** What endpoints call the models that are configured. */
function modelsOf({ models, settings }: Config): readonly string[] {
  const reached = [
    ...models.names.map((name) => models.ofEntry(name)?.settings),
    ...Object.keys(settings.agents ?? {}).map((agentId) => models.settingsFor(agentId)),
    models.settingsFor(""),
  ];
  return reached.flatMap((known) => (known === undefined ? [] : [known.model]));
}

/** What a worker logs may hold what models and projects have said. */
function printLogEntry({ level, timestampNanos, message, meta }: LogEntry): void {
  const at = new Date(Number(timestampNanos / 1_000_000n)).toISOString();
  printError(`${at} [${level}] ${message}${meta === undefined ? "" : ` ${inspect(meta)}`}`);
}
