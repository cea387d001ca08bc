import type { ErrorCode } from "../core/errors.js";
import { redactKey } from "../core/prompt/redact-key.js";
import { redactAbsolutePaths, redactSecrets } from "../core/prompt/redact.js";
import { excerpt } from "../core/text.js";
import { fieldsOf, parseAnswer } from "./answer-json.js";

/** Why a model call failed, and whether trying again can help (contracts §9). */
export class ModelError extends Error {
  readonly code: ErrorCode;
  readonly retryable: boolean;
  /** How long the provider asks to wait, in milliseconds. */
  readonly retryAfterMs: number | undefined;

  constructor(
    failure: { code: ErrorCode; message: string; retryable: boolean; retryAfterMs?: number | undefined },
    cause?: unknown,
  ) {
    super(failure.message, { cause });
    this.name = "ModelError";
    this.code = failure.code;
    this.retryable = failure.retryable;
    this.retryAfterMs = failure.retryAfterMs;
  }
}

const LONGEST_WAIT_MS = 10 * 60_000;

/** No answer in time. */
export function timedOut(): ModelError {
  return new ModelError({
    code: "LLM_TIMEOUT",
    message: "The model did not answer in time.",
    retryable: true,
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
  if (codeOfCause(error) === "UND_ERR_HEADERS_OVERFLOW") return badResponse("its headers are too long");
  if (isBrokenConnection(error)) {
    const message = "The model endpoint cannot be reached or broke the connection.";
    return new ModelError({ code: "LLM_HTTP_ERROR", message, retryable: true }, error);
  }
  if (error instanceof Error && error.name === "AbortError") return error;
  const message = `The model's answer could not be read: ${redact(error instanceof Error ? error.message : "unknown", apiKey)}`;
  return new ModelError({ code: "LLM_BAD_RESPONSE", message, retryable: true }, error);
}

/** What fetch throws for a connection that cannot be made, or breaks while the answer is read, has the system's cause. */
function isBrokenConnection(error: unknown): boolean {
  return /^(?:UND_ERR_|E[A-Z]+$|E[A-Z]+_|HPE_|CERT_|ERR_|DEPTH_|SELF_|UNABLE_)/.test(codeOfCause(error));
}

function codeOfCause(error: unknown): string {
  if (!(error instanceof TypeError)) return "";
  const { cause } = error;
  if (cause instanceof AggregateError) return codeOf(cause.errors[0]);
  return codeOf(cause) || (error.message === "fetch failed" ? "EUNKNOWN" : "");
}

function codeOf(cause: unknown): string {
  return cause instanceof Error && "code" in cause ? String(cause.code) : "";
}

/** What an endpoint's answer was when it was none. */
export interface Refusal {
  readonly status: number;
  readonly headers: Headers;
  /** The beginning of its body. */
  readonly body: string;
}

/**
 * Timeouts, 408, 409, 429 and 5xx are worth another try; other answers of the provider are not. `apiKey` is kept out of
 * the message.
 */
export function refusedByProvider(
  { status, headers, body }: Refusal,
  now: Date,
  apiKey?: string,
): ModelError {
  const retryable = status === 408 || status === 409 || status === 429 || status >= 500;
  const words = redact(providerWords(body), apiKey);
  return new ModelError({
    code: codeOfStatus(status),
    message: `The model endpoint answered ${status} ${words === "" ? "and said nothing" : words}`,
    retryable,
    retryAfterMs: retryable ? readRetryAfter(headers, now) : undefined,
  });
}

/** An error that came where an answer was to come. */
export function errorInAnswer(body: string, apiKey: string | undefined): ModelError {
  return badResponse(`it says ${redact(providerWords(body), apiKey)}`);
}

/** What a provider says in a body: its message, wherever its kind of server puts it, else the body as it is. */
function providerWords(body: string): string {
  let value: unknown;
  try {
    value = parseAnswer(body);
  } catch {
    return body;
  }
  const first: unknown = Array.isArray(value) ? value[0] : value;
  const fields = fieldsOf(first);
  const error = fieldsOf(fields?.["error"]) ?? fields;
  const said = [error?.["message"], fields?.["error"], fields?.["detail"], fields?.["msg"]];
  return said.find((words): words is string => typeof words === "string" && words !== "") ?? body;
}

function codeOfStatus(status: number): ErrorCode {
  if (status === 401 || status === 403) return "LLM_AUTH_FAILED";
  if (status === 408) return "LLM_TIMEOUT";
  if (status === 429) return "LLM_RATE_LIMITED";
  return "LLM_HTTP_ERROR";
}

/** `retry-after-ms`, else `Retry-After` in seconds or as an HTTP date; bounded. */
export function readRetryAfter(headers: Headers, now: Date): number | undefined {
  const milliseconds = toWait(headers.get("retry-after-ms"), 1);
  if (milliseconds !== undefined) return milliseconds;
  const value = headers.get("retry-after");
  const seconds = toWait(value, 1_000);
  if (seconds !== undefined || value === null) return seconds;
  const date = Date.parse(value);
  return Number.isNaN(date) ? undefined : Math.min(Math.max(date - now.getTime(), 0), LONGEST_WAIT_MS);
}

function toWait(value: string | null, unitMs: number): number | undefined {
  if (value === null || !/^\s*\d+(\.\d+)?\s*$/.test(value)) return undefined;
  return Math.min(Number(value) * unitMs, LONGEST_WAIT_MS);
}

/** How much of a provider's text is looked at. */
const MAX_LOOKED_AT = 4_000;

/** A provider's text may repeat keys and paths; histories and logs must not. */
function redact(text: string, apiKey: string | undefined): string {
  const known = redactKey(text.slice(0, MAX_LOOKED_AT), apiKey ?? "");
  return excerpt(redactAbsolutePaths(redactSecrets(known)).replace(/\s+/g, " "), 300);
}
