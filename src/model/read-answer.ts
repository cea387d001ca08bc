import { fieldsOf, parseAnswer, textOf } from "./answer-json.js";
import type { ProviderPart } from "../core/run/provider-part.js";
import type { ModelCall } from "../core/tools/model-call.js";
import { AnswerProgress, type OnPiece } from "./answer-progress.js";
import type { ChatAnswer } from "./chat-model.js";
import { badResponse, errorInAnswer } from "./model-error.js";
import { toUsage } from "./read-usage.js";
import { mergePiece, unknownParts, withPiece } from "./provider-part.js";

/** Who answers, and how. */
export interface Answering {
  readonly endpoint: string;
  readonly dialect: string;
  readonly streamedCalls: "index" | "id";
  readonly finalErrors: readonly string[];
  readonly apiKey: string | undefined;
}

/** Reads a chat completion: outside input, whose shape nobody has checked. Throws `LLM_BAD_RESPONSE` for what is none. */
export function toAnswer(completion: unknown, answering: Answering): ChatAnswer {
  const fields = fieldsOf(Array.isArray(completion) ? completion[0] : completion);
  const choice = fieldsOf(firstOf(fields?.["choices"]));
  const error = fields?.["error"] ?? choice?.["error"];
  if (error !== undefined && error !== null) throw errorInAnswer({ error }, answering);
  const message = fieldsOf(choice?.["message"]);
  if (choice === undefined || message === undefined) throw badResponse("it holds no choice");
  const reason = choice["finish_reason"] ?? choice["native_finish_reason"];
  return finished({ message, reason, usage: fields?.["usage"], model: fields?.["model"] }, answering);
}

/** Puts an answer together from the events of a stream. Throws `LLM_BAD_RESPONSE` for a stream that is none. */
export async function collectStream(
  events: AsyncIterable<string>,
  answering: Answering,
  onPiece?: OnPiece,
): Promise<ChatAnswer> {
  const progress = onPiece && new AnswerProgress(onPiece, answering.apiKey);
  let message: Record<string, unknown> = {};
  let reason: unknown;
  let model: unknown;
  let usage: unknown;
  const calls = new StreamedCalls(answering.streamedCalls);
  for await (const data of events) {
    if (data === "[DONE]") break;
    const chunk = parseAnswer(data);
    const fields = fieldsOf(Array.isArray(chunk) ? (chunk[0] as unknown) : chunk) ?? {};
    const choice = fieldsOf(firstOf(fields["choices"]));
    const error = fields["error"] ?? choice?.["error"];
    if (error !== undefined && error !== null) throw errorInAnswer({ error }, answering);
    model ||= fields["model"];
    usage = fields["usage"] ?? fieldsOf(fields["x_groq"])?.["usage"] ?? usage;
    if (choice === undefined) continue;
    reason ||= choice["finish_reason"];
    const delta = fieldsOf(choice["delta"]) ?? fieldsOf(choice["message"]) ?? {};
    message = mergePiece(message, delta, ["tool_calls", "content"]);
    message["content"] = withContent(message["content"], delta["content"]);
    const pieces: unknown = delta["tool_calls"] ?? [];
    if (!Array.isArray(pieces)) throw badResponse("its calls are no list");
    progress?.delta(delta);
    for (const piece of pieces) {
      const call = calls.add(piece);
      progress?.call(call, piece);
    }
  }
  if (textOf(reason) === "") throw badResponse("the stream ended early");
  if (calls.all.length > 0) message["tool_calls"] = calls.all;
  return finished({ message, reason, usage, model }, answering);
}

/** Text grows; where parts come, what was text so far is the first of them. */
function withContent(before: unknown, piece: unknown): unknown {
  if (piece === undefined || piece === null) return before;
  if (!Array.isArray(before) && !Array.isArray(piece)) return withPiece("content", before, piece);
  const text = (value: unknown): unknown[] => (textOf(value) === "" ? [] : [{ type: "text", text: value }]);
  const parts: unknown[] = Array.isArray(before) ? (before as unknown[]) : text(before);
  for (const part of Array.isArray(piece) ? (piece as readonly unknown[]) : text(piece)) parts.push(part);
  return parts;
}

