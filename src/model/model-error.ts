import type { ErrorCode } from "../core/errors.js";
import { NO_HEADER_VALUE } from "../core/header-value.js";
import { redactKey } from "../core/prompt/redact-key.js";
import { redactAbsolutePaths, redactSecrets } from "../core/prompt/redact.js";
import { excerpt } from "../core/text.js";
import type { ChatAnswer } from "./chat.js";
import { wordsOfConnection } from "../http/connection-words.js";
import { readOverflow } from "./context-overflow.js";
import { saysContext } from "./finish-reason.js";
import {
  type ErrorBody,
  MAX_LOOKED_AT,
  isPage,
  readErrorBody,
  wordsOfPage,
  wordsUnder,
} from "../http/error-body.js";
import {
  isBusy,
  isFiltered,
  isFromElsewhere,
  isMisread,
  isOfTemplate,
  isOutOfQuota,
  isUsedUp,
  isWrongKey,
  passesByItself,
  statusNamed,
  wantsOption,
} from "./provider-error.js";
import { readRetryAfter } from "../http/retry-after.js";
import type { WireAnswer } from "../http/send.js";

/**
 * Why a model call failed, and whether trying again can help (contracts §9). What is final fails the run with this code and
 * message; what is not is tried again, up to the run's `maxModelAttempts`. The message reaches histories and terminals: it holds
 * no key.
 */
export class ModelError extends Error implements Failure {
  /** One of `LLM_AUTH_FAILED`, `LLM_TIMEOUT`, `LLM_RATE_LIMITED`, `LLM_HTTP_ERROR`, `LLM_BAD_RESPONSE`; `LLM_CONTEXT_EXCEEDED`: asked again with less; `ENGINE_ABORTED`: of what was counted before an abort. */
  readonly code: ErrorCode;
  readonly retryable: boolean;
  /** The status that was answered, or that an error in an answer names; undefined where there is none. */
  readonly status: number | undefined;
  /** How long the provider asks to wait, in milliseconds. */
  readonly retryAfterMs: number | undefined;
  /** Of `LLM_CONTEXT_EXCEEDED`: how many tokens the model's context has, where the provider names it. */
  readonly contextTokens: number | undefined;
  /** The request may be too long, and nobody has said so: it is true of a conversation at most, and of no other one. */
  readonly isGuess: boolean;
  /** The tokens of an answer that was none, where its provider has counted them. */
  readonly usage: ChatAnswer["usage"] | undefined;
  /** What has come under status 200 in place of an answer, or in the middle of one, and may be for the form of the request. */
  readonly saidInAnswer: Refusal | undefined;

  constructor(failure: Failure, cause?: unknown) {
    super(failure.message, { cause });
    this.name = "ModelError";
    this.code = failure.code;
    this.retryable = failure.retryable;
    this.status = failure.status;
    this.retryAfterMs = failure.retryAfterMs;
    this.contextTokens = failure.contextTokens;
    this.isGuess = failure.isGuess ?? false;
    this.saidInAnswer = failure.saidInAnswer;
    this.usage = failure.usage;
  }
}

/** What a `ModelError` is made of: what it does not say is absent. */
interface Failure {
  readonly code: ErrorCode;
  readonly message: string;
  readonly retryable: boolean;
  readonly status?: number | undefined;
  readonly retryAfterMs?: number | undefined;
  readonly contextTokens?: number | undefined;
  readonly isGuess?: boolean;
  readonly saidInAnswer?: Refusal | undefined;
  readonly usage?: ChatAnswer["usage"] | undefined;
}

/** The same error, but for what is known better by now. */
export function restated(error: ModelError, known: Partial<Failure>): ModelError {
  const { ...failure } = error;
  return new ModelError({ ...failure, message: error.message, ...known }, error.cause);
}

