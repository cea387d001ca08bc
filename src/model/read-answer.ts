import { textOf } from "../core/json.js";
import {
  type Fields,
  answerOrNone,
  fieldsOf,
  listOf,
  objectsOf,
  parseAnswer,
  unlisted,
} from "../http/answer-json.js";
import type { ProviderPart } from "../core/run/provider-part.js";
import { AnswerProgress, type OnPiece, textOfPart } from "./answer-progress.js";
import { assertPrintable } from "./answer-bounds.js";
import type { ChatAnswer } from "./chat.js";
import { untilSilent } from "./event-stream.js";
import {
  endsBadly,
  leftNoRoom,
  moreTelling,
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
import { OtherChoices, withCallsBeside } from "./other-choices.js";
import { mergePiece, unknownParts, withContent } from "./provider-part.js";
import { saysWords } from "../http/error-body.js";
import { callOfPart, isWhole, saidOnce, saysMore, toCall } from "./read-call.js";
import { costBefore, hasCounted, toUsage, withCounts } from "./read-usage.js";
import { withRefusedCall } from "./refused-call.js";
import type { WireAnswer } from "../http/send.js";
import { StreamedCalls } from "./streamed-calls.js";

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
function counted(error: unknown, usage: unknown, { apiKey }: Answering): unknown {
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
function usageIn(fields: Fields, choice: Fields | undefined): unknown {
  const places = [fields, fieldsOf(fields["x_groq"]), choice, messageIn(choice)];
  return [...places.map((place) => place?.["usage"]), fields["timings"]].find(hasCounted);
}

function messageIn(choice: Fields | undefined): Fields | undefined {
  return fieldsOf(choice?.["message"] ?? choice?.["delta"]);
}

/** Puts an answer together from the events of a stream. Throws `LLM_BAD_RESPONSE` for a stream that is none. */
export async function collectStream(
  events: AsyncIterable<string>,
  answering: Answering,
  onPiece?: OnPiece,
): Promise<ChatAnswer> {
  const told: Told = { message: {}, reason: "", model: undefined, usage: undefined };
  try {
    return await collectInto(told, events, answering, onPiece);
  } catch (error) {
    throw counted(error, told.usage, answering);
  }
}

async function collectInto(
  told: Told,
  events: AsyncIterable<string>,
  answering: Answering,
  onPiece?: OnPiece,
): Promise<ChatAnswer> {
  const progress = onPiece && new AnswerProgress(onPiece, answering.apiKey);
  const calls = new StreamedCalls(answering.streamedCalls);
  const others = new OtherChoices();
  const take = (delta: Fields): void => {
    const content = withContent(told.message["content"], contentOf(delta["content"]));
    const message = mergePiece(told.message, delta, ["tool_calls", "content"]);
    message["content"] = content;
    told.message = message;
    progress?.delta(delta);
    for (const piece of callsIn(delta)) {
      const call = calls.add(piece);
      progress?.call(call, piece);
    }
  };
  let isDone = false;
  let strange: Fields = {};
  let index: unknown;
  let hasBegun = false;
  let piecesWithEnd = 0; // of an answer: some servers say the end in each
  const hasTold = (): boolean => told.reason !== "";
  let saidAt = 0; // what is no part of the answer, such as a sign of life, is not waited for anew
  const patience = (): number | undefined => {
    if (!isDone && (!hasTold() || piecesWithEnd > 1)) return undefined;
    return Math.max(saidAt + longestSilence(answering, isDone, piecesWithEnd === 1) - performance.now(), 0);
  };
  for await (const event of untilSilent(events, patience, answering.leave)) {
    const data = event.trim();
    if (data === "") continue;
    if (isDone) {
      told.usage = countBehind(data);
      if (told.usage !== undefined) break;
      continue;
    }
    isDone = DONE.test(data);
    if (isDone) {
      if (told.usage !== undefined) break;
      saidAt = performance.now();
      continue;
    }
    const fields = withRefusedCall(chunkIn(data));
    const choice = choiceOf(fields, index);
    told.usage = withCounts(told.usage, usageIn(fields, choice));
    throwErrorIn(fields, choice, hasBegun ? { ...answering, hasBegun } : answering);
    others.add(fields, index ?? choice?.["index"]);
    told.model ||= fields["model"];
    if (choice === undefined) {
      if (saysWords(fields)) strange = fields;
      continue;
    }
    saidAt = performance.now();
    index ??= choice["index"];
    const isFirstOrBehind = !hasBegun || hasTold();
    told.reason = moreTelling(told.reason, reasonIn(choice));
    const delta = pieceIn(choice, told.message, calls.all.length > 0);
    const says = saysAnything(delta);
    hasBegun ||= says;
    if (says) strange = {};
    if (says && isFirstOrBehind && hasTold()) piecesWithEnd += 1;
    take(delta);
  }
  if (!tellsEnough(told.reason)) others.ofAnswer(calls.all.length > 0).forEach(take);
  const made = saidOnce(calls.whole().filter(saysMore));
  if (made.length > 0) told.message = { ...told.message, tool_calls: made };
  if (hasTold()) answering.onEnd?.();
  else {
    const isBrokenOff = answering.saysEnds === true && !(made.length > 0 && made.every(isWhole));
    if (!isDone || isBrokenOff || !isAnswer(told) || saysWords(strange)) throw endedEarly(strange, answering);
    told.reason = made.length > 0 ? "tool_calls" : "stop";
  }
  return finished(told, answering);
}

/** What says nothing is an answer too where it was counted. */
function isAnswer({ message, usage }: Told): boolean {
  return saysAnything(message) || toUsage(usage).completionTokens > 0;
}

/** How long more is waited for behind an end. */
function longestSilence({ lastWordsMs }: Answering, isDone: boolean, mayGoOn: boolean): number {
  if (isDone) return Math.min(lastWordsMs, COUNT_MS);
  return mayGoOn ? lastWordsMs * MORE : lastWordsMs;
}

/** The end of a stream, which some servers write as JSON. */
const DONE = /^"?\[DONE\]"?$/i;

/** So many times longer is waited for behind an end that the one piece so far has told: it may be all of the answer. */
const MORE = 6;

/** How long a count is waited for behind the end of a stream: some gateways send it there. */
const COUNT_MS = 500;

/** The count in what comes behind the end; nothing else there is of the answer. */
function countBehind(data: string): unknown {
  const fields = fieldsOf(answerOrNone(data)) ?? {};
  return usageIn(fields, choiceOf(fields, undefined));
}

/** An event of a stream. Words among them are a sign of life, or what went wrong. */
function chunkIn(data: string): Fields {
  try {
    return unlisted(parseAnswer(data)) ?? {};
  } catch (error) {
    if (data.startsWith("{") || data.length > MAX_WORDS_CHARS) throw error;
    return { message: data };
  }
}

const MAX_WORDS_CHARS = 1_000;

/** Throws what a server says went wrong, in place of an answer or in the middle of one. */
function throwErrorIn(fields: Fields, choice: Fields | undefined, refusing: Refusing): void {
  const error = [fields["error"], choice?.["error"]].find((value) => !isNothing(value));
  if (error !== undefined) throw errorInAnswer({ error }, refusing);
}

/** Some servers have a place for errors in each answer, with nothing in it. */
function isNothing(value: unknown): boolean {
  return !value || (typeof value === "object" && Object.values(value).every((item) => !item));
}

/** What is no completion says why, in most servers. */
function noChoice(fields: Fields, answering: Answering): Error {
  return saysWords(fields) ? errorInAnswer(fields, answering) : holdsNoChoice(fields, answering.apiKey);
}

/** A stream has ended without an end; the last that was no part of a completion may say why. */
function endedEarly(strange: Fields, answering: Answering): Error {
  return saysWords(strange) ? errorInAnswer(strange, answering) : badResponse("the stream ended early");
}

function saysAnything(message: Fields): boolean {
  return Object.entries(message).some(([key, value]) => key !== "role" && !isNothing(value));
}

/** The choice that an answer is put together from: the first that came, where a server sends several. */
function choiceOf(fields: Fields, index: unknown): Fields | undefined {
  const all = objectsOf(fields["choices"]);
  return index === undefined ? all[0] : all.find((choice) => (choice["index"] ?? index) === index);
}

/** One more piece. Some servers end with all of the message in its place: then what of that has not come yet. */
function pieceIn(choice: Fields, told: Fields, hasCalls: boolean): Fields {
  const delta = fieldsOf(choice["delta"]);
  if (delta !== undefined) return delta;
  const message = fieldsOf(choice["message"]) ?? {};
  if (reasonIn(choice) === "") return message;
  const { content } = message;
  const said = toText(told["content"]);
  if (!toText(content).startsWith(said)) return message;
  const rest = Object.entries(message).filter(
    ([key]) => isNothing(told[key]) && !(hasCalls && key === "tool_calls"),
  );
  return { ...Object.fromEntries(rest), content: said === "" ? content : toText(content).slice(said.length) };
}

/** The calls in a message or in a piece of one. */
function callsIn(message: Fields): readonly unknown[] {
  const { tool_calls: calls } = message;
  if (isNothing(calls)) return [];
  if (Array.isArray(calls)) return calls;
  const call = fieldsOf(calls);
  if (call?.["function"] === undefined) throw badResponse("its calls are no list");
  return [call];
}

/** A content as text or as parts: some servers send a number, or a part alone. */
function contentOf(content: unknown): unknown {
  if (typeof content === "number") return String(content);
  return fieldsOf(content) === undefined ? content : [content];
}

/** What was told of an answer, whole or in pieces so far. */
interface Told {
  message: Fields;
  reason: string;
  usage: unknown;
  model: unknown;
}

/** What an answer may have beside its text and its calls. */
const MAX_UNKNOWN_CHARS = 4 * 1024 * 1024;

function finished({ message: told, reason, usage, model }: Readonly<Told>, answering: Answering): ChatAnswer {
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
function toText(content: unknown): string {
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
