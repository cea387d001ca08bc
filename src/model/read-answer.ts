import { textOf } from "../core/json.js";
import type { ProviderPart } from "../core/run/provider-part.js";
import { type Fields, fieldsOf, listOf, objectsOf, unlisted } from "../http/answer-json.js";
import { saysWords } from "../http/error-body.js";
import type { WireAnswer } from "../http/send.js";
import { assertPrintable } from "./answer-bounds.js";
import { textOfPart } from "./answer-progress.js";
import type { ChatAnswer } from "./chat.js";
import {
  endsBadly,
  endsInWords,
  leftNoRoom,
  reasonIn,
  tellsEnough,
  toFinishReason,
} from "./finish-reason.js";
import {
  ModelError,
  type Refusing,
  badResponse,
  classifyModelError,
  contextIsFull,
  endedBadly,
  errorInAnswer,
  holdsNoChoice,
  restated,
} from "./model-error.js";
import { withCallsBeside } from "./other-choices.js";
import { unknownParts } from "./provider-part.js";
import { callOfPart, toCall } from "./read-call.js";
import { costBefore, hasCounted, toUsage } from "./read-usage.js";
import { withRefusedCall } from "./refused-call.js";

/** Who answers, and how. */
export interface Answering extends Required<Pick<ProviderPart, "endpoint" | "dialect" | "model">> {
  readonly streamedCalls: "index" | "id";
  readonly finalErrors: readonly string[];
  readonly apiKey: string | undefined;
  /** What stands before the answer: an error in it may have its wait there. */
  readonly headers?: WireAnswer["headers"];
  /** Ends the connection where nothing more comes. */
  readonly leave: () => void;
  /** How long more is waited for behind an end. */
  readonly lastWordsMs: number;
  /** The most tokens that were allowed. */
  readonly maxTokens?: number | undefined;
  /** Whether this model has said of a stream before how it has ended. */
  readonly saysEnds?: boolean;
  /** It was asked for as a stream, and can be asked for whole where its end is doubtful. */
  readonly mayBeWhole?: boolean;
  /** Hears that a stream has said so. */
  readonly onEnd?: () => void;
}

/** Reads a chat completion: outside input, whose shape nobody has checked. Throws `LLM_BAD_RESPONSE` for what is none. */
export function toAnswer(completion: unknown, answering: Answering): ChatAnswer {
  const fields = unwrapped(withRefusedCall(unlisted(completion) ?? {}));
  try {
    return answerIn(fields, answering);
  } catch (error) {
    throw counted(error, usageIn(fields, fieldsOf(listOf(fields["choices"])[0])), answering);
  }
}

/** Some gateways put the completion into a field of an answer of their own. */
function unwrapped(fields: Fields): Fields {
  if (fields["choices"] !== undefined) return fields;
  const inner = [fields["data"], fields["result"]].map(fieldsOf);
  return inner.find((value) => fieldsOf(listOf(value?.["choices"])[0]) !== undefined) ?? fields;
}

/** What is no answer, or half of one whose connection broke or whose time was over, may have been counted all the same. */
export function counted(error: unknown, usage: unknown, { apiKey }: Answering): unknown {
  if (!hasCounted(usage)) return error;
  const known = classifyModelError(error, apiKey);
  const failure = known instanceof ModelError ? known : badResponse("it was broken off");
  return restated(failure, { usage: toUsage(usage) });
}

function answerIn(fields: Fields, answering: Answering): ChatAnswer {
  const choice = fieldsOf(listOf(fields["choices"])[0]);
  throwErrorIn(fields, choice, answering);
  const reason = choice === undefined ? "" : reasonIn(choice);
  const needsNone = tellsEnough(reason) || toFinishReason(reason) === "length" || isCountedNothing(fields);
  const message = messageIn(choice) ?? (needsNone ? {} : undefined);
  if (message === undefined) throw noChoice(fields, answering);
  const whole = tellsEnough(reason) ? message : withCallsBeside(message, fields);
  return finished(
    { message: whole, reason, usage: usageIn(fields, choice), model: fields["model"] },
    answering,
  );
}

/** Gateways to Gemini (LiteLLM) answer so where its model has said nothing: an answer like any other that is empty. */
function isCountedNothing(fields: Fields): boolean {
  const { choices } = fields;
  return Array.isArray(choices) && choices.length === 0 && hasCounted(fields["usage"]) && !saysWords(fields);
}

/** Where servers count the tokens of an answer, whole or in a stream: Moonshot in its choice, llama.cpp's where it says how long each took. */
export function usageIn(fields: Fields, choice: Fields | undefined): unknown {
  const places = [fields, fieldsOf(fields["x_groq"]), choice, messageIn(choice)];
  return [...places.map((place) => place?.["usage"]), fields["timings"]].find(hasCounted);
}

function messageIn(choice: Fields | undefined): Fields | undefined {
  return fieldsOf(choice?.["message"] ?? choice?.["delta"]);
}

