import { fieldOf } from "../../core/json.js";
import type { RunEvent } from "../../core/run/run-event.js";
import { NO_USAGE, about, tokensInWords } from "../../core/run/usage.js";
import { excerpt } from "../../core/text.js";
import { timeOf } from "../terminal/time-of-day.js";

/**
 * An event as one line for people: each turn, each change of phase, the user's words, and tool calls that have failed. Undefined for
 * what a turn's line has told already: of a run that waits for months, the day as well. Whoever prints it makes it printable.
 */
export function eventLine(event: RunEvent, now = new Date()): string | undefined {
  const words = eventWords(event);
  if (words === undefined) return undefined;
  return `${timeOf(event.ts, now)}  ${event.nodeId.padEnd(NODE_CHARS)}  ${words}`;
}

const NODE_CHARS = 20;

/** The same without time and node. */
export function eventWords(event: RunEvent): string | undefined {
  switch (event.kind) {
    case "model.turn":
      return turnWords(event);
    case "run.phase": {
      const why = event.code === undefined ? "" : ` · ${event.code}: ${event.message ?? ""}`;
      const { promptTokens, completionTokens = 0 } = event;
      const lost =
        promptTokens === undefined
          ? ""
          : ` · ${tokensInWords({ ...NO_USAGE, ...event, promptTokens, completionTokens, cost: 0 })} for no answer`;
      return `${event.phase}${event.paused === true ? ", paused" : ""}${lost}${why}`;
    }
    case "user.input":
      return `the user says: ${previewOf(event.input)}`;
    case "node.pass": {
      const { childRunId, workflow = "" } = event;
      return childRunId === undefined
        ? `passed, on to ${event.next}`
        : `run ${childRunId} of ${workflow} has completed, on to ${event.next}`;
    }
    case "tool.exec": {
      const failure = failureOf(event.output);
      return failure === undefined ? undefined : `${event.toolName}: ${failure}`;
    }
  }
}

/** What the model turn that follows an event is called, after what it was called `before`; nothing where it may be another node's. */
export function turnAfter(event: RunEvent, before: string): string {
  if (event.kind === "model.turn") return `model turn ${event.turn + 1} · ${event.nodeId}`;
  if (event.kind === "node.pass") return "";
  // What has written to the state may have moved the run on.
  const written = event.kind === "tool.exec" && fieldOf(event.output, "sha256After") !== undefined;
  return written && String(fieldOf(event.output, "path")).startsWith("@state/") ? "" : before;
}

function turnWords(event: Extract<RunEvent, { kind: "model.turn" }>): string {
  const { visit, turn, model, durationMs, calls, cost } = event;
  const usage = { ...event, modelTurns: 1, toolCalls: calls };
  const name = event.answeredBy?.name;
  return [
    `turn ${visit}.${turn}`,
    name === undefined ? model : `${name} (${model})`,
    `${(durationMs / 1_000).toFixed(1)} s`,
    tokensInWords(usage),
    ...(cost > 0 ? [`cost ${about(usage)}${cost.toFixed(4)}`] : []),
    ...(calls > 0 ? [`${calls} ${calls === 1 ? "call" : "calls"}`] : []),
  ].join(" · ");
}

/** The start of what was said, as the log has it. */
function previewOf(input: unknown): string {
  const content = fieldOf(input, "content");
  const preview = fieldOf(content, "preview");
  const text = typeof content === "string" ? content : typeof preview === "string" ? preview : "";
  return excerpt(text, 60);
}

/** Why a call has failed; undefined for one that has not. */
function failureOf(output: unknown): string | undefined {
  if (fieldOf(output, "ok") !== false && fieldOf(output, "success") !== false) return undefined;
  const error = fieldOf(output, "error");
  const code = fieldOf(error, "code");
  return typeof code === "string" ? code : typeof error === "string" ? excerpt(error, 60) : "refused";
}
