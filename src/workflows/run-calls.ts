import type { ModelTurnResult, PlannedCall, ToolCallInput, ToolCallOutcome } from "../contract/activities.js";
import type { Fault } from "../core/errors.js";
import { callRefusal, groupCalls, noteRefusal, takeOutcome } from "../core/engine/call-groups.js";
import type { LoopVerdict } from "../core/run/loop-detection.js";
import type { RunRecord } from "../core/engine/run-record.js";
import { localActivities } from "./activity-options.js";
import type { RunKind } from "./run-kind.js";
import { shielded } from "./steps-by-node.js";
import { summary } from "./summary.js";

/**
 * Runs the calls of one answer: reads that follow one another side by side, everything else in order
 * (contracts §9). Returns what is to be done about a model that repeats a failing call.
 */
export async function runCalls(
  record: RunRecord,
  kind: RunKind,
  nodeId: string,
  { calls, ran }: Pick<ModelTurnResult, "calls" | "ran">,
): Promise<LoopVerdict> {
  let verdict: LoopVerdict = "go-on";
  for (const group of groupCalls(calls)) {
    const run = (call: PlannedCall) => {
      const done = ran?.outcomes[calls.indexOf(call)];
      return runCall(record, kind, nodeId, call, done && { outcome: done, now: ran.now });
    };
    const [only, second] = group;
    // Each promise of workflow code costs a stack trace: a single call is awaited as it is.
    const outcomes =
      only !== undefined && second === undefined ? [await run(only)] : await Promise.all(group.map(run));
    for (const [index, outcome] of outcomes.entries()) {
      const call = group[index];
      if (call === undefined) continue;
      const now = new Date().toISOString();
      const observed = takeOutcome(record, nodeId, { call, outcome, now });
      if (observed === undefined) continue;
      // The user is asked only after a correction that the model has seen: not in the answer that earned it.
      if (verdict === "go-on") verdict = observed;
      await kind.afterCall(record, nodeId, call, outcome);
    }
  }
  return verdict;
}

function runCall(
  record: RunRecord,
  kind: RunKind,
  nodeId: string,
  call: PlannedCall,
  done?: { readonly outcome: ToolCallOutcome; readonly now: string },
): Promise<ToolCallOutcome> {
  const { conditions } = record;
  const input: ToolCallInput = {
    ...record.scope,
    conversation: kind.conversation(record),
    callId: call.id,
    nodeId,
    agentId: record.agentOf(nodeId),
    stateSha256: record.carried.stateSha256,
    now: done?.now ?? new Date().toISOString(),
    ...(conditions === undefined ? {} : { conditions }),
  };
  if (done !== undefined) return kind.runCall(record, call, input, done.outcome);
  const refusal = callRefusal(record, call);
  return refusal === undefined ? kind.runCall(record, call, input) : refuse(record, call, input, refusal);
}

/** Records a call that does not run, with what the model is told of it. */
export function refuse(
  record: RunRecord,
  call: PlannedCall,
  input: ToolCallInput,
  refusal: Fault,
): Promise<ToolCallOutcome> {
  const activity = localActivities[call.tool ?? "tool.refuse"];
  noteRefusal(record, input.nodeId, refusal);
  return shielded(record, () =>
    activity.executeWithOptions(summary(`${call.summary} refused`), [{ ...input, refusal }]),
  );
}
