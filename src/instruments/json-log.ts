import type { LogEntry } from "@temporalio/worker";
import { pino, stdSerializers } from "pino";
import { namesSecret, redactSecrets } from "../core/prompt/redact.js";
import { runIdIn } from "../core/run/run-id.js";
import type { RunEvent } from "../core/run/run-event.js";
import type { LogLevel } from "../environment/log-words.js";
import type { Instrument } from "../worker/instrument.js";
import { runContextOf } from "./run-context.js";

/** A log of one JSON object a line: `level`, `time`, `runId` where there is a run, what else is known, `msg`. */
export interface JsonLog {
  say(level: LogLevel, message: string): void;
  /** What the Temporal SDK says, its core, and workflow and activity code through it. */
  entry(entry: LogEntry): void;
  /** What a run has written into its audit log, and how it is put in words. */
  event(event: RunEvent, words: string): void;
}

const DEEPEST = 5;
const MOST_FIELDS = 50;

/** `write` gets a line with its end. */
export function openJsonLog(level: LogLevel, write: (line: string) => void): JsonLog {
  const log = pino(
    { level, base: null, timestamp: false, formatters: { level: (label) => ({ level: label }) } },
    { write },
  );
  const put = (at: LogLevel, time: Date, fields: object, message: string): void => {
    log[at]({ time: time.toISOString(), ...fields }, redactSecrets(message));
  };
  return {
    say: (at, message) => put(at, new Date(), {}, message),
    entry({ level: at, timestampNanos, message, meta = {} }) {
      const { runId: execution, workflowId, [RUN_ID]: known, ...rest } = meta;
      const run = known ?? (typeof workflowId === "string" ? runIdIn(workflowId) : undefined);
      // Temporal's run id is that of an execution: ours goes through retries.
      const ids = { runId: run, workflowId, workflowRunId: execution };
      const time = new Date(Number(timestampNanos / 1_000_000n));
      put(levelOf(at), time, { ...ids, ...(clean(rest, 0) as object) }, message); // an object stays one
    },
    event(event, words) {
      const { runId, kind, nodeId, seq } = event;
      put("info", new Date(event.ts), { runId, event: kind, nodeId, seq }, words);
    },
  };
}

/** Under which an activity's log entries have the run's id. */
const RUN_ID = "interlockRunId";

/** Has activities log whose run they work for: a workflow id may be any text. */
export const runIdsInLog: Instrument = {
  activities: [
    () => {
      let run: string | undefined;
      return {
        inbound: {
          execute(input, next) {
            run = runContextOf(input.args)?.run.runId;
            return next(input);
          },
        },
        outbound: {
          getLogAttributes: (input, next) => next(run === undefined ? input : { ...input, [RUN_ID]: run }),
        },
      };
    },
  ],
};

function levelOf(level: LogEntry["level"]): LogLevel {
  switch (level) {
    case "TRACE":
      return "trace";
    case "DEBUG":
      return "debug";
    case "INFO":
      return "info";
    case "WARN":
      return "warn";
    case "ERROR":
      return "error";
  }
}

/** A value as it may be logged: bounded, errors told, secrets left out. */
function clean(value: unknown, depth: number): unknown {
  if (typeof value === "string") return redactSecrets(value);
  if (typeof value === "bigint") return String(value);
  if (typeof value !== "object" || value === null) return value;
  if (depth >= DEEPEST) return "…";
  if (Array.isArray(value)) return value.slice(0, MOST_FIELDS).map((item) => clean(item, depth + 1));
  const fields = value instanceof Error ? stdSerializers.err(value) : value;
  return Object.fromEntries(
    Object.entries(fields)
      .slice(0, MOST_FIELDS)
      .map(([key, item]) => [key, namesSecret(key) ? "<secret>" : clean(item, depth + 1)]),
  );
}