/** The calls of a stream, piece by piece. */
class StreamedCalls {
  readonly all: Record<string, unknown>[] = [];
  private readonly byIndex = new Map<number, Record<string, unknown>>();
  private readonly complete = new Map<Record<string, unknown>, JsonProgress>();
  private readonly by: "index" | "id";

  constructor(by: "index" | "id") {
    this.by = by;
  }

  /** The call that a piece belongs to, grown by it. */
  add(value: unknown): Readonly<Record<string, unknown>> {
    const piece = fieldsOf(value) ?? {};
    const call = this.callOf(piece);
    const kind = textOf(call["type"] || piece["type"]);
    const key = fieldsOf(piece["function"]) === undefined && kind !== "" ? kind : "function";
    const body = fieldsOf(piece[key]) ?? {};
    Object.assign(call, mergePiece(call, piece, [key, "index"]));
    const given = body["arguments"] ?? body["input"];
    this.complete.get(call)?.read(textOf(given));
    if (Object.keys(body).length > 0) call[key] = mergePiece(fieldsOf(call[key]) ?? {}, body, []);
    return call;
  }

  /**
   * Some servers leave the index out, and some give all calls the same one: an id that is new begins a call, and so does a
   * name after arguments that are whole.
   */
  private callOf(piece: Readonly<Record<string, unknown>>): Record<string, unknown> {
    const { index, id } = piece;
    const known = typeof index === "number" ? this.byIndex.get(index) : this.all.at(-1);
    const isOther = this.by === "id" && known !== undefined && this.beginsAnother(known, piece);
    if (
      known !== undefined &&
      !isOther &&
      (typeof index === "number" || typeof id !== "string" || id === known["id"])
    ) {
      return known;
    }
    const call: Record<string, unknown> = {};
    this.all.push(call);
    this.complete.set(call, new JsonProgress());
    if (typeof index === "number") this.byIndex.set(index, call);
    return call;
  }

  private beginsAnother(known: Record<string, unknown>, piece: Readonly<Record<string, unknown>>): boolean {
    const id = textOf(piece["id"]);
    const knownId = textOf(known["id"]);
    if (id !== "" && knownId !== "") return id !== knownId;
    const name = textOf(fieldsOf(piece["function"])?.["name"]);
    return name !== "" && this.complete.get(known)?.isWhole === true;
  }
}

/** Whether a text that arrives in pieces holds a whole JSON object. */
class JsonProgress {
  private depth = 0;
  private inText = false;
  private isEscaped = false;
  private hasBegun = false;

  get isWhole(): boolean {
    return this.hasBegun && this.depth === 0 && !this.inText;
  }

  read(piece: string): void {
    for (const char of piece) {
      if (this.inText) {
        if (this.isEscaped) this.isEscaped = false;
        else if (char === "\\") this.isEscaped = true;
        else if (char === '"') this.inText = false;
      } else if (char === '"') this.inText = true;
      else if (char === "{" || char === "[") {
        this.depth += 1;
        this.hasBegun = true;
      } else if (char === "}" || char === "]") this.depth -= 1;
    }
  }
}

/** What was told of an answer, whole or in pieces. */
interface Told {
  readonly message: Readonly<Record<string, unknown>>;
  readonly reason: unknown;
  readonly usage: unknown;
  readonly model: unknown;
}

/** What an answer may have beside its text and its calls. */
const MAX_UNKNOWN_CHARS = 4 * 1024 * 1024;

function finished({ message, reason, usage, model }: Told, answering: Answering): ChatAnswer {
  const list: unknown = message["tool_calls"] ?? callOfOldForm(message);
  if (!Array.isArray(list)) throw badResponse("its calls are no list");
  const content = toText(message["content"]);
  const finishReason = toFinishReason(reason);
  if (finishReason === "error") throw badResponse("it ended with an error");
  const unknown = unknownParts(message, list as readonly unknown[]);
  if (JSON.stringify(unknown).length > MAX_UNKNOWN_CHARS)
    throw badResponse("it holds too much beside its text");
  const provider: ProviderPart = { endpoint: answering.endpoint, dialect: answering.dialect, ...unknown };
  const refusal = toRefusal(message, content, finishReason);
  return assertPrintable({
    content,
    toolCalls: list.map(toCall),
    finishReason,
    usage: toUsage(usage),
    model: textOf(model),
    ...(Object.keys(unknown).length === 0 ? {} : { provider }),
    ...(refusal === undefined ? {} : { refusal }),
  });
}

