import {
  ActivityFailure,
  ApplicationFailure,
  CancellationScope,
  CancelledFailure,
  TimeoutFailure,
  createEventGroup,
  isCancellation,
  workflowInfo,
} from "@temporalio/workflow";
import type { RunExecution } from "../core/run/run-execution.js";
import type { RunResult } from "../contract/run.js";
import { ERROR_CODES, type ErrorCode, type Fault } from "../core/errors.js";
import type { Intent } from "../core/prompt/shells.js";
import { summaryLine } from "../core/markdown.js";
import { NO_USAGE } from "../core/run/usage.js";
import { cutText } from "../core/text.js";
import { isContinueAsNew, isReset } from "./continue-run-as-new.js";
import { changePhase, setSearchAttributes } from "./change-phase.js";
import { handleMessages } from "./messages.js";
import { refuseLateUpdates } from "./signed-updates.js";
import type { RunKind } from "./run-kind.js";
import { type RunRecord, effectiveAgentId } from "./run-record.js";
import { beginGraphStateVisit, closeFailedGraphState } from "./run-graph-state.js";
import { visitNode } from "./visit-node.js";
import { FIRST_WORDS_ID, writeUserInput } from "./waiting.js";

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
        id: `${cutText(nodeId, MAX_GROUP_CHARS)}#${record.carried.visit}`,
      });
      await group.withScope(() => visit(record, kind, nodeId));
    }
    await changePhase(record, "completed");
    await refuseLateUpdates(record);
  } catch (error) {
    if (isContinueAsNew(error)) throw error;
    throw await closeFailed(record, error);
  }
  return toResult(record);
}

async function openRun(record: RunRecord, kind: RunKind): Promise<void> {
  record.open = await kind.open(executionOf(record));
  const { openedFor } = record.open;
  if (openedFor !== undefined) record.update({ executionId: openedFor });
  const { run, resumed } = record.open;
  if (record.input.carried !== undefined && resumed === undefined) return;
  if (resumed !== undefined) {
    if (record.input.carried !== undefined) record.forget();
    const { visit, turn, usage, phaseChanges, audit, story } = resumed;
    const { budget = record.carried.budget, raises, answers = [] } = resumed;
    const taken = [...answers, ...(record.carried.taken ?? [])];
    record.update({ visit, turn, usage, phaseChanges, audit, budget, taken, ...(raises && { raises }) });
    if (story !== undefined) record.update({ story: { ...story, unmetPreconditions: 0 } });
  }
  await kind.begin(record);
  setSearchAttributes(record, {
    RunPhase: "running",
    RunWorkflow: run.workflowRef,
    RunPackage: run.packageId,
    RunProject: run.projectId,
    // A visit that goes on is not begun again.
    ...(record.carried.visiting === undefined ? {} : placeOf(record)),
  });
  if (resumed === undefined) record.update({ phase: "running" });
  else await changePhase(record, "running");
}

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

/** Begins a visit: anew, or once more where an earlier execution of the run was cut short in it. */
function beginVisit(record: RunRecord, kind: RunKind): void {
  const { nodeId, opened } = record;
  const isFirst = record.carried.usage.modelTurns === 0;
  const isResumed = record.carried.visit > 0 && record.carried.visit === opened.resumed?.visit;
  const isForked = isFirst && isUnderWay(record);
  const intent: Intent = isResumed || isForked ? "resume" : isFirst ? "start" : "continue";
  const resumes = isResumed ? { resumes: kind.conversation(record) } : {};
  record.update({
    visit: record.carried.visit + 1,
    turn: 0,
    visitUsage: NO_USAGE,
    visiting: { nodeId, intent, ...resumes },
  });
  setSearchAttributes(record, placeOf(record));
  beginGraphStateVisit(record);
  record.note("node entered");
}

/** A fork that does not begin where its source began: the user's first words were for another node. */
function isUnderWay({ opened }: RunRecord): boolean {
  return (opened.forkedAfter ?? 0) > 0;
}

function placeOf({ opened, nodeId }: RunRecord) {
  return { RunNode: nodeId, RunAgent: effectiveAgentId(opened, nodeId) };
}

async function visit(record: RunRecord, kind: RunKind, nodeId: string): Promise<void> {
  const words = isUnderWay(record) ? "" : (record.input.input ?? "");
  const { turn, usage } = record.carried;
  if (turn === 0 && usage.modelTurns === 0 && words !== "")
    await writeUserInput(record, kind, FIRST_WORDS_ID, words);
  await visitNode(record, kind);
  const { visiting: _, ...carried } = record.carried;
  record.carried = carried;
  await kind.endVisit(record, nodeId);
}

/** Records the failure where people look for it, and returns what the workflow is to fail with. */
async function closeFailed(record: RunRecord, problem: unknown): Promise<unknown> {
  const error = isCutShort(problem) ? new CancelledFailure("Workflow canceled", [], problem) : problem;
  const fault = toFault(error);
  if (fault === undefined) return error; // a bug: the workflow task fails and waits for a fix
  record.failure = fault;
  record.question = undefined; // what is over waits for nothing
  if (record.open !== undefined) {
    await CancellationScope.nonCancellable(async () => {
      await closeFailedGraphState(record, fault);
      await recordFailure(record, fault);
    });
  } else {
    record.setPhase("failed");
    setSearchAttributes(record, { RunPhase: "failed" });
  }
  await refuseLateUpdates(record);
  if (isCancellation(error)) return error;
  return ApplicationFailure.create({
    type: fault.code,
    message: fault.message,
    nonRetryable: true,
    ...(record.failure.details === undefined ? {} : { details: [record.failure.details] }),
    ...(error instanceof Error ? { cause: error } : {}),
  });
}

/** A failure that cannot be recorded stays the failure: what hindered that is added to it. */
async function recordFailure(record: RunRecord, fault: Fault): Promise<void> {
  try {
    await changePhase(record, "failed", fault);
  } catch (error) {
    const second = toFault(error);
    if (second === undefined) throw error; // a bug
    const unrecorded = { code: second.code, message: second.message };
    record.failure = { ...fault, details: { ...fault.details, unrecorded } };
    record.note(`not recorded: ${second.code}`);
  }
}

/** A cancelled run gives no activity another attempt: that the worker of the last one died is not why it ends. */
function isCutShort(error: unknown): error is ActivityFailure {
  const isSilent = error instanceof ActivityFailure && error.cause instanceof TimeoutFailure;
  return isSilent && CancellationScope.current().consideredCancelled;
}

function toFault(error: unknown): Fault | undefined {
  if (isCancellation(error)) return { code: "ENGINE_ABORTED", message: "The run was cancelled." };
  const failure = error instanceof ActivityFailure ? error.cause : error;
  if (failure instanceof ApplicationFailure) {
    const code = ERROR_CODES.find((known) => known === failure.type) ?? ("E_INTERNAL" satisfies ErrorCode);
    return { code, message: failure.message };
  }
  if (error instanceof ActivityFailure) {
    return {
      code: error.activityType === "model.turn" ? "LLM_TIMEOUT" : "E_INTERNAL",
      message: `${error.activityType} gave no answer in time: ${error.cause?.message ?? error.message}`,
    };
  }
  return undefined;
}

function toResult(record: RunRecord): RunResult {
  return {
    runId: record.input.runId,
    phase: "completed",
    currentNodeId: record.nodeId,
    stepsCompleted: record.frontmatter.stepsCompleted,
    artifacts: record.frontmatter.artifacts,
    usage: record.carried.usage,
  };
}
