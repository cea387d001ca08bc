import {
  ActivityFailure,
  ApplicationFailure,
  CancellationScope,
  CancelledFailure,
  TimeoutFailure,
  createEventGroup,
  isCancellation,
  patched,
  sleep,
  workflowInfo,
} from "@temporalio/workflow";
import { addUnrecorded, silentFault, thrownFault, toResult } from "../core/engine/closing.js";
import { CANCELLED, type RunResult } from "../core/run/run-result.js";
import { MODEL_MISSING_FAILURE } from "../contract/names.js";
import type { OpenedRun } from "../core/run/opened-run.js";
import type { RunExecution } from "../core/run/run-execution.js";
import { pauseAfter } from "../core/run/run-model.js";
import { beginGraphStateVisit } from "../core/engine/run-graph-state.js";
import type { RunRecord } from "../core/engine/run-record.js";
import { FIRST_WORDS_ID } from "../core/run/carried-run.js";
import type { Fault } from "../core/errors.js";
import { summaryLine } from "../core/markdown.js";
import { cutText } from "../core/text.js";
import { isContinueAsNew, isReset, resumeWhereShutOut } from "./continue-run-as-new.js";
import { failureOf } from "./failures.js";
import { changePhase, placeOf, setSearchAttributes, tellPlace } from "./change-phase.js";
import { handleMessages } from "./messages.js";
import { setRunMemo } from "./run-memo.js";
import { refuseLateUpdates } from "./signed-updates.js";
import { seals } from "./payload-converter.js";
import type { RunKind } from "./run-kind.js";
import { closeFailedGraphState } from "./keep-graph-state.js";
import { barsOver } from "./node-bars.js";
import { cancelAwaited } from "./run-below.js";
import { visitNode } from "./visit-node.js";
import { writeUserInput } from "./waiting.js";

const MAX_GROUP_CHARS = 200;

/** The story of a run, whatever its kind: open it, visit nodes until it is complete, close it. */
export async function conductRun(record: RunRecord, kind: RunKind): Promise<RunResult> {
  handleMessages(record, kind);
  try {
    await openRun(record, kind);
    while (!record.isComplete || record.carried.visiting !== undefined) {
      const nodeId = record.carried.visiting?.nodeId ?? record.nodeId;
      if (record.carried.visiting === undefined) beginVisit(record, kind);
      const group = createEventGroup(summaryLine(nodeId), {
        id: `${seals() ? "" : cutText(nodeId, MAX_GROUP_CHARS)}#${record.carried.visit}`, // Temporal keeps it in plain
      });
      await group.withScope(() => visit(record, kind, nodeId));
    }
    await changePhase(record, "completed");
    await barsOver(record);
    await refuseLateUpdates(record);
  } catch (error) {
    if (isContinueAsNew(error)) throw error;
    await resumeWhereShutOut(record, error);
    await cancelAwaited(record, error);
    throw await closeFailed(record, error);
  }
  return toResult(record);
}

async function openRun(record: RunRecord, kind: RunKind): Promise<void> {
  const opening = record.begin(await openWithModel(record, kind));
  if (opening === "continued") return setRunMemo(record);
  await kind.begin(record);
  const { run } = record.opened;
  setSearchAttributes(record, {
    RunPhase: "running",
    RunWorkflow: run.workflowRef,
    RunPackage: run.packageId,
    RunProject: run.projectId,
    // A visit that goes on is not begun again.
    ...(record.carried.visiting === undefined ? {} : placeOf(record)),
  });
  if (opening === "begun") {
    record.update({ phase: "running" });
    setRunMemo(record);
  } else await changePhase(record, "running");
}

/** Opens the run with a worker that has its model: one that has not leaves it to another one. Nothing is made until then. */
async function openWithModel(record: RunRecord, kind: RunKind): Promise<OpenedRun> {
  let said = "";
  for (let times = 1; ; times += 1) {
    try {
      return await kind.open(record, executionOf(record), times > 1);
    } catch (error) {
      const cause = error instanceof ActivityFailure ? error.cause : undefined;
      if (!(cause instanceof ApplicationFailure) || cause.type !== MODEL_MISSING_FAILURE) throw error;
      if (times === OPENINGS) {
        const message = `${cause.message} Nobody took it in ${OPENINGS} tries.`;
        throw failureOf({ code: "LLM_AUTH_FAILED", message });
      }
      record.update({ isLeft: true });
      if (said !== cause.message) record.note(cause.message);
      said = cause.message;
      await sleep(pauseAfter(times, LONGEST_PAUSE_MS));
    }
  }
}

