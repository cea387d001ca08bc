import { jsonIn } from "../core/json.js";
import { type ToolName, canonicalToolName } from "../core/tools/tool-specs.js";
import { type Shells, hasShell, userWords } from "./shells.js";
import { toMap } from "./untrusted.js";
import type { ChatMessage } from "./wire.js";
import { messageText } from "./wire.js";

/** What a tool message said, read without trust in its shape. */
type Outcome =
  | { readonly ok: true; readonly value: ReadonlyMap<string, unknown> }
  | { readonly ok: false; readonly code: string; readonly message: string; readonly details: Details };

type Details = ReadonlyMap<string, unknown>;

/** One call of this visit and its answer. */
export interface Exchange {
  /** Its place among the exchanges of the visit. */
  readonly index: number;
  /** Which of the visit's answers made the call: calls of one answer share it. */
  readonly turn: number;
  readonly tool: ToolName;
  readonly path: string;
  readonly arguments: ReadonlyMap<string, unknown>;
  readonly outcome: Outcome;
}

/** The visit of a node as the conversation tells it. */
export interface Visit {
  readonly exchanges: readonly Exchange[];
  /** Exchanges before this index were settled by the user's answer. */
  readonly answeredAt: number;
  /** The user has answered a question at this node. */
  readonly answered: boolean;
  /** What the user said to this node, in order. */
  readonly said: readonly string[];
}

/** Replays the messages after the brief: which calls were made, how each ended, what the user answered. */
export function readVisit(shells: Shells): Visit {
  const { nodeId } = shells.brief;
  const results = toolResults(shells.after);
  const exchanges: Exchange[] = [];
  const said = shells.input === undefined ? [] : [shells.input];
  const resumed = shells.directive.intent !== "start";
  let answered = shells.input !== undefined && resumed;
  let answeredAt = 0;
  let start = 0;
  for (const [turn, message] of shells.after.entries()) {
    const words = userWords(message, nodeId);
    const replies = shells.after.slice(0, turn).some(isAssistant);
    // A message without a shell is the user's only as an answer to something that was said.
    if (words !== undefined && (hasShell(message) || replies)) {
      said.push(words);
      // What the user says when a run starts is its input, not an answer.
      answered ||= replies || resumed;
      answeredAt = exchanges.length;
    }
    for (const call of isAssistant(message) ? (message.tool_calls ?? []) : []) {
      const tool = canonicalToolName(call.function.name);
      const result = results.get(call.id);
      if (tool === undefined || result === undefined) continue;
      const values = toMap(jsonIn(call.function.arguments));
      const path = values.get("path");
      const outcome = readOutcome(result);
      const exchange = { index: exchanges.length, turn, tool, arguments: values, outcome };
      exchanges.push({ ...exchange, path: typeof path === "string" ? path : "" });
      // An edge from the node to itself starts a new visit without a new brief.
      if (outcome.ok && patchTarget(values) === nodeId) start = exchanges.length;
    }
  }
  return { exchanges: exchanges.slice(start), answeredAt, answered, said };
}

/** The node that a call wants to move to, if it is a patch that moves. */
export function patchTarget(values: ReadonlyMap<string, unknown>): string | undefined {
  const target = toMap(patchUpdate(values).get("currentNodeId")).get("set");
  return typeof target === "string" ? target : undefined;
}

/** A patch that does nothing but move is the jump tried on purpose: the rehearsal's own patches say more. */
export function isJump(exchange: Exchange): boolean {
  return patchTarget(exchange.arguments) !== undefined && patchUpdate(exchange.arguments).size === 1;
}

function patchUpdate(values: ReadonlyMap<string, unknown>): ReadonlyMap<string, unknown> {
  return toMap(toMap(values.get("patch")).get("update"));
}

/** A call that changes something, other than the jump tried on purpose. */
export function isAct(exchange: Exchange): boolean {
  return exchange.tool === "fs.write" || (exchange.tool === "fs.apply_patch" && !isJump(exchange));
}

/** The last call of a tool on a path, if there was one. */
export function lastCall(visit: Visit, tool: ToolName, path: string): Exchange | undefined {
  return visit.exchanges.findLast((exchange) => exchange.tool === tool && exchange.path === path);
}

/** The text that a successful read gave, whole or as far as the limit let it. */
export function textOf(exchange: Exchange | undefined): { text: string; whole: boolean } | undefined {
  if (exchange?.outcome.ok !== true) return undefined;
  const content = exchange.outcome.value.get("content");
  if (typeof content === "string") return { text: content, whole: true };
  const preview = exchange.outcome.value.get("contentPreview");
  return typeof preview === "string" ? { text: preview, whole: false } : undefined;
}

function isAssistant(message: ChatMessage): boolean {
  return message.role === "assistant";
}

function toolResults(messages: readonly ChatMessage[]): ReadonlyMap<string, string> {
  const results = new Map<string, string>();
  for (const message of messages) {
    if (message.role === "tool" && message.tool_call_id !== undefined) {
      results.set(message.tool_call_id, messageText(message));
    }
  }
  return results;
}

function readOutcome(text: string): Outcome {
  const value = toMap(jsonIn(text));
  if (value.get("ok") === true) return { ok: true, value };
  const error = toMap(value.get("error"));
  const code = error.get("code");
  const message = error.get("message");
  return {
    ok: false,
    code: typeof code === "string" ? code : "(no code)",
    message: typeof message === "string" ? message : "The tool's answer could not be understood.",
    details: toMap(error.get("details")),
  };
}
