import type { JsonObject } from "../core/json.js";
import { asMap, jsonOf, readDocument } from "./document-reader.js";

/** What the rehearsal needs of the state document. */
export interface DocumentState {
  readonly runId: string | undefined;
  readonly decisions: readonly NotedDecision[];
  readonly variables: JsonObject;
  /** False when the document does not have the whole decision log, or it could not be read to its end: counting in it would mislead. */
  readonly whole: boolean;
}

interface NotedDecision {
  readonly from: string;
  readonly to: string;
}

export function readState(text: string): DocumentState {
  const { data, closed } = readDocument(text);
  const runId = data?.get("runId");
  const log: unknown = data?.get("decisionLog") ?? [];
  return {
    runId: typeof runId === "string" && runId !== "" ? runId : undefined,
    decisions: Array.isArray(log) ? log.flatMap(decisionOf) : [],
    variables: objectOf(data?.get("variables")),
    whole: closed && data !== undefined && !data.has("earlierEntries"),
  };
}

function objectOf(value: unknown): JsonObject {
  return Object.fromEntries([...(asMap(value) ?? [])].map(([key, item]) => [String(key), jsonOf(item)]));
}

function decisionOf(item: unknown): NotedDecision[] {
  const entry = asMap(item);
  const from = entry?.get("from");
  const to = entry?.get("to");
  return typeof from === "string" && typeof to === "string" ? [{ from, to }] : [];
}
