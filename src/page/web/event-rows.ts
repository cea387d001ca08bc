import { defined } from "../../core/defined.js";
import { fieldOf } from "../../core/json.js";
import type { RunEvent } from "../../core/run/run-event.js";
import { counted } from "../../core/text.js";
import { amount, cost, duration } from "./words.js";

/** An event as the timeline shows it; what it was called with is asked for when somebody wants it. */
export interface EventRow {
  readonly seq: number;
  readonly at: string;
  readonly kind: RunEvent["kind"];
  readonly nodeId: string;
  /** Of a model turn. */
  readonly visit?: number;
  readonly what: string;
  readonly details: string;
  /** How a call came out that did not succeed: by a rule, or because it could not be done. */
  readonly outcome?: "refused" | "failed";
}

/** No rule has refused these: what was wanted is not there, or could not be done. */
const FAILURES: ReadonlySet<string> = new Set([
  "ENOENT",
  "E_INTERNAL",
  "TOOL_FAILED",
  "TOOL_OUTCOME_UNKNOWN",
]);
const PREVIEW_CHARS = 80;

export function toEventRow(event: RunEvent): EventRow {
  const { seq, ts: at, kind, nodeId } = event;
  return { seq, at, kind, nodeId, ...told(event) };
}

function told(event: RunEvent): Pick<EventRow, "visit" | "what" | "details" | "outcome"> {
  switch (event.kind) {
    case "model.turn":
      return turnRow(event);
    case "tool.exec": {
      const { why = "", outcome } = failureIn(event.output) ?? {};
      const path = wordIn(event.input, "path");
      return {
        what: path === "" ? event.toolName : `${event.toolName} ${path}`,
        details: why === "" ? duration(event.durationMs) : `${why} · ${duration(event.durationMs)}`,
        ...defined({ outcome }),
      };
    }
    case "run.phase":
      return {
        what: event.phase === "waiting-user" ? "waits for an answer" : event.phase,
        details: [event.paused === true ? "paused" : "", event.code ?? "", event.message ?? ""]
          .filter(Boolean)
          .join(" · "),
      };
    case "node.pass":
      return {
        visit: event.visit,
        what: event.childRunId === undefined ? "passed" : `subworkflow ${event.workflow ?? ""}`,
        details: [event.childRunId === undefined ? "" : `run ${event.childRunId}`, `on to ${event.next}`]
          .filter(Boolean)
          .join(" · "),
      };
    case "user.input":
      return {
        what: `the user says: ${wordIn(fieldOf(event.input, "content"), "preview").slice(0, PREVIEW_CHARS)}`,
        details: event.by === undefined ? "" : `by ${event.by}`,
      };
  }
}

function turnRow(event: Extract<RunEvent, { kind: "model.turn" }>) {
  const { visit, turn, calls, model, durationMs, promptTokens, completionTokens, estimated } = event;
  const tokens = `${estimated === true ? "~" : ""}${amount(promptTokens)}+${amount(completionTokens)} tokens`;
  const price = event.cost === 0 ? [] : [`cost ${cost(event.cost)}`];
  return {
    visit,
    what: `turn ${visit}.${turn}${calls === 0 ? "" : ` · ${counted(calls, "call")}`}`,
    details: [duration(durationMs), tokens, ...price, event.answeredBy?.name ?? model].join(" · "),
  };
}

/** How a call has failed, and why; undefined for one that has not. Tools of bundles give a sentence, and no code. */
function failureIn(
  output: unknown,
): { readonly why: string; readonly outcome: "refused" | "failed" } | undefined {
  const error = fieldOf(output, "error");
  if (fieldOf(output, "success") === false) {
    const sentence = typeof error === "string" ? error : wordIn(error, "preview");
    return { why: sentence.slice(0, PREVIEW_CHARS), outcome: "failed" };
  }
  if (fieldOf(output, "ok") !== false) return undefined;
  const code = wordIn(error, "code") || "refused";
  return { why: code, outcome: FAILURES.has(code) ? "failed" : "refused" };
}

function wordIn(value: unknown, name: string): string {
  const word = fieldOf(value, name);
  return typeof word === "string" ? word : "";
}