/** How many workers are asked, one after the other and often the same: in all, some forty seconds. */
const OPENINGS = 24;
const LONGEST_PAUSE_MS = 2_000;

/**
 * The execution that opens the run. One that was reset has another id than its history says, and what the run has done
 * since that history is on disk: it is a newer execution, like that of a retry.
 */
function executionOf({ input }: RunRecord): RunExecution {
  const { workflowId, runId, firstExecutionRunId, continuedFromExecutionRunId, startTime } = workflowInfo();
  const continued = continuedFromExecutionRunId === undefined ? {} : { continued: true as const };
  const wasReset = input.resume === true && continuedFromExecutionRunId !== undefined;
  if (isReset() || wasReset) {
    return { id: runId, startedAt: Date.now(), workflowId, resetOf: firstExecutionRunId, ...continued };
  }
  const id = input.carried?.executionId ?? firstExecutionRunId;
  return { id, startedAt: startTime.getTime(), workflowId, ...continued };
}

function beginVisit(record: RunRecord, kind: RunKind): void {
  record.beginVisit(kind.conversation(record));
  if (record.pace.isPlaceDue(Date.now())) tellPlace(record);
  beginGraphStateVisit(record);
  record.note("node entered");
}

async function visit(record: RunRecord, kind: RunKind, nodeId: string): Promise<void> {
  if ((await kind.visitAlone?.(record)) !== true) {
    const { firstWords } = record;
    if (firstWords !== undefined) {
      await writeUserInput(record, kind, { id: FIRST_WORDS_ID, text: firstWords });
    }
    await visitNode(record, kind);
  }
  record.endVisit();
  await kind.endVisit(record, nodeId);
}

/** Records the failure where people look for it, and returns what the workflow is to fail with. */
async function closeFailed(record: RunRecord, problem: unknown): Promise<unknown> {
  const error = isCutShort(problem) ? new CancelledFailure("Workflow canceled", [], problem) : problem;
  const fault = toFault(error);
  if (fault === undefined) return error; // a bug: the workflow task fails and waits for a fix
  record.fail(fault);
  if (record.open !== undefined) {
    await CancellationScope.nonCancellable(async () => {
      await closeFailedGraphState(record, fault);
      await recordFailure(record, fault);
    });
  } else {
    record.setPhase("failed");
    record.note(`failed: ${fault.code}`);
    // No worker has looked whether the namespace has it: one that it lacks would keep the run from ending.
    if (record.mayBeSearchedBy("RunPhase") && !patched(UNOPENED_PATCH)) {
      setSearchAttributes(record, { RunPhase: "failed" });
    }
  }
  await barsOver(record);
  await refuseLateUpdates(record);
  if (isCancellation(error)) return error;
  return ApplicationFailure.create({
    type: fault.code,
    message: fault.message,
    nonRetryable: true,
    ...(record.failure?.details === undefined ? {} : { details: [record.failure.details] }),
    ...(error instanceof Error ? { cause: error } : {}),
  });
}

const UNOPENED_PATCH = "no-attributes-before-the-run-is-open";

/** A failure that cannot be recorded stays the failure: what hindered that is added to it. */
async function recordFailure(record: RunRecord, fault: Fault): Promise<void> {
  try {
    await changePhase(record, "failed", { fault });
  } catch (error) {
    const second = toFault(error);
    if (second === undefined) throw error; // a bug
    addUnrecorded(record, fault, second);
  }
}

/** A cancelled run gives no activity another attempt: that the worker of the last one died is not why it ends. */
function isCutShort(error: unknown): error is ActivityFailure {
  const isSilent = error instanceof ActivityFailure && error.cause instanceof TimeoutFailure;
  return isSilent && CancellationScope.current().consideredCancelled;
}

function toFault(error: unknown): Fault | undefined {
  if (isCancellation(error)) return CANCELLED;
  const failure = error instanceof ActivityFailure ? error.cause : error;
  if (failure instanceof ApplicationFailure) return thrownFault(failure.type, failure.message);
  if (!(error instanceof ActivityFailure)) return undefined;
  return silentFault(error.activityType, error.cause?.message ?? error.message);
}
