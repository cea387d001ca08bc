import type { LogEntry } from "@temporalio/worker";
import type { Config } from "../../config.js";
import type { RunEvent } from "../../core/run/run-event.js";
import { shortRunId } from "../../core/run/run-id.js";
import { type ListenAddress, listenAddress } from "../../environment/listen-address.js";
import {
  LOG_FORMATS,
  LOG_LEVELS,
  type LogFormat,
  type LogLevel,
  wordOf,
} from "../../environment/log-words.js";
import { optionValue } from "../../environment/option-value.js";
import type { Instrument } from "../../worker/instrument.js";
import { eventLine, eventWords } from "../report/event-lines.js";
import { print, printLogLine, recordInstead } from "../terminal/output.js";

/** How a worker in the foreground is served and what it says, by its options and the configuration. */
export interface ServeSettings {
  readonly quiet: boolean;
  readonly metrics: ListenAddress | undefined;
  readonly health: ListenAddress | undefined;
  readonly logFormat: LogFormat;
  readonly logLevel: LogLevel;
}

/** Where the log of such a worker goes. */
export interface ServeLog {
  /** Absent: as text to standard error. */
  readonly printEntry?: (entry: LogEntry) => void;
  /** One line a turn, for every run that the worker carries. */
  readonly onEvent: (event: RunEvent) => void;
  readonly instruments: readonly Instrument[];
}

interface SaidInOptions {
  readonly quiet?: boolean;
  readonly metrics?: string;
  readonly health?: string;
  readonly logFormat?: string;
  readonly logLevel?: string;
}

/** Options take the place of variables. Throws `ConfigError`. */
export function serveSettings(config: Config, options: SaidInOptions): ServeSettings {
  const { metrics, health, logFormat, logLevel, quiet = false } = options;
  return {
    quiet,
    metrics: optionValue(listenAddress, metrics, "--metrics") ?? config.metrics,
    health: optionValue(listenAddress, health, "--health") ?? config.health,
    logFormat: optionValue(wordOf(LOG_FORMATS), logFormat, "--log-format") ?? config.logFormat,
    logLevel: optionValue(wordOf(LOG_LEVELS), logLevel, "--log-level") ?? config.logLevel,
  };
}

/** With JSON, all that the process says is a line of the log from now on. */
export async function openLog({ logFormat, logLevel }: ServeSettings): Promise<ServeLog> {
  if (logFormat === "text") {
    const saysTurns = logLevel !== "warn" && logLevel !== "error";
    return { onEvent: saysTurns ? printCarried : () => undefined, instruments: [] };
  }
  const { openJsonLog, runIdsInLog } = await import("../../instruments/json-log.js");
  const log = openJsonLog(logLevel, printLogLine);
  recordInstead((isError, text) => log.say(isError ? "error" : "info", text));
  return {
    printEntry: (entry) => log.entry(entry),
    onEvent(event) {
      const words = eventWords(event);
      if (words !== undefined) log.event(event, words);
    },
    instruments: [runIdsInLog],
  };
}

function printCarried(event: RunEvent): void {
  const line = eventLine(event);
  if (line !== undefined) print(`${shortRunId(event.runId)}  ${line}`);
}
