import type { RunEvent } from "../../core/run/run-event.js";
import { amount, cost, counted, duration } from "./words.js";

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
  readonly isBad: boolean;
}

export function toEventRow(event: RunEvent): EventRow {
  const { seq, ts: at, kind, nodeId } = event;
  return { seq, at, kind, nodeId, ...told(event) };
}

function told(event: RunEvent): Pick<EventRow, "visit" | "what" | "details" | "isBad"> {
  switch (event.kind) {
    case "model.turn":
      return turnRow(event);
    case "tool.exec": {
      const code = codeIn(event.output);
      const path = wordIn(event.input, "path");
      return {
        what: path === "" ? event.toolName : `${event.toolName} ${path}`,
        details: code === "" ? duration(event.durationMs) : `${code} · ${duration(event.durationMs)}`,
        isBad: code !== "",
      };
    }
    case "run.phase":
      return {
        what: event.phase === "waiting-user" ? "waits for an answer" : event.phase,
        details: [event.paused === true ? "paused" : "", event.code ?? "", event.message ?? ""]
          .filter(Boolean)
          .join(" · "),
        isBad: false,
      };
    case "node.pass":
      return {
        visit: event.visit,
        what: event.childRunId === undefined ? "passed" : `subworkflow ${event.workflow ?? ""}`,
        details: [event.childRunId === undefined ? "" : `run ${event.childRunId}`, `on to ${event.next}`]
          .filter(Boolean)
          .join(" · "),
        isBad: false,
      };
    case "user.input":
      return { what: "answered", details: event.by === undefined ? "" : `by ${event.by}`, isBad: false };
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
    isBad: false,
  };
}

function codeIn(output: unknown): string {
  if (typeof output !== "object" || output === null || !("ok" in output) || output.ok !== false) return "";
  return "error" in output ? wordIn(output.error, "code") || "refused" : "refused";
}

function wordIn(value: unknown, name: string): string {
  if (typeof value !== "object" || value === null) return "";
  const word: unknown = Object.entries(value).find(([key]) => key === name)?.[1];
  return typeof word === "string" ? word : "";
}