/** Throws what a server says went wrong, in place of an answer or in the middle of one. */
export function throwErrorIn(fields: Fields, choice: Fields | undefined, refusing: Refusing): void {
  const said =
    choice !== undefined && endsInWords(reasonIn(choice)) ? messageIn(choice)?.["content"] : undefined;
  const error = [fields["error"], choice?.["error"], said].find((value) => !isNothing(value));
  if (error !== undefined) throw errorInAnswer({ error }, refusing);
}

/** Some servers have a place for errors in each answer, with nothing in it. */
export function isNothing(value: unknown): boolean {
  return !value || (typeof value === "object" && Object.values(value).every((item) => !item));
}

/** What is no completion says why, in most servers. */
function noChoice(fields: Fields, answering: Answering): Error {
  return saysWords(fields) ? errorInAnswer(fields, answering) : holdsNoChoice(fields, answering.apiKey);
}

export function saysAnything(message: Fields): boolean {
  return Object.entries(message).some(([key, value]) => key !== "role" && !isNothing(value));
}

/** The calls in a message or in a piece of one. */
export function callsIn(message: Fields): readonly unknown[] {
  const { tool_calls: calls } = message;
  if (isNothing(calls)) return [];
  if (Array.isArray(calls)) return calls;
  const call = fieldsOf(calls);
  if (call?.["function"] === undefined) throw badResponse("its calls are no list");
  return [call];
}

/** A content as text or as parts: some servers send a number, or a part alone. */
export function contentOf(content: unknown): unknown {
  if (typeof content === "number") return String(content);
  return fieldsOf(content) === undefined ? content : [content];
}

/** What was told of an answer, whole or in pieces so far. */
export interface Told {
  message: Fields;
  reason: string;
  usage: unknown;
  model: unknown;
}

/** What an answer may have beside its text and its calls. */
const MAX_UNKNOWN_CHARS = 4 * 1024 * 1024;

export function finished(
  { message: told, reason, usage, model }: Readonly<Told>,
  answering: Answering,
): ChatAnswer {
  const message = withCallsOfParts(told);
  const calls = callsIn(message);
  const list = calls.length === 0 ? callOfOldForm(message) : calls;
  const content = toText(contentOf(message["content"]));
  const finishReason = toFinishReason(reason);
  if (endsBadly(finishReason)) throw endedBadly(reason, answering.apiKey);
  const counts = { ...costBefore(answering.headers), ...toUsage(usage) };
  if (leftNoRoom(reason, counts, !saysAnything(message), answering.maxTokens))
    throw contextIsFull(reason, counts.promptTokens + counts.completionTokens, answering.apiKey);
  const unknown = unknownParts(message, list);
  if (JSON.stringify(unknown).length > MAX_UNKNOWN_CHARS)
    throw badResponse("it holds too much beside its text");
  const { endpoint, dialect, model: askedFor } = answering;
  const provider: ProviderPart = { endpoint, dialect, model: askedFor, ...unknown };
  const refusal = toRefusal(message, content, finishReason);
  return assertPrintable({
    content,
    toolCalls: list.map(toCall),
    finishReason,
    usage: counts,
    model: textOf(model),
    ...(Object.keys(unknown).length === 0 ? {} : { provider }),
    ...(refusal === undefined ? {} : { refusal }),
  });
}

/** Some gateways leave Anthropic's calls where it has them, among the parts of the text: they go back as calls. */
function withCallsOfParts(message: Fields): Fields {
  const { content } = message;
  if (!Array.isArray(content) || callsIn(message).length > 0) return message;
  const calls = content.map(callOfPart);
  if (calls.every((call) => call === undefined)) return message;
  const parts: readonly unknown[] = content.filter((_, index) => calls[index] === undefined);
  return {
    ...message,
    content: parts.length === 0 ? null : parts,
    tool_calls: calls.filter((call) => call !== undefined),
  };
}

/** The form of calls before there were several in an answer. */
function callOfOldForm(message: Readonly<Record<string, unknown>>): readonly unknown[] {
  const call = fieldsOf(message["function_call"]);
  return textOf(call?.["name"]) === "" ? [] : [{ type: "function", function: call }];
}

/** The text of a content; what the model thinks in parts of their own is none of it. */
export function toText(content: unknown): string {
  if (!Array.isArray(content)) return textOf(content);
  return content.map((part) => textOfPart(part) ?? "").join("");
}

function toRefusal(
  message: Readonly<Record<string, unknown>>,
  content: string,
  finishReason: string,
): ChatAnswer["refusal"] {
  const inParts = objectsOf(message["content"])
    .map(({ refusal }) => textOf(refusal))
    .join("");
  const words = textOf(message["refusal"]) || inParts;
  if (words !== "") return { code: "LLM_REFUSED", words };
  if (finishReason === "refusal") return { code: "LLM_REFUSED", words: content };
  return finishReason === "content_filter" ? { code: "LLM_CONTENT_FILTERED", words: content } : undefined;
}
