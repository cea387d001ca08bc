import type { WorkflowExecutionDescription } from "@temporalio/client";
import { jsonIn } from "../../core/json.js";

/** What Temporal knows of a run's execution, as its service tells it. */
export type RawDescription = WorkflowExecutionDescription["raw"];

/** A payload's value, where it is JSON. */
export function readJson(payload: { readonly data?: Uint8Array | null } | null | undefined): unknown {
  return jsonIn(new TextDecoder().decode(payload?.data ?? new Uint8Array()));
}

/** Seconds and nanoseconds of Temporal's API as a time in UTC, ISO 8601; undefined where they say none. */
export function isoOf(
  time: { readonly seconds?: unknown; readonly nanos?: number | null } | null | undefined,
): string | undefined {
  const seconds = Number(time?.seconds ?? 0);
  if (!Number.isFinite(seconds) || seconds <= 0) return undefined;
  return new Date(seconds * 1_000 + (time?.nanos ?? 0) / 1_000_000).toISOString();
}