/** No answer in time, or not all of one that had begun: what was counted of it stands in what broke it off. */
export function timedOut(afterMs: number, hasBegun = false, brokenOff?: unknown): ModelError {
  const what = hasBegun ? "had begun its answer, and did not end it" : "did not answer";
  return new ModelError({
    code: "LLM_TIMEOUT",
    message: `The model endpoint ${what} within ${afterMs / 1_000} s.`,
    retryable: true,
    usage: brokenOff instanceof ModelError ? brokenOff.usage : undefined,
  });
}

/** What came is no answer; another try may bring one. */
export function badResponse(why: string): ModelError {
  return new ModelError({
    code: "LLM_BAD_RESPONSE",
    message: `The model's answer is not a chat completion: ${why}.`,
    retryable: true,
  });
}

/** The same error, of an answer that has come to nothing or broken off without a word of why. */
export function unsaid(error: ModelError): ModelError {
  return restated(error, { saidInAnswer: { status: 200, headers: new Headers(), body: "" } });
}

/** What came has neither an answer in it nor words. */
export function holdsNoChoice(fields: object, apiKey?: string): ModelError {
  const shown = redact(JSON.stringify(fields), apiKey);
  return badResponse(shown === "{}" ? "it holds no choice" : `it holds no choice, but ${shown}`);
}

/** An answer has an end that says that it was not finished, in the provider's words. */
export function endedBadly(reason: string, apiKey?: string): ModelError {
  return badResponse(`it ended with "${redact(reason, apiKey)}"`);
}

/** An answer has come to nothing since the request has left no room for it: it is made again with less. */
export function contextIsFull(reason: string, tokens: number, apiKey?: string): ModelError {
  const said = redact(reason, apiKey);
  return new ModelError({
    code: "LLM_CONTEXT_EXCEEDED",
    message: `The model's answer has no room beside the request: it ended with "${said}".`,
    retryable: false,
    contextTokens: tokens === 0 ? undefined : tokens,
    isGuess: !saysContext(reason),
  });
}

/** A page for browsers stands where the endpoint should: in place of an answer, another try may bring one. */
export function answeredWithPage(status: number, page: string, apiKey?: string): ModelError {
  const title = redact(wordsOfPage(page), apiKey);
  const message = `The model endpoint answered ${status} with a web page, not a chat completion: ${title}`;
  return new ModelError({ code: "LLM_BAD_RESPONSE", message, retryable: true });
}

/** Node refuses to send such a key, and would say so of each attempt. */
export function unusableKey(): ModelError {
  const message = `The model endpoint cannot be asked: its key ${NO_HEADER_VALUE}. Correct it.`;
  return new ModelError({ code: "LLM_AUTH_FAILED", message, retryable: false });
}

/** The endpoint cannot be used as it is configured: asking again does not help. */
export function unusableEndpoint(message: string): ModelError {
  return new ModelError({ code: "LLM_HTTP_ERROR", message, retryable: false });
}

/**
 * Classifies what was thrown while a model was asked. Broken connections and answers that cannot be read are worth
 * another try. What is classified already, and aborts, are returned as they are. `apiKey` is kept out of messages: a
 * provider may repeat it, and messages enter histories.
 */
export function classifyModelError(error: unknown, apiKey?: string): unknown {
  if (error instanceof ModelError) return error;
  if (/HEADERS?_OVERFLOW$/.test(codeOfCause(error))) return badResponse("its headers are too long");
  if (isBrokenConnection(error)) {
    const code = codeOfCause(error);
    const reason = code === "EUNKNOWN" ? redact(causeWords(error), apiKey) : code;
    const message = `The model endpoint ${wordsOfConnection(code)} (${reason}).`;
    return new ModelError({ code: "LLM_HTTP_ERROR", message, retryable: true }, error);
  }
  if (error instanceof Error && error.name === "AbortError") return error;
  // What breaks while an answer arrives has the reason behind it.
  const why = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  const message = `The model's answer could not be read: ${redact(why instanceof Error ? why.message : "unknown", apiKey)}.`;
  return new ModelError({ code: "LLM_BAD_RESPONSE", message, retryable: true }, error);
}

