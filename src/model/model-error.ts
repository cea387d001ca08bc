import { APIConnectionError, APIConnectionTimeoutError, APIError, APIUserAbortError } from "openai";
import type { ErrorCode } from "../core/errors.js";
import { redactAbsolutePaths, redactSecrets } from "../core/prompt/redact.js";
import { excerpt } from "../core/text.js";

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

/**
 * Classifies what the OpenAI client threw. Timeouts, connection faults, 408, 409, 429 and 5xx are worth another
 * try; other answers of the provider are not. Aborts are returned as they are. `apiKey` is kept out of messages:
 * a provider may repeat it, and messages enter histories.
 */
export function classifyModelError(error: unknown, now: Date, apiKey?: string): unknown {
  if (error instanceof ModelError || error instanceof APIUserAbortError) return error;
  if (error instanceof APIConnectionTimeoutError) return timedOut();
  if (error instanceof APIConnectionError || isBrokenConnection(error)) {
    const message = "The model endpoint cannot be reached or broke the connection.";
    return new ModelError({ code: "LLM_HTTP_ERROR", message, retryable: true }, error);
  }
  if (error instanceof APIError && typeof error.status === "number") {
    const headers: unknown = error.headers;
    const retryAfterMs = headers instanceof Headers ? readRetryAfter(headers, now) : undefined;
    return fromStatus(error.status, redact(error.message, apiKey), retryAfterMs);
  }
  if (error instanceof Error && error.name === "AbortError") return error;
  const message = `The model's answer could not be read: ${redact(error instanceof Error ? error.message : "unknown", apiKey)}`;
  return new ModelError({ code: "LLM_BAD_RESPONSE", message, retryable: true }, error);
}

/** What fetch throws when the connection breaks while the answer is read: "terminated", caused by a socket error. */
function isBrokenConnection(error: unknown): boolean {
  if (!(error instanceof TypeError) || !(error.cause instanceof Error)) return false;
  return "code" in error.cause && /^(?:UND_ERR_|E[A-Z]+$)/.test(String(error.cause.code));
}

function fromStatus(status: number, providerText: string, retryAfterMs: number | undefined): ModelError {
  const retryable = status === 408 || status === 409 || status === 429 || status >= 500;
  return new ModelError({
    code: codeOf(status),
    message: `The model endpoint answered ${providerText.startsWith(String(status)) ? providerText : `${status} ${providerText}`}`,
    retryable,
    retryAfterMs: retryable ? retryAfterMs : undefined,
  });
}

function codeOf(status: number): ErrorCode {
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

/** A provider's text may repeat keys and paths; histories and logs must not. */
function redact(text: string, apiKey: string | undefined): string {
  const known = apiKey === undefined || apiKey === "" ? text : text.replaceAll(apiKey, "<secret>");
  return excerpt(redactAbsolutePaths(redactSecrets(known.slice(0, 4_000))).replace(/\s+/g, " "), 300);
}
