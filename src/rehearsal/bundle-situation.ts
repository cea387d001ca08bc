import { jsonIn } from "../core/json.js";
import { toMap } from "./untrusted.js";
import type { ChatMessage, ChatRequest } from "./wire.js";
import { messageText, offeredNames } from "./wire.js";

/** The parts of a bundle run's RUN_DIRECTIVE that the rehearsal follows. */
export interface BundleSituation {
  readonly workflow: string;
  readonly date: string;
  /** Where each declared output is to be saved; names may hold placeholders. */
  readonly outputs: readonly { readonly declared: string; readonly path: string }[];
  readonly exchanges: readonly BundleExchange[];
  /** The words of the user, in order. */
  readonly said: readonly string[];
  /** How often the rehearsal has said that it is done. */
  readonly doneCount: number;
  /** Exchanges before this index were settled by what the user said. */
  readonly answeredAt: number;
  readonly offered: ReadonlySet<string>;
}

/** One tool call and its answer. */
export interface BundleExchange {
  readonly tool: string;
  readonly success: boolean;
  readonly error: string;
  readonly value: ReadonlyMap<string, unknown>;
}

const DONE_LINE = "WORKFLOW COMPLETE";

/** The shells of a bundle run; undefined for every other conversation. Only a user message holds the directive. */
export function readBundleSituation(request: ChatRequest): BundleSituation | undefined {
  const { messages } = request;
  const at = messages.findLastIndex(isBundleDirective);
  const message = messages[at];
  if (message === undefined) return undefined;
  const lines = messageText(message).split(/\r?\n/);
  const field = (key: string): string =>
    lines.find((line) => line.startsWith(`- ${key}: `))?.slice(key.length + 4) ?? "";
  return {
    workflow: field("workflow"),
    date: field("date"),
    outputs: readOutputs(lines),
    ...replay(messages.slice(at + 1)),
    offered: new Set(offeredNames(request)),
  };
}

function isBundleDirective(message: ChatMessage): boolean {
  if (message.role !== "user") return false;
  const [first, second] = messageText(message).split(/\r?\n/);
  return first === "RUN_DIRECTIVE" && second === "- runType: bmad-bundle";
}

const ARROW = " -> ";

/** What the workflow is to save; where it need not save anything, what it may. */
function readOutputs(lines: readonly string[]): BundleSituation["outputs"] {
  const at = lines.indexOf("- optionalOutputs:");
  const required = (at === -1 ? lines : lines.slice(0, at)).flatMap(readOutput);
  return required.length > 0 ? required : lines.flatMap(readOutput);
}

function readOutput(line: string) {
  const at = line.lastIndexOf(ARROW);
  if (!line.startsWith("  - ") || at === -1) return [];
  return [{ declared: line.slice(4, at), path: line.slice(at + ARROW.length) }];
}

function replay(messages: readonly ChatMessage[]) {
  const exchanges: BundleExchange[] = [];
  const said: string[] = [];
  const open = new Map<string, string>();
  let doneCount = 0;
  let answeredAt = 0;
  for (const message of messages) {
    const text = messageText(message);
    if (message.role === "assistant") {
      if (text.trimEnd().endsWith(`\n${DONE_LINE}`)) doneCount += 1;
      for (const call of message.tool_calls ?? []) open.set(call.id, call.function.name);
    } else if (message.role === "user") {
      said.push(text.replace(/^USER_INPUT\n- forNodeId: [^\n]*\n/, ""));
      answeredAt = exchanges.length;
    } else if (message.role === "tool") {
      const tool = open.get(message.tool_call_id ?? "");
      if (tool !== undefined) exchanges.push(readExchange(tool, text));
    }
  }
  return { exchanges, said, doneCount, answeredAt };
}

function readExchange(tool: string, text: string): BundleExchange {
  const value = toMap(jsonIn(text));
  const error = value.get("error");
  return {
    tool,
    success: value.get("success") === true,
    error: typeof error === "string" ? error : "",
    value,
  };
}
