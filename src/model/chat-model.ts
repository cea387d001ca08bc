import { excerpt } from "../core/text.js";
import { type Fields, answerOrNone, fieldsOf, listOf, objectsIn, parseAnswer } from "../http/answer-json.js";
import type { OnPiece } from "./answer-progress.js";
import type { ModelSettings, ChatMessage, ChatRequest, ChatAnswer, ChatModel } from "./chat.js";
import { dialectOf } from "./dialects.js";
import { endpointOf, headersFor, redirected } from "./endpoint.js";
import {
  LearnedParameters,
  answersAsStreamOnly,
  asksForStream,
  learnFrom,
  withoutRefused,
} from "./learned-parameters.js";
import { toBody } from "./to-request.js";
import { answerChunks, beginningOf } from "./answer-bounds.js";
import { readErrorText, textOfChunks } from "../http/bounded-body.js";
import { LONGEST_TIMER_MS } from "../within.js";
import { eventData } from "./event-stream.js";
import { located, shownAddress } from "./located-error.js";
import {
  ModelError,
  type Refusal,
  type Refusing,
  answeredWithPage,
  badResponse,
  classifyModelError,
  errorInAnswer,
  refusedByProvider,
  restated,
  timedOut,
  unsaid,
} from "./model-error.js";
import { MAX_LOOKED_AT, isPage, readErrorBody } from "../http/error-body.js";
import { isOfThoughts } from "./provider-error.js";
import { type Send, type WireAnswer, send as sendOverHttp } from "../http/send.js";
import { type Answering, toAnswer } from "./read-answer.js";
import { collectStream } from "./streamed-answer.js";
import { withRefusedCall } from "./refused-call.js";
import { withoutKey } from "./without-key.js";

/** What a chat model may be given. */
export interface ChatModelOptions {
  /** What the requests go out with: whoever looks on passes their own. */
  readonly send?: Send;
  readonly patience?: Patience;
  /** Is told what a model has taught. */
  readonly note?: (sentence: string) => void;
}

/**
 * Any OpenAI-compatible endpoint (docs/models.md). A request that is refused for a parameter is made again without it, and never
 * with it again.
 */
export function createChatModel({
  send = sendOverHttp,
  patience = PATIENCE,
  note = () => undefined,
}: ChatModelOptions = {}): ChatModel {
  const wire: Wire = { learned: new LearnedParameters(), send, patience, note };
  return {
    async complete(request) {
      const { settings, signal } = request;
      signal.throwIfAborted();
      const over = new AbortController();
      const stop = (): void => over.abort();
      let isLate = false;
      let hasBegun = false;
      const send: Send = async (...sent) => {
        hasBegun = false;
        const answer = await wire.send(...sent);
        hasBegun = answer.ok;
        return answer;
      };
      const timer = setTimeout(
        () => {
          isLate = true;
          stop();
        },
        Math.min(settings.timeoutMs, LONGEST_TIMER_MS),
      );
      signal.addEventListener("abort", stop);
      try {
        return await ask(request, over.signal, { ...wire, send });
      } catch (error) {
        over.abort(); // whatever is not read to its end is not left open
        const failure = isLate
          ? timedOut(settings.timeoutMs, hasBegun, error)
          : classifyModelError(error, settings.apiKey);
        if (signal.aborted && failure instanceof ModelError && failure.usage !== undefined) {
          throw restated(failure, { code: "ENGINE_ABORTED" }); // what was counted of half an answer
        }
        signal.throwIfAborted(); // as aborted: an aborted stream only ends early
        throw located(failure, endpointIn(settings), settings.apiKey);
      } finally {
        clearTimeout(timer);
        signal.removeEventListener("abort", stop);
      }
    },
  };
}

/** Where a model is asked; undefined where its base URL cannot be used. */
function endpointIn(settings: ModelSettings): URL | undefined {
  try {
    return endpointOf(settings, "chat/completions");
  } catch {
    return undefined;
  }
}

interface Wire {
  readonly learned: LearnedParameters;
  readonly send: Send;
  readonly patience: Patience;
  readonly note: (sentence: string) => void;
}

/** How long more is waited for where nothing more need come: behind the end of an answer, and of the words of an error. */
interface Patience {
  readonly lastWordsMs: number;
  readonly errorWordsMs: number;
}

const PATIENCE: Patience = { lastWordsMs: 5_000, errorWordsMs: 2_000 };

/** In so many forms a request is made at most, whatever a server goes on to refuse. */
const MOST_FORMS = 20;

