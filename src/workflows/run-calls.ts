import { ApplicationFailure } from "@temporalio/workflow";
import type { PlannedCall, StateChange, ToolCallInput, ToolCallOutcome } from "../contract/activities.js";
import { type LoopVerdict, observeCall } from "../core/engine/loop-detection.js";
import { type Fault, fail } from "../core/errors.js";
import { mergeRecord } from "../core/graph-state/record.js";
import type { JsonObject } from "../core/json.js";
import { artifactTypeOf } from "../core/package/graph.js";
import { isComplete } from "../core/state/completion.js";
import { parseFrontmatter } from "../core/state/frontmatter.js";
import { validateWorkflowStateUpdate } from "../core/state/transition-guard.js";
import { recordArtifact, updateFrontmatter } from "../core/state/update-frontmatter.js";
import { localActivities, runActivities } from "./activity-options.js";
import { type RunRecord, effectiveAgentId } from "./run-record.js";
import { heldState, replaceStory, tellFailedCall, tellStory } from "./story.js";

/**
 * Runs the calls of one answer: reads that follow one another side by side, everything else in order
 * (contracts §9). Returns what is to be done about a model that repeats a failing call.
 */
export async function runCalls(
  record: RunRecord,
  conversation: string,
  nodeId: string,
  calls: readonly PlannedCall[],
): Promise<LoopVerdict> {
  let verdict: LoopVerdict = "go-on";
  for (const group of groupCalls(calls)) {
    const run = (call: PlannedCall) => runCall(record, conversation, nodeId, call);
    const [only, second] = group;
    // Each promise of workflow code costs a stack trace: a single call is awaited as it is.
    const outcomes =
      only !== undefined && second === undefined ? [await run(only)] : await Promise.all(group.map(run));
    for (const [index, outcome] of outcomes.entries()) {
      const call = group[index];
      if (call === undefined) continue;
      record.noteCall(nodeId, call, outcome);
      noteForStory(record, nodeId, call, outcome);
      const observed = observeCall(record.carried.loop, { key: call.key, ok: outcome.ok });
      record.update({ loop: observed.state });
      // The user is asked only after a correction that the model has seen: not in the answer that earned it.
      if (verdict === "go-on") verdict = observed.verdict;
    }
    if (outcomes.some((outcome) => outcome.stateConflict)) await adoptDocument(record);
  }
  return verdict;
}

function isRead(call: PlannedCall): boolean {
  return (
    call.fault === undefined &&
    (call.tool === "fs.list" || call.tool === "fs.read" || call.tool === "fs.search")
  );
}

function groupCalls(calls: readonly PlannedCall[]): readonly (readonly PlannedCall[])[] {
  const groups: PlannedCall[][] = [];
  let reads: PlannedCall[] | undefined;
  for (const call of calls) {
    if (reads !== undefined && isRead(call)) reads.push(call);
    else {
      groups.push([call]);
      reads = isRead(call) ? groups.at(-1) : undefined;
    }
  }
  return groups;
}

async function runCall(
  record: RunRecord,
  conversation: string,
  nodeId: string,
  call: PlannedCall,
): Promise<ToolCallOutcome> {
  const { run, graph } = record.opened;
  const input: ToolCallInput = {
    run,
    conversation,
    callId: call.id,
    nodeId,
    agentId: effectiveAgentId(record.opened, nodeId),
    stateSha256: record.carried.stateSha256,
    now: new Date().toISOString(),
    ...(record.conditions === undefined ? {} : { conditions: record.conditions }),
  };
  if (isComplete(record.frontmatter, graph)) return refuse(record, call, input, RUN_IS_COMPLETE);
  if (call.fault !== undefined) return refuse(record, call, input, call.fault);
  if (call.change !== undefined) return changeState(record, call, call.change, input);
  if (call.record !== undefined) return recordState(record, call, call.record, input);
  if (call.tool === undefined) throw new Error(`The call ${call.id} has neither a tool nor a fault.`);
  const outcome = await localActivities[call.tool].executeWithOptions({ summary: call.summary }, [input]);
  if (outcome.state?.artifact !== undefined) {
    const next = parseFrontmatter(recordArtifact(record.frontmatter, outcome.state.artifact, input.now));
    if (next.ok) record.update({ frontmatter: next.value, stateSha256: outcome.state.sha256 });
  }
  return outcome;
}

/** What a call did that the graph state of a story is made of. */
function noteForStory(record: RunRecord, nodeId: string, call: PlannedCall, outcome: ToolCallOutcome): void {
  if (!outcome.ok) {
    tellFailedCall(record, nodeId, outcome);
    return;
  }
  if (call.tool !== "fs.write" || outcome.path === undefined) return;
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
  const outcome = await localActivities["state.record"].executeWithOptions({ summary: call.summary }, [
    { ...input, ...(graph === undefined ? {} : { graph }) },
  ]);
  if (outcome.ok) replaceStory(record, merged.value);
  return outcome;
}

const NO_STORY: Fault = fail(
  "TOOL_NOT_AVAILABLE",
  "This run carries no story, so there is no graph state to record in.",
).error;

const RUN_IS_COMPLETE: Fault = fail(
  "TOOL_NOT_AVAILABLE",
  "The run is complete: an earlier call of this answer finished it. Nothing more is run.",
).error;

function refuse(
  record: RunRecord,
  call: PlannedCall,
  input: ToolCallInput,
  refusal: Fault,
): Promise<ToolCallOutcome> {
  const activity = localActivities[call.tool ?? "tool.refuse"];
  record.note(`refused with ${refusal.code}: ${refusal.message}`, input.nodeId);
  return activity.executeWithOptions({ summary: `${call.summary} refused` }, [{ ...input, refusal }]);
}

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
  const verdict = validateWorkflowStateUpdate(
    record.frontmatter,
    next,
    record.opened.graph,
    record.conditions,
  );
  if (!verdict.ok) return refuse(record, call, input, verdict.error);
  const outcome = await runActivities["state.persist"].executeWithOptions({ summary: call.summary }, [input]);
  const parsed = parseFrontmatter(next);
  if (outcome.state !== undefined && parsed.ok) {
    record.update({ frontmatter: parsed.value, stateSha256: outcome.state.sha256 });
  }
  return outcome;
}

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
