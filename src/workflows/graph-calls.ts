import { ApplicationFailure, patched } from "@temporalio/workflow";
import type { PlannedCall, StateChange, ToolCallInput, ToolCallOutcome } from "../contract/activities.js";
import { type Fault, fail } from "../core/errors.js";
import { mergeRecord } from "../core/graph-state/record.js";
import type { JsonObject } from "../core/json.js";
import { artifactTypeOf } from "../core/package/graph.js";
import { parseFrontmatter } from "../core/state/frontmatter.js";
import { listedNamesFault } from "../core/state/listed-names.js";
import { type GuardVerdict, validateWorkflowStateUpdate } from "../core/state/transition-guard.js";
import { recordArtifact, updateFrontmatter } from "../core/state/update-frontmatter.js";
import { localActivities, runActivities } from "./activity-options.js";
import { refuse } from "./run-calls.js";
import type { RunRecord } from "./run-record.js";
import { heldState, replaceStory, tellStory } from "./story.js";
import { summary } from "./summary.js";

/** Runs one call of a graph run: a change of the state document only after the guard has said yes. */
export async function runGraphCall(
  record: RunRecord,
  call: PlannedCall,
  input: ToolCallInput,
): Promise<ToolCallOutcome> {
  if (call.change !== undefined) return changeState(record, call, call.change, input);
  if (call.record !== undefined) return recordState(record, call, call.record, input);
  if (call.tool === undefined) throw new Error(`The call ${call.id} has neither a tool nor a fault.`);
  const outcome = await localActivities[call.tool].executeWithOptions(summary(call.summary), [input]);
  if (outcome.state?.artifact !== undefined) {
    const next = parseFrontmatter(recordArtifact(record.frontmatter, outcome.state.artifact, input.now));
    if (next.ok) record.update({ frontmatter: next.value, stateSha256: outcome.state.sha256 });
  }
  return outcome;
}

/** Takes over what a call has told: an artifact with a type, a document that was changed from outside. */
export async function afterGraphCall(
  record: RunRecord,
  nodeId: string,
  call: PlannedCall,
  outcome: ToolCallOutcome,
): Promise<void> {
  if (outcome.stateConflict === true) await adoptDocument(record);
  if (call.tool !== "fs.write" || !outcome.ok || outcome.path === undefined) return;
  const artifact = artifactTypeOf(record.opened.graph, nodeId, outcome.path);
  if (artifact !== undefined) tellStory(record, { kind: "artifact", ...artifact });
}

/** Merges a record into the graph state; what does not fit changes nothing. */
async function recordState(
  record: RunRecord,
  call: PlannedCall,
  change: JsonObject,
  input: ToolCallInput,
): Promise<ToolCallOutcome> {
  const { story } = record.carried;
  if (story === undefined) return refuse(record, call, input, NO_STORY);
  const merged = mergeRecord(story.state, change);
  if (!merged.ok) return refuse(record, call, input, merged.error);
  const graph = heldState(record);
  const outcome = await localActivities["state.record"].executeWithOptions(summary(call.summary), [
    { ...input, ...(graph === undefined ? {} : { graph }) },
  ]);
  if (outcome.ok) replaceStory(record, merged.value);
  return outcome;
}

const NO_STORY: Fault = fail(
  "TOOL_NOT_AVAILABLE",
  "This run carries no story, so there is no graph state to record in.",
).error;

/** The guard says yes before anything is saved; the save runs it again on what is really on disk. */
async function changeState(
  record: RunRecord,
  call: PlannedCall,
  change: StateChange,
  input: ToolCallInput,
): Promise<ToolCallOutcome> {
  if (change.ifMatchSha256 !== undefined && change.ifMatchSha256 !== record.carried.stateSha256) {
    return refuse(record, call, input, STALE_VERSION);
  }
  const next: JsonObject =
    change.kind === "patch"
      ? updateFrontmatter(record.frontmatter, change.update, input.now)
      : change.frontmatter;
  const verdict = judge(record, next);
  if (!verdict.ok) return refuse(record, call, input, verdict.error);
  const outcome = await runActivities["state.persist"].executeWithOptions(summary(call.summary), [input]);
  const parsed = parseFrontmatter(next);
  if (outcome.state !== undefined && parsed.ok) {
    record.update({ frontmatter: parsed.value, stateSha256: outcome.state.sha256 });
  }
  return outcome;
}

/** The guard, and what the lists may gain. A history of an earlier version may hold an update that lists anything: it is followed. */
function judge({ frontmatter, conditions, opened }: RunRecord, next: JsonObject): GuardVerdict {
  const verdict = validateWorkflowStateUpdate(frontmatter, next, opened.graph, conditions);
  const error = verdict.ok ? listedNamesFault(frontmatter, next) : undefined;
  return error === undefined || !patched(LISTED_NAMES_PATCH) ? verdict : { ok: false, error };
}

const LISTED_NAMES_PATCH = "listed-names-are-checked";

const STALE_VERSION: Fault = fail(
  "E_PRECONDITION_FAILED",
  "@state/workflow.md is not at the version of ifMatchSha256. Read it again and repeat the change on what it says now.",
).error;

/** The document was changed behind the run's back: go on from what it says, if that is legal. */
async function adoptDocument(record: RunRecord): Promise<void> {
  const { run, graph } = record.opened;
  const loaded = await localActivities["state.load"].executeWithOptions(
    { summary: "state document changed from outside" },
    [{ run }],
  );
  const verdict = validateWorkflowStateUpdate(
    record.frontmatter,
    loaded.frontmatter,
    graph,
    record.conditions,
  );
  if (!verdict.ok) {
    throw ApplicationFailure.create({
      type: verdict.error.code,
      message: `The state document was changed from outside in a way the graph does not allow: ${verdict.error.message}`,
      nonRetryable: true,
    });
  }
  record.update({ frontmatter: loaded.frontmatter, stateSha256: loaded.sha256 });
  record.note("the state document was changed from outside; going on from it");
}
