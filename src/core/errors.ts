import type { JsonObject } from "./json.js";

/** Every code a user, a package author or a model can meet (contracts §15). */
export const ERROR_CODES = [
  "ENOENT",
  "E_SANDBOX_VIOLATION",
  "E_READ_LIMIT",
  "E_WRITE_LIMIT",
  "E_INVALID_FRONTMATTER",
  "E_SCHEMA_VALIDATION",
  "E_INVALID_TRANSITION",
  "E_PRECONDITION_FAILED",
  "E_INTERNAL",
  "TOOL_ARGS_INVALID_JSON",
  "TOOL_ARGS_INVALID",
  "TOOL_NOT_AVAILABLE",
  "TOOL_FAILED",
  "TOOL_OUTCOME_UNKNOWN",
  "LLM_AUTH_FAILED",
  "LLM_TIMEOUT",
  "LLM_RATE_LIMITED",
  "LLM_HTTP_ERROR",
  "LLM_BAD_RESPONSE",
  "LLM_REFUSED",
  "LLM_CONTENT_FILTERED",
  "LLM_CONTEXT_EXCEEDED",
  "ENGINE_MAX_TURNS_EXCEEDED",
  "ENGINE_LOOP_DETECTED",
  "ENGINE_ABORTED",
  "E_PROJECT_INVALID",
  "E_PACKAGE_NOT_FOUND",
  "E_PACKAGE_INVALID",
  "E_WORKFLOW_REF_REQUIRED",
  "E_WORKFLOW_NOT_FOUND",
  "E_AGENT_NOT_FOUND",
  "E_RUN_NOT_FOUND",
  "E_INDEX_WRITE_FAILED",
] as const;

export type ErrorCode = (typeof ERROR_CODES)[number];

/** A refusal or failure as data: what happened, in a sentence, and what a program may want to know. */
export interface Fault {
  readonly code: ErrorCode;
  readonly message: string;
  readonly details?: JsonObject;
}

/** A fault, in the place of what was expected. */
export interface Failed {
  readonly ok: false;
  readonly error: Fault;
}

/** An expected outcome: the value, or the fault that stands in its place. */
export type Result<T> = { readonly ok: true; readonly value: T } | Failed;

export function ok<T>(value: T): Result<T> {
  return { ok: true, value };
}

export function fail(code: ErrorCode, message: string, details?: JsonObject): Failed {
  return { ok: false, error: details === undefined ? { code, message } : { code, message, details } };
}
