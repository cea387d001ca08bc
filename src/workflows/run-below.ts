import { WorkflowExecutionAlreadyStartedError } from "@temporalio/common";
import {
  ApplicationFailure,
  CancellationScope,
  type ChildWorkflowHandle,
  condition,
  getExternalWorkflowHandle,
  isCancellation,
  patched,
  startChild,
} from "@temporalio/workflow";
import { GRAPH_RUN_WORKFLOW, WORKFLOW_TASK_TIMEOUT } from "../contract/names.js";
import type { RunBelow } from "../contract/activities.js";
import type { GraphRunInput } from "../contract/run.js";
import { thrownFault } from "../core/engine/closing.js";
import { CANCELLED, type RunResult } from "../core/run/run-result.js";
import { codeSpan, summaryLine } from "../core/markdown.js";
import { budgetBelow, faultBelow } from "../core/engine/run-below.js";
import { pauseAfter } from "../core/run/run-model.js";
import type { RunRecord } from "../core/engine/run-record.js";
import { runActivities } from "./activity-options.js";
import { tellPlace } from "./change-phase.js";
import { continueWait } from "./continue-run-as-new.js";
import { failureOf } from "./failures.js";
import { setRunMemo } from "./run-memo.js";
import { summary } from "./summary.js";
import { waitFor, waitUntilFree } from "./waiting.js";

/** A run below that somebody else lets go on is asked for this often at least. */
const LONGEST_PAUSE_MS = 60_000;

/** `graphRun`, by its name alone: its own file leads here. */
type GraphRun = (input: GraphRunInput) => Promise<RunResult>;

/** What a run below has come to, and which one it is. */
export interface Below extends RunResult {
  readonly workflowRef: string;
}

/**
 * Runs the workflow of a subworkflow's node as a run of its own, and waits for its end; the run takes no turn meanwhile. It is a child
 * workflow: cancelled with this one, and asked to end when this one is terminated. Throws the run's failure where it has not completed.
 */
export async function runBelow(record: RunRecord, nodeId: string): Promise<Below> {
  for (let times = 1; ; times += 1) {
    const begun = await prepare(record, nodeId);
    const { runId, workflowRef = "" } = begun.input;
    // Whoever has paused the run meanwhile means what it is about to start as well.
    if (record.carried.paused && patched("no-run-below-while-paused")) await waitUntilFree(record);
    record.below = { runId, workflowRef };
    const handle = await start(begun);
    record.noteAwaited(handle === undefined ? begun.workflowId : undefined);
    if (handle === undefined) {
      if (times === 1) record.note(`run ${runId} goes on by itself: waiting for its end`);
      await condition(() => !record.isRecorded, pauseAfter(times, LONGEST_PAUSE_MS));
      await waitUntilFree(record);
      await continueWait(record);
      continue;
    }
    record.note(`runs ${workflowRef} as run ${runId}`);
    if (record.pace.isPlaceOld) tellPlace(record);
    else setRunMemo(record);
    const result = await endOf(record, handle, { runId, nodeId });
    record.below = undefined;
    return { ...result, runId, workflowRef };
  }
}

function prepare(record: RunRecord, nodeId: string): Promise<RunBelow> {
  const budget = budgetBelow(record);
  return runActivities["run.below"].executeWithOptions(summary(nodeId), [
    {
      ...record.scope,
      nodeId,
      agentId: record.agentOf(nodeId),
      ...(budget === undefined ? {} : { budget }),
    },
  ]);
}

/** Undefined where the run is under way: somebody has let it go on before this one came to it. */
async function start({ workflowId, input }: RunBelow): Promise<ChildWorkflowHandle<GraphRun> | undefined> {
  const { runId, workflowRef = "", parent } = input;
  try {
    return await startChild<GraphRun>(GRAPH_RUN_WORKFLOW, {
      workflowId,
      args: [input],
      parentClosePolicy: "REQUEST_CANCEL",
      cancellationType: "WAIT_CANCELLATION_COMPLETED",
      workflowTaskTimeout: WORKFLOW_TASK_TIMEOUT,
      staticSummary: summaryLine(`${workflowRef}, below ${parent?.runId ?? ""}`),
      staticDetails: `Run ${codeSpan(runId)} of ${codeSpan(workflowRef)}, a subworkflow of run ${codeSpan(parent?.runId ?? "")}.`,
    });
  } catch (error) {
    if (error instanceof WorkflowExecutionAlreadyStartedError) return undefined;
    throw error;
  }
}

/**
 * A run that is cancelled takes the one along that goes on by itself and that it waits for, also where it has continued as new meanwhile and
 * has not looked at it since. One that is over needs no cancellation.
 */
export async function cancelAwaited(record: RunRecord, error: unknown): Promise<void> {
  const { awaits } = record.carried;
  // What a worker that has died was doing comes back as a timeout.
  const isCancelled = isCancellation(error) || CancellationScope.current().consideredCancelled;
  if (awaits === undefined || !isCancelled || !patched("no-run-below-left-behind")) return;
  await CancellationScope.nonCancellable(() => getExternalWorkflowHandle(awaits).cancel()).catch(
    () => undefined,
  );
}

/** Waits for the end. A pause or a raised budget meanwhile is recorded at once. */
async function endOf(
  record: RunRecord,
  handle: ChildWorkflowHandle<GraphRun>,
  below: { readonly runId: string; readonly nodeId: string },
): Promise<RunResult> {
  let end: { readonly result: RunResult } | { readonly error: unknown } | undefined;
  const follow = async (): Promise<void> => {
    try {
      end = { result: await handle.result() };
    } catch (error) {
      end = { error };
    }
  };
  const ended = follow();
  try {
    await waitFor(record, () => end !== undefined);
  } catch (error) {
    // The run below has been cancelled with this one: it is over before this one is.
    if (isCancellation(error)) await CancellationScope.nonCancellable(() => ended);
    throw error;
  }
  if (end !== undefined && "result" in end) return end.result;
  throw failureOf(faultBelow(record, below, saidBy(end?.error)));
}

/** Cancelled by itself: this run has not been. What ended it otherwise, such as a termination, has no code of ours. */
function saidBy(error: unknown) {
  if (isCancellation(error)) return CANCELLED;
  const cause = error instanceof Error ? error.cause : undefined;
  const message = cause instanceof Error ? cause.message : String(error);
  return thrownFault(cause instanceof ApplicationFailure ? cause.type : undefined, message);
}
