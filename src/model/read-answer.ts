import { fieldsOf, parseAnswer, textOf } from "./answer-json.js";
import type { ChatAnswer, ChatToolCall } from "./chat-model.js";
import { badResponse, errorInAnswer } from "./model-error.js";

/** Reads a chat completion: outside input, whose shape nobody has checked. Throws `LLM_BAD_RESPONSE` for what is none. */
export function toAnswer(completion: unknown): ChatAnswer {
  const fields = fieldsOf(completion);
  const choice = fieldsOf(firstOf(fields?.["choices"]));
  const message = fieldsOf(choice?.["message"]);
  if (choice === undefined || message === undefined) throw badResponse("it holds no choice");
  const calls: unknown = message["tool_calls"] ?? [];
  if (!Array.isArray(calls)) throw badResponse("its calls are no list");
  return {
    content: textOf(message["content"]),
    toolCalls: calls.map(toCall),
    finishReason: textOf(choice["finish_reason"]),
    usage: toUsage(fields?.["usage"]),
    model: textOf(fields?.["model"]),
  };
}

/** A call of any kind: each gets its reply, also those that no tool here can answer. */
function toCall(value: unknown): ChatToolCall {
  const call = fieldsOf(value) ?? {};
  const kind = textOf(call["type"]);
  const body = fieldsOf(call["function"]) ?? fieldsOf(call[kind]) ?? {};
  return {
    id: textOf(call["id"]),
    name: nameOf(kind, textOf(body["name"])),
    argumentsJson: argumentsText(body["arguments"] ?? body["input"]),
  };
}

/** A call that is no function call is under a name that no tool has, in characters that every provider takes back. */
function nameOf(kind: string, name: string): string {
  if (kind === "" || kind === "function") return name;
  return `${kind}_${name || "tool"}`.replace(/[^\w-]/g, "_").slice(0, 64);
}

/** Some servers send arguments as an object where the protocol says text. */
function argumentsText(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value ?? {});
}

/** A call of a stream while its pieces arrive. */
interface BegunCall {
  id: string;
  kind: string;
  name: string;
  argumentsJson: string;
}

/** Puts an answer together from the events of a stream. Throws `LLM_BAD_RESPONSE` for a stream that is none. */
export async function collectStream(
  events: AsyncIterable<string>,
  apiKey: string | undefined,
): Promise<ChatAnswer> {
  let content = "";
  let finishReason = "";
  let model = "";
  let usage: ChatAnswer["usage"] = { promptTokens: 0, completionTokens: 0 };
  const calls = new Map<number, BegunCall>();
  for await (const data of events) {
    if (data === "[DONE]") break;
    const chunk = fieldsOf(parseAnswer(data)) ?? {};
    if (chunk["error"] !== undefined && chunk["error"] !== null) throw errorInAnswer(data, apiKey);
    model ||= textOf(chunk["model"]);
    if (chunk["usage"]) usage = toUsage(chunk["usage"]);
    const choice = fieldsOf(firstOf(chunk["choices"]));
    if (choice === undefined) continue;
    finishReason ||= textOf(choice["finish_reason"]);
    const delta = fieldsOf(choice["delta"]) ?? {};
    content += textOf(delta["content"]);
    const pieces: unknown = delta["tool_calls"] ?? [];
    if (!Array.isArray(pieces)) throw badResponse("its calls are no list");
    for (const piece of pieces) addPiece(calls, piece);
  }
  if (finishReason === "") throw badResponse("the stream ended early");
  const toolCalls = [...calls.entries()]
    .sort(([a], [b]) => a - b)
    .map(([, { id, kind, name, argumentsJson }]) => ({ id, name: nameOf(kind, name), argumentsJson }));
  return { content, toolCalls, finishReason, usage, model };
}

function addPiece(calls: Map<number, BegunCall>, value: unknown): void {
  const piece = fieldsOf(value) ?? {};
  const { id, index: given, type } = piece;
  // Some servers leave the index out: a piece with an id begins a call, one without goes on with the last.
  const last = typeof id === "string" ? calls.size : Math.max(calls.size - 1, 0);
  const index = typeof given === "number" ? given : last;
  const call = calls.get(index) ?? { id: "", kind: "", name: "", argumentsJson: "" };
  calls.set(index, call);
  call.id ||= textOf(id);
  call.kind ||= textOf(type);
  const body = fieldsOf(piece["function"]) ?? fieldsOf(piece[call.kind]) ?? {};
  call.name ||= textOf(body["name"]);
  call.argumentsJson += textOf(body["arguments"] ?? body["input"]);
}

function toUsage(value: unknown): ChatAnswer["usage"] {
  const usage = fieldsOf(value);
  return {
    promptTokens: count(usage?.["prompt_tokens"]),
    completionTokens: count(usage?.["completion_tokens"]),
  };
}

function count(value: unknown): number {
  return typeof value === "number" && Number.isFinite(value) && value > 0 ? Math.floor(value) : 0;
}

function firstOf(value: unknown): unknown {
  return Array.isArray(value) ? value[0] : undefined;
}