/** The form of calls before there were several in an answer. */
function callOfOldForm(message: Readonly<Record<string, unknown>>): readonly unknown[] {
  const call = fieldsOf(message["function_call"]);
  return call === undefined ? [] : [{ type: "function", function: call }];
}

/** The text of a content; what the model thinks in parts of their own is none of it. */
function toText(content: unknown): string {
  if (!Array.isArray(content)) return textOf(content);
  return (content as readonly unknown[])
    .map((part) => {
      if (typeof part === "string") return part;
      const fields = fieldsOf(part);
      const type = textOf(fields?.["type"]);
      return type === "" || type === "text" || type === "output_text" ? textOf(fields?.["text"]) : "";
    })
    .join("");
}

function toRefusal(
  message: Readonly<Record<string, unknown>>,
  content: string,
  finishReason: string,
): ChatAnswer["refusal"] {
  const parts = Array.isArray(message["content"]) ? (message["content"] as readonly unknown[]) : [];
  const inParts = parts.map((part) => textOf(fieldsOf(part)?.["refusal"])).join("");
  const words = textOf(message["refusal"]) || inParts;
  if (words !== "") return { code: "LLM_REFUSED", words };
  if (finishReason === "refusal") return { code: "LLM_REFUSED", words: content };
  return finishReason === "content_filter" ? { code: "LLM_CONTENT_FILTERED", words: content } : undefined;
}

/** What providers call the ends of answers, in the protocol's words. */
const FINISH_REASONS: ReadonlyMap<string, string> = new Map([
  ["max_tokens", "length"],
  ["max_output_tokens", "length"],
  ["model_length", "length"],
  ["max_length", "length"],
  ["truncated", "length"],
  ["model_context_window_exceeded", "length"],
  ["safety", "content_filter"],
  ["content_filtered", "content_filter"],
  ["contentfilter", "content_filter"],
  ["prohibited_content", "content_filter"],
  ["recitation", "content_filter"],
  ["blocklist", "content_filter"],
  ["spii", "content_filter"],
  ["sensitive", "content_filter"],
  ["image_safety", "content_filter"],
  ["end_turn", "stop"],
  ["eos", "stop"],
  ["eos_token", "stop"],
  ["stop_sequence", "stop"],
  ["tool_use", "tool_calls"],
  ["tool_call", "tool_calls"],
]);

function toFinishReason(reason: unknown): string {
  const text = textOf(reason);
  const plain = text
    .toLowerCase()
    .replace(/[-\s]/g, "_")
    .replace(/^finish_reason_/, "");
  return FINISH_REASONS.get(plain) ?? (/^[a-z_]{1,40}$/.test(plain) ? plain : text);
}

/** A call of any kind: each gets its reply, also those that no tool here can answer. */
function toCall(value: unknown): ModelCall {
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

/** Characters that have to be escaped one by one where an answer is written down; no text has many of them. */
const MAX_UNPRINTABLE = 100_000;

function assertPrintable(answer: ChatAnswer): ChatAnswer {
  let seen = 0;
  for (const text of [answer.content, ...answer.toolCalls.map(({ argumentsJson }) => argumentsJson)]) {
    // eslint-disable-next-line no-control-regex -- these are the ones to count
    const unprintable = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028\u2029\ufeff\ufffe\uffff]/g;
    while (unprintable.exec(text) !== null) {
      seen += 1;
      if (seen > MAX_UNPRINTABLE) throw badResponse("it is full of control characters");
    }
  }
  return answer;
}

function firstOf(value: unknown): unknown {
  return Array.isArray(value) ? value[0] : undefined;
}