async function ask(
  request: ChatRequest,
  signal: AbortSignal,
  { learned, send, patience, note }: Wire,
): Promise<ChatAnswer> {
  const { settings } = request;
  const url = endpointOf(settings, "chat/completions");
  const dialect = dialectOf(url, settings.dialect, settings.model);
  const endpoint = `${url.origin}${url.pathname}`;
  const { apiKey } = settings;
  let { messages } = request;
  const before = learned.of(endpoint, settings.model);
  const taught: string[] = [];
  const teach = (failure: ModelError): void => {
    const shown = located(failure, url, apiKey);
    taught.push(shown instanceof Error ? shown.message : "");
  };
  let brokenOff: ModelError | undefined;
  request.onAsked?.(shownAddress(url, apiKey));
  for (let asked = 1; ; asked += 1) {
    const known = learned.of(endpoint, settings.model);
    const stream = asksForStream(settings.stream && brokenOff === undefined, known);
    const mayBeWhole = stream && !answersAsStreamOnly(known);
    const form = { ...request, messages, settings: { ...settings, stream } };
    const said = toBody(form, { endpoint, dialect: { ...dialect, ...known.form } });
    const body = withoutRefused(said, known);
    const response = await send(url, {
      method: "POST",
      headers: headersFor(settings, dialect),
      body: wellFormed(JSON.stringify(body)),
      redirect: "manual",
      signal,
      mayGoAgain: true,
    });
    if (response.status >= 300 && response.status < 400) throw redirected(response, url);
    const answering = {
      ...answeringOf(response, settings, { endpoint, dialect, patience }),
      saysEnds: known.saysEnds === true,
      mayBeWhole,
      onEnd: () => learned.saysEnds(endpoint, settings.model),
    };
    const answer = response.ok
      ? await readAnswer(response, answering, request.onPiece).catch(refusedInAnswer)
      : await refusedOutright(response, patience, answering);
    if (!("failure" in answer)) {
      if (brokenOff !== undefined && !stream && learned.brokeOff(endpoint, settings.model)) teach(brokenOff);
      if (taught.length > 0) note(whatWasTaught(taught, settings.model));
      return withoutKey(answer, apiKey);
    }
    const { refusal, failure } = answer;
    if (failure.code === "LLM_CONTENT_FILTERED") throw failure; // of what was said, whatever words of a form it is told in
    if (mayBeWhole && isUnsaid(answer) && !signal.aborted) {
      brokenOff = failure;
    } else if (refusesThoughts(refusal, messages)) {
      messages = messages.map(withoutThoughts);
    } else {
      const lesson = learnFrom(refusal, body, dialect, known, isFinal(failure));
      if (lesson === undefined || asked === MOST_FORMS) {
        // It was about something else: nothing of it has helped.
        if (taught.length > 0 && !failure.retryable) learned.keep(endpoint, settings.model, before);
        throw failure;
      }
      learned.add(endpoint, settings.model, lesson);
      teach(failure);
    }
    if (response.ok) request.onPiece?.({ type: "restart" });
  }
}

/** What is known of a response before its body is read. */
function answeringOf(
  response: WireAnswer,
  { model, apiKey, maxTokens }: ModelSettings,
  {
    endpoint,
    dialect,
    patience,
  }: Pick<Answering, "endpoint"> & {
    readonly dialect: ReturnType<typeof dialectOf>;
    readonly patience: Patience;
  },
): Answering {
  const { name, streamedCalls, finalErrors } = dialect;
  return {
    endpoint,
    dialect: name,
    model,
    streamedCalls,
    finalErrors,
    apiKey,
    headers: headersOf(response),
    leave: () => response.leave?.(),
    lastWordsMs: patience.lastWordsMs,
    maxTokens,
  };
}

/** Whoever runs it may wonder why a model is asked otherwise than they have said, such as not to reason. */
function whatWasTaught(taught: readonly string[], model: string): string {
  const words = [...new Set(taught)].join(" ");
  return `The model ${excerpt(model)} is asked in another form from now on, and answers: ${words}`;
}

function refusesThoughts({ body }: Refusal, messages: readonly ChatMessage[]): boolean {
  return isOfThoughts(readErrorBody(body)) && messages.some(hasThoughts);
}

function hasThoughts(message: ChatMessage): boolean {
  return message.role === "assistant" && message.provider !== undefined;
}

function withoutThoughts(message: ChatMessage): ChatMessage {
  if (message.role !== "assistant") return message;
  const { provider: _, ...rest } = message;
  return rest;
}

