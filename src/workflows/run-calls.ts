import type { PlannedCall, ToolCallInput, ToolCallOutcome } from "../contract/activities.js";
import { ENDING_KEY, type LoopVerdict, observeCall } from "../core/engine/loop-detection.js";
import { type Fault, fail } from "../core/errors.js";
import { localActivities } from "./activity-options.js";
import type { RunKind } from "./run-kind.js";
import { type RunRecord, effectiveAgentId } from "./run-record.js";
import { tellFailedCall } from "./story.js";
import { summary } from "./summary.js";

/**
 * Runs the calls of one answer: reads that follow one another side by side, everything else in order
 * (contracts §9). Returns what is to be done about a model that repeats a failing call.
 */
export async function runCalls(
  record: RunRecord,
  kind: RunKind,
  nodeId: string,
  calls: readonly PlannedCall[],
): Promise<LoopVerdict> {
  let verdict: LoopVerdict = "go-on";
  for (const group of groupCalls(calls)) {
    const run = (call: PlannedCall) => runCall(record, kind, nodeId, call);
    const [only, second] = group;
    // Each promise of workflow code costs a stack trace: a single call is awaited as it is.
    const outcomes =
      only !== undefined && second === undefined ? [await run(only)] : await Promise.all(group.map(run));
    for (const [index, outcome] of outcomes.entries()) {
      const call = group[index];
      if (call === undefined) continue;
      record.noteCall(nodeId, call, outcome);
      if (!outcome.ok) tellFailedCall(record, nodeId, outcome);
      // Reading is no progress of a model that says it is done while something is missing.
      if (outcome.ok && isRead(call) && record.carried.loop.key === ENDING_KEY) continue;
      const observed = observeCall(record.carried.loop, { key: call.key, ok: outcome.ok });
      record.update({ loop: observed.state });
      // The user is asked only after a correction that the model has seen: not in the answer that earned it.
      if (verdict === "go-on") verdict = observed.verdict;
      await kind.afterCall(record, nodeId, call, outcome);
    }
  }
  return verdict;
}

const READS: ReadonlySet<PlannedCall["tool"]> = new Set([
  "fs.list",
  "fs.read",
  "fs.search",
  "read_file",
  "preload_workflow",
]);

function isRead(call: PlannedCall): boolean {
  return call.fault === undefined && READS.has(call.tool);
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

function runCall(
  record: RunRecord,
  kind: RunKind,
  nodeId: string,
  call: PlannedCall,
): Promise<ToolCallOutcome> {
  const { conditions } = record;
  const input: ToolCallInput = {
    run: record.opened.run,
    conversation: kind.conversation(record),
    callId: call.id,
    nodeId,
    agentId: effectiveAgentId(record.opened, nodeId),
    stateSha256: record.carried.stateSha256,
    now: new Date().toISOString(),
    ...(conditions === undefined ? {} : { conditions }),
  };
  if (record.isComplete) return refuse(record, call, input, RUN_IS_COMPLETE);
  if (call.fault !== undefined) return refuse(record, call, input, call.fault);
  return kind.runCall(record, call, input);
}

const RUN_IS_COMPLETE: Fault = fail(
  "TOOL_NOT_AVAILABLE",
  "The run is complete: an earlier call of this answer or the user has ended it. Nothing more is run.",
).error;

/** Records a call that does not run, with what the model is told of it. */
export function refuse(
  record: RunRecord,
  call: PlannedCall,
  input: ToolCallInput,
  refusal: Fault,
): Promise<ToolCallOutcome> {
  const activity = localActivities[call.tool ?? "tool.refuse"];
  record.note(`refused with ${refusal.code}: ${refusal.message}`, input.nodeId);
  return activity.executeWithOptions(summary(`${call.summary} refused`), [{ ...input, refusal }]);
}
