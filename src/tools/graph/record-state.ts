import { fail } from "../../core/errors.js";
import { mergeRecord } from "../../core/graph-state/record.js";
import { withoutHistory } from "../../core/graph-state/walk.js";
import type { JsonObject } from "../../core/json.js";
import type { RunFiles } from "../../store/runs/run-files.js";
import type { CallOutcome } from "../../store/runs/call-journal.js";
import { type EngineKnowledge, refused } from "./call-context.js";

/**
 * Merges a record into the graph state of the run's story and keeps it (contracts §12): into the state the engine
 * holds or, without an engine, the one on disk. Faults: `E_SCHEMA_VALIDATION`, `E_WRITE_LIMIT`; `TOOL_NOT_AVAILABLE`
 * for a run without a story.
 */
export async function recordState(
  files: RunFiles,
  record: JsonObject,
  knowledge: Pick<EngineKnowledge, "graph">,
): Promise<CallOutcome> {
  const held = knowledge.graph ?? (await files.graphState.current());
  if (held === undefined) {
    return refused(fail("TOOL_NOT_AVAILABLE", "This run carries no story: it has no graph state.").error);
  }
  const merged = mergeRecord({ ...held.state, stateHistory: [] }, record);
  if (!merged.ok) return refused(merged.error);
  const state = withoutHistory(merged.value);
  await files.graphState.keep({ state, change: held.change + 1 });
  const { artifactPaths, routingFlags, gateDecisions, evidenceRefs } = state;
  return {
    result: { ok: true, gateDecisions, routingFlags, artifactPaths, evidenceRefs: evidenceRefs.length },
  };
}
