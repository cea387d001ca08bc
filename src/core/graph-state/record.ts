import { z } from "zod";
import { type Result, fail, ok } from "../errors.js";
import { type JsonObject, jsonBytes } from "../json.js";
import { schemaErrors } from "../schema-errors.js";
import { type GraphState, GraphStateSchema } from "./schemas.js";
import { safeValidateGraphState } from "./validate.js";

/** The most that evidence and artifact paths, the fields without a bound of their own, may have as JSON, in bytes. */
export const MAX_RECORDED_BYTES = 24 * 1024;

const { gateDecisions, evidenceRefs, artifactPaths, routingFlags } = GraphStateSchema.shape;

/** What a node may record by itself with `state.record`. */
export const StateRecordSchema = z
  .strictObject({
    gateDecisions: gateDecisions.unwrap().optional().describe("What a gate decided, by gate."),
    evidenceRefs: evidenceRefs.unwrap().optional().describe("Added to what is there."),
    artifactPaths: artifactPaths.unwrap().optional().describe("Where an artifact lies, by its type."),
    routingFlags: routingFlags.unwrap().optional().describe("complete excludes retry and blocked."),
  })
  .refine((record) => Object.keys(record).length > 0, {
    error: "records nothing: give at least one field",
    when: ({ issues }) => issues.length === 0,
  });
export type StateRecord = z.infer<typeof StateRecordSchema>;

/**
 * The state with a record merged in: records key by key, evidence appended unless it is there. Faults, with nothing
 * merged: `E_SCHEMA_VALIDATION` with `details.errors[]` of `{ path, message }`, for the record itself and for a state
 * it would make invalid; `E_WRITE_LIMIT` for one that would make evidence and paths grow beyond
 * {@link MAX_RECORDED_BYTES}. A gate is never refused for its size: errors and evidence cannot keep one shut.
 */
export function mergeRecord(state: GraphState, record: JsonObject): Result<GraphState> {
  const parsed = StateRecordSchema.safeParse(record);
  if (!parsed.success) return doesNotFit(parsed.error);
  const merged = safeValidateGraphState(withRecord(state, parsed.data));
  if (!merged.success) return doesNotFit(merged.error);
  const bytes = recordedBytes(merged.data);
  if (bytes <= MAX_RECORDED_BYTES || bytes <= recordedBytes(state)) return ok(merged.data);
  return fail(
    "E_WRITE_LIMIT",
    `Evidence and artifact paths would have more than ${MAX_RECORDED_BYTES} bytes together. Keep details in files and record their paths. Nothing was changed.`,
  );
}

function recordedBytes({ artifactPaths, evidenceRefs }: GraphState): number {
  return jsonBytes([artifactPaths, evidenceRefs]);
}

function withRecord(state: GraphState, record: StateRecord): GraphState {
  const known = new Set(state.evidenceRefs.map((ref) => JSON.stringify(ref)));
  const added = (record.evidenceRefs ?? []).filter((ref) => !known.has(JSON.stringify(ref)));
  return {
    ...state,
    artifactPaths: { ...state.artifactPaths, ...record.artifactPaths },
    routingFlags: { ...state.routingFlags, ...record.routingFlags },
    evidenceRefs: [...state.evidenceRefs, ...added],
    gateDecisions: { ...state.gateDecisions, ...record.gateDecisions },
  };
}

function doesNotFit(error: z.ZodError): { ok: false; error: ReturnType<typeof fail>["error"] } {
  const errors = schemaErrors(error.issues);
  const first = errors[0];
  const sentence = `The record does not fit the graph state: ${first?.path || "(root)"}: ${first?.message}. Nothing was changed.`;
  return fail("E_SCHEMA_VALIDATION", sentence, { errors });
}