/** What fetch throws for a connection that cannot be made, or breaks while the answer is read, has the system's cause. */
function isBrokenConnection(error: unknown): boolean {
  return /^(?:UND_ERR_|E[A-Z]+$|E[A-Z]+_|HPE_|CERT_|ERR_|DEPTH_|SELF_|UNABLE_)/.test(codeOfCause(error));
}

/** The system's or the library's code for a connection that could not be made or broke, as `ECONNREFUSED`; else "". */
export function codeOfCause(error: unknown): string {
  if (!(error instanceof TypeError)) return "";
  const { cause } = error;
  if (cause instanceof AggregateError) return codeOf(cause.errors[0]);
  return codeOf(cause) || (error.message === "fetch failed" ? "EUNKNOWN" : "");
}

/** As fetch says of ports that it does not connect to. */
function causeWords(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined;
  return cause instanceof Error ? cause.message : "no reason given";
}

function codeOf(cause: unknown): string {
  return cause instanceof Error && "code" in cause ? String(cause.code) : "";
}

/** What an endpoint's answer was when it was none. */
export interface Refusal {
  readonly status: number;
  readonly headers: WireAnswer["headers"];
  /** The beginning of its body. */
  readonly body: string;
}

/** Who has refused: their key is kept out of the message. */
export interface Refusing {
  readonly apiKey?: string | undefined;
  /** Codes of errors that another try does not help against, whatever the status says. */
  readonly finalErrors?: readonly string[];
  /** Of the answer in which an error has come. */
  readonly headers?: WireAnswer["headers"];
  /** The answer had begun: the request was none to refuse. */
  readonly hasBegun?: boolean;
}

/**
 * Statuses that are worth another try, beside those of servers' own faults. 424: the model has failed at TGI and Bedrock; 498: Groq has
 * no capacity left; 499: Google or a proxy has given up.
 */
const PASSING: ReadonlySet<number> = new Set([408, 409, 424, 425, 429, 498, 499]);

/** Of a server that cannot do what is asked, such as llama.cpp's that was started without its templates: it will not learn it. */
const NOT_IMPLEMENTED = 501;

/** Statuses of wrong requests, under which some servers say that they are busy (NVIDIA's, of a model whose host is down). */
const BLAMING: ReadonlySet<number> = new Set([400, 404, 422]);

/** Timeouts, too many requests and faults of servers are worth another try, except for what is final; other answers are not. */
export function refusedByProvider(
  { status, headers, body }: Refusal,
  now: Date,
  { apiKey, finalErrors = [], hasBegun = false }: Refusing = {},
): ModelError {
  const said = readErrorBody(body);
  const words = redact(wordsUnder(status, said.words), apiKey);
  const message = `The model endpoint answered ${status} ${words === "" ? "and said nothing" : words}`;
  const overflow = readOverflow({ status, body, ...said });
  if (overflow !== undefined) {
    return new ModelError({ code: "LLM_CONTEXT_EXCEEDED", message, retryable: false, ...overflow });
  }
  // What the server could not read is the model's answer, not our request.
  if (isMisread(said)) return new ModelError({ code: "LLM_BAD_RESPONSE", message, retryable: true });
  const passes =
    PASSING.has(status) ||
    (status >= 500 && status !== NOT_IMPLEMENTED && !isOfTemplate(said)) ||
    (BLAMING.has(status) && (hasBegun || isBusy(said)));
  const told = headers.get("x-should-retry"); // OpenAI's and Anthropic's, which know better than any status
  const retryable = (told === "true" || (passes && told !== "false")) && !isFinal(said, finalErrors);
  return new ModelError({
    code: isFiltered(said) ? "LLM_CONTENT_FILTERED" : codeOfStatus(status, said, body),
    message,
    retryable,
    status,
    isGuess: status === 400 && isWordless(body, said),
    retryAfterMs: retryable ? readRetryAfter(headers, now, body, status === 429) : undefined,
  });
}

