import {
  ActivityFailure,
  ApplicationFailure,
  CancellationScope,
  CancelledFailure,
  allHandlersFinished,
  condition,
  makeContinueAsNewFunc,
  patched,
  workflowInfo,
} from "@temporalio/workflow";
import type { ErrorCode } from "../core/errors.js";
import { recordChanges } from "./change-phase.js";
import { barsOver } from "./node-bars.js";
import type { RunRecord } from "../core/engine/run-record.js";

/** Between two turns: continues as new where Temporal has suggested it. */
export async function continueBetweenTurns(record: RunRecord): Promise<void> {
  await resumeAfterReset(record);
  const isSuggested = record.opened.recordsLength === true ? record.isLong : isLongNow();
  if (isSuggested) await continueRunAsNew(record, () => false);
}

/**
 * Temporal suggests to continue as new. A replay may hear so earlier or later where a local activity outlasts its task, or a query is
 * answered beside it: it decides where none is near alone. Elsewhere what an activity was told of it, and has told back, does.
 */
export function isLongNow(): boolean {
  return workflowInfo().continueAsNewSuggested;
}

/** What an activity is told of it. */
export function lengthNow(): { readonly isLong?: true } {
  return isLongNow() ? { isLong: true } : {};
}

/**
 * Continues as new, with everything the run knows in one value, once no update is being taken; does nothing where the wait that it is in
 * is over meanwhile. The next execution finds the run made: it neither resumes nor forks it again.
 */
async function continueRunAsNew(record: RunRecord, isNeedless: () => boolean): Promise<void> {
  await barsOver(record);
  do {
    await condition(allHandlersFinished);
    await recordChanges(record);
  } while (!allHandlersFinished() || !record.isRecorded); // an update of a signed run is being looked at
  if (isNeedless()) return;
  // What was recorded last was not cut short by a cancellation, and the next execution would hear nothing of it.
  if (CancellationScope.current().consideredCancelled && patched("no-cancellation-left-behind"))
    throw new CancelledFailure("Workflow canceled");
  const { input: words, resume: _, ...rest } = record.input;
  const isSaid = words === undefined || record.ownTurns > 0;
  const next = makeContinueAsNewFunc({});
  await next({
    ...withoutFork(rest),
    ...packageOf(record),
    ...(isSaid ? {} : { input: words }),
    carried: record.handedOn,
  });
}

/** The same in a wait that no local activity is near, where Temporal suggests it now: the next execution goes on with the wait. */
export async function continueWait(record: RunRecord, isOver = () => false): Promise<void> {
  await resumeAfterReset(record);
  if (isLongNow()) await continueRunAsNew(record, isOver);
}

/** The execution has another id than its history says: somebody has reset it. */
export function isReset(): boolean {
  const { runId, originalExecutionRunId } = workflowInfo();
  return runId !== originalExecutionRunId;
}

/**
 * An execution that was reset to a moment after it was opened knows less than there is on disk: it ends at its first new turn,
 * and the run goes on from what is on disk. Which turn that is, the marker of `patched` says when it is replayed; so it is asked for
 * in each replay: one from a history alone has the execution's first id, as if nobody had reset it.
 */
async function resumeAfterReset(record: RunRecord): Promise<void> {
  const { carried } = record;
  if (mayHaveBeenReset(record) && patched(`reset at ${carried.visit}.${carried.turn}`)) await resume(record);
}

/**
 * The same where it is not let that far: a newer execution has opened the run before it was reset, so that the files shut it out
 * at its first activity.
 */
export async function resumeWhereShutOut(record: RunRecord, error: unknown): Promise<void> {
  const failure = error instanceof ActivityFailure ? error.cause : error; // a local activity's comes as it is
  if (!(failure instanceof ApplicationFailure) || failure.type !== SHUT_OUT) return;
  if (record.open === undefined || CancellationScope.current().consideredCancelled) return;
  if (mayHaveBeenReset(record) && patched("shut-out-after-a-reset")) await resume(record);
}

const SHUT_OUT: ErrorCode = "ENGINE_ABORTED";

function mayHaveBeenReset({ opened }: RunRecord): boolean {
  const { runId, unsafe } = workflowInfo();
  return (isReset() || unsafe.isReplaying) && opened.openedFor !== runId;
}

async function resume(record: RunRecord): Promise<void> {
  await barsOver(record);
  await condition(allHandlersFinished);
  const { carried: _, ...rest } = record.input;
  await makeContinueAsNewFunc({})({ ...withoutFork(rest), resume: true });
}

function withoutFork<I extends object>(input: I): Omit<I, "fork"> {
  return Object.fromEntries(Object.entries(input).filter(([key]) => key !== "fork")) as Omit<I, "fork">; // all but it
}

/** The package that was found by its name stays the run's. */
function packageOf({ input, opened }: RunRecord): { readonly packageId?: string } {
  return "packageId" in input ? { packageId: opened.run.packageId } : {};
}

export function isContinueAsNew(error: unknown): boolean {
  return error instanceof Error && error.name === "ContinueAsNew";
}