/** What a server has said that may be for the form of the request, and what it is where it is not. */
interface Refused {
  readonly refusal: Refusal;
  readonly failure: ModelError;
}

/** Nothing helps but another form, if any. */
function isFinal({ code, retryable }: ModelError): boolean {
  return code === "LLM_HTTP_ERROR" && !retryable;
}

async function refusedOutright(
  response: WireAnswer,
  { errorWordsMs }: Patience,
  answering: Answering,
): Promise<Refused | ChatAnswer> {
  const { status } = response;
  const refusal = { status, headers: headersOf(response), body: await readErrorText(response, errorWordsMs) };
  const refused = refusedCallIn(refusal.body);
  if (refused !== undefined) return toAnswer(refused, answering);
  const failure = refusedByProvider(refusal, new Date(), answering);
  // Nothing of its form would help where it is too long, or where the model's own answer could not be read.
  if (failure.code === "LLM_CONTEXT_EXCEEDED" || failure.code === "LLM_BAD_RESPONSE") throw failure;
  return { refusal, failure };
}

/** LiteLLM has what the provider behind it has said in headers, such as when to come back, under names of its own. */
function headersOf({ headers }: WireAnswer): WireAnswer["headers"] {
  return { get: (name) => headers.get(name) ?? headers.get(`llm_provider-${name}`) };
}

/** The answer that a server has refused of its own model, where it says what that was. */
function refusedCallIn(body: string): Fields | undefined {
  if (!body.includes("failed_generation")) return undefined;
  const said = fieldsOf(answerOrNone(body)) ?? {};
  const answer = withRefusedCall(said);
  return answer === said ? undefined : answer;
}

function refusedInAnswer(error: unknown): Refused {
  if (!(error instanceof ModelError) || error.saidInAnswer === undefined) throw error;
  return { refusal: error.saidInAnswer, failure: error };
}

/**
 * Whether a stream has broken off without a word of why, and without a count. Asked for whole, the same server may say it: those in Python that refuse
 * once their stream has begun only break the connection (MLflow's gateway) or end it (llama.cpp's server), and Ollama leaves out what goes wrong in one.
 */
function isUnsaid({ refusal, failure }: Refused): boolean {
  return refusal.body === "" && refusal.status === 200 && failure.usage === undefined;
}

/** JSON has half of a surrogate pair as an escape, wherever it stands: providers refuse the whole request for one. */
function wellFormed(json: string): string {
  return json.replace(/\\(?:\\|ud[89a-f][0-9a-f]{2})/g, (escape) => (escape === "\\\\" ? escape : "\ufffd"));
}

/** An answer is read as what it is, whatever was asked for and whatever its headers say: whole, or a stream of events. */
async function readAnswer(
  response: WireAnswer,
  answering: Answering,
  onPiece?: OnPiece,
): Promise<ChatAnswer> {
  const { beginning, chunks } = await beginningOf(answerChunks(response)).catch((error: unknown) => {
    const failure = classifyModelError(error, answering.apiKey);
    throw failure instanceof ModelError && failure.code === "LLM_HTTP_ERROR" ? unsaid(failure) : failure;
  });
  if (beginning === "") throw unsaid(badResponse("it is empty"));
  if (/^(?:data|event|id|retry|error)?:/.test(beginning)) {
    return collectStream(eventData(chunks), answering, onPiece);
  }
  const text = await textOfChunks(chunks);
  const pieces = piecesIn(text);
  if (pieces.length > 1) return collectStream(eachOf(pieces), answering, onPiece);
  return toAnswer(parseBody(text, response.status, answering), answering);
}

/** The pieces of a stream that came as a whole: in a list, or one behind the other. */
function piecesIn(text: string): readonly string[] {
  const begins = text.trimStart()[0];
  if (begins === "{") return objectsIn(text);
  return begins === "[" ? listOf(parseAnswer(text)).map((piece) => JSON.stringify(piece)) : [];
}

async function* eachOf(pieces: readonly string[]): AsyncGenerator<string> {
  yield* pieces;
}

function parseBody(text: string, status: number, refusing: Refusing): unknown {
  if (/^[{[]/.test(text.trimStart())) return parseAnswer(text);
  if (isPage(text)) throw answeredWithPage(status, text, refusing.apiKey);
  // Proxies say in plain words what went wrong.
  throw errorInAnswer(
    {
      message: text
        .slice(0, MAX_LOOKED_AT)
        .trim()
        .replace(/^"(.*)"$/s, "$1"),
    },
    refusing,
  );
}