const WORDLESS =
  /\b400 status code \(no body\)|\berror code: 400\b(?!\s?-)|Exception -\s{0,9}(?:$|LiteLLM: model group\b)/i;

/** All that Cerebras says of what is too long, or what the libraries of gateways before it make of that. */
function isWordless(body: string, { words }: ErrorBody): boolean {
  return body.trim() === "" || WORDLESS.test(words.slice(0, MAX_LOOKED_AT));
}

/** An error that came where an answer was to come: of its own status, where it names one. */
export function errorInAnswer(error: object, refusing: Refusing = {}): ModelError {
  const body = JSON.stringify(error);
  const said = readErrorBody(body);
  // As the same servers answer one whole (LocalAI): their model's template does not take the conversation.
  const status = statusNamed(said) ?? (isOfTemplate(said) ? 500 : undefined);
  const { headers = new Headers() } = refusing;
  const refusal = { status: status ?? 400, headers, body };
  const failure =
    status === undefined
      ? ofNoStatus(said, body, refusing)
      : refusedByProvider(refusal, new Date(), refusing);
  const isOfForm = failure.code !== "LLM_CONTEXT_EXCEEDED" && !isMisread(said);
  return isOfForm ? restated(failure, { saidInAnswer: refusal }) : failure;
}

function ofNoStatus(said: ErrorBody, body: string, refusing: Refusing): ModelError {
  const { apiKey, finalErrors = [], headers = new Headers() } = refusing;
  const words = redact(said.words, apiKey).replace(/\.$/, "");
  const message = `The model's answer is not a chat completion: it says ${words}.`;
  const overflow = readOverflow({ ...said, body });
  if (overflow !== undefined) {
    return new ModelError({ code: "LLM_CONTEXT_EXCEEDED", message, retryable: false, ...overflow });
  }
  if (isWrongKey(said)) return new ModelError({ code: "LLM_AUTH_FAILED", message, retryable: false });
  const retryable = !isFinal(said, finalErrors);
  return new ModelError({
    code: isFiltered(said) ? "LLM_CONTENT_FILTERED" : "LLM_BAD_RESPONSE",
    message,
    retryable,
    retryAfterMs: retryable ? readRetryAfter(headers, new Date(), body) : undefined,
  });
}

/** What another try does not help against: a quota, a filter, how a server was started, or a code that the dialect calls so. */
function isFinal(said: ErrorBody, finalErrors: readonly string[]): boolean {
  return (
    isUsedUp(said) ||
    isFiltered(said) ||
    wantsOption(said) ||
    (said.codes.some((code) => finalErrors.includes(code)) && !passesByItself(said))
  );
}

function codeOfStatus(status: number, said: ErrorBody, body: string): ErrorCode {
  if (status === 403 && isPage(body)) return "LLM_HTTP_ERROR"; // a proxy's, which knows nothing of keys
  if (status === 401 || status === 403) {
    // As xAI, Azure (its API Management and its private networks), watsonx and Perplexity answer: the key is as it should be.
    const isOther = isUsedUp(said) || isOutOfQuota(said) || isFromElsewhere(said);
    return isOther ? "LLM_HTTP_ERROR" : "LLM_AUTH_FAILED";
  }
  if (status === 400 && isWrongKey(said)) return "LLM_AUTH_FAILED";
  if (status === 408) return "LLM_TIMEOUT";
  if (status === 429) return "LLM_RATE_LIMITED";
  return "LLM_HTTP_ERROR";
}

/** A provider's text may repeat keys and paths; histories and logs must not. */
function redact(text: string, apiKey: string | undefined): string {
  const known = redactKey(text.slice(0, MAX_LOOKED_AT), apiKey ?? "");
  return excerpt(redactAbsolutePaths(redactSecrets(known)).replace(/\s+/g, " "), 300);
}
