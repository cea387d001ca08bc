import { inspect } from "node:util";
import { DefaultLogger, type LogEntry, Runtime, makeTelemetryFilterString } from "@temporalio/worker";
import { printError } from "./output.js";

// What only a command with a worker needs: it takes half of the time that a command takes to load.
export { startWorker } from "../worker.js";

/** How much the SDK logs, on standard error: a worker in the foreground says more than a command in passing. */
export function installRuntime(level: "INFO" | "ERROR"): void {
  // The commands handle signals themselves: workers are shut down by `close`, in order.
  Runtime.install({
    logger: new DefaultLogger(level, printLogEntry),
    // The SDK's core would write to standard output by itself, and that belongs to `--json`.
    telemetryOptions: {
      logging: level === "ERROR" ? { filter: "off" } : { filter: CORE_WARNINGS, forward: {} },
    },
    shutdownSignals: [],
  });
}

const CORE_WARNINGS = makeTelemetryFilterString({ core: "WARN", other: "ERROR" });

/** What a worker logs may hold what models and projects have said. */
function printLogEntry({ level, timestampNanos, message, meta }: LogEntry): void {
  const at = new Date(Number(timestampNanos / 1_000_000n)).toISOString();
  printError(`${at} [${level}] ${message}${meta === undefined ? "" : ` ${inspect(meta)}`}`);
}
