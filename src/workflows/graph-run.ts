import {
  ActivityFailure,
  ApplicationFailure,
  CancellationScope,
  allHandlersFinished,
  condition,
  continueAsNew,
  createEventGroup,
  isCancellation,
  setHandler,
  workflowInfo,
} from "@temporalio/workflow";
import type { GraphRunInput, RunResult } from "../contract/run.js";
import { ERROR_CODES, type ErrorCode, type Fault } from "../core/errors.js";
import type { Intent } from "../core/prompt/shells.js";
import { isComplete } from "../core/state/completion.js";
import { localActivities, runActivities } from "./activity-options.js";
import { changePhase, setSearchAttributes } from "./change-phase.js";
import { acceptAnswer, answerUpdate, checkAnswer, graphStateQuery, runStateQuery } from "./messages.js";
import { RunRecord, effectiveAgentId } from "./run-record.js";
import { beginStoryVisit, closeFailedStory, closeStoryVisit, openStory } from "./story.js";
import { visitNode, writeUserInput } from "./visit-node.js";

/** Runs a graph workflow of a package: opens the run, visits nodes until it is complete, closes it. */
export async function graphRun(input: GraphRunInput): Promise<RunResult> {
  const record = new RunRecord(input);
  setHandler(runStateQuery, () => record.toRunState());
  setHandler(graphStateQuery, () => record.carried.story?.state ?? null);
  setHandler(answerUpdate, (answer) => acceptAnswer(record, answer), {
    validator: (answer) => checkAnswer(record, answer),
    description: "Answers the question the run waits with.",
  });
  try {
    await openRun(record);
    while (!isComplete(record.frontmatter, record.opened.graph)) {
      const intent = beginVisit(record);
      const group = createEventGroup(record.nodeId, { id: `${record.nodeId}#${record.carried.visit}` });
      await group.withScope(() => visit(record, intent));
      if (workflowInfo().continueAsNewSuggested) await carryOn(record);
    }
    await changePhase(record, "completed");
  } catch (error) {
    if (isContinueAsNew(error)) throw error;
    throw await closeFailed(record, error);
  }
  return toResult(record);
}

async function openRun(record: RunRecord): Promise<void> {
  const { input } = record;
  record.open = await runActivities["run.open"].executeWithOptions(
    { summary: input.packageId.slice(0, 200) },
    [
      {
        runId: input.runId,
        projectRoot: input.projectRoot,
        packageId: input.packageId,
        ...(input.workflowRef === undefined ? {} : { workflowRef: input.workflowRef }),
        ...(input.activeAgentId === undefined ? {} : { activeAgentId: input.activeAgentId }),
        ...(input.storeId === undefined ? {} : { storeId: input.storeId }),
        ...(input.rehearsal === undefined ? {} : { rehearsal: input.rehearsal }),
      },
    ],
  );
  if (input.carried !== undefined) return;
  await openStory(record);
  const loaded = await localActivities["state.load"]({ run: record.open.run });
  record.update({ frontmatter: loaded.frontmatter, stateSha256: loaded.sha256, phase: "running" });
  const { run } = record.open;
  setSearchAttributes(record, {
    RunPhase: "running",
    RunWorkflow: run.workflowRef,
    RunPackage: run.packageId,
    RunProject: run.projectId,
  });
}

function beginVisit(record: RunRecord): Intent {
  const { visit } = record.carried;
  record.update({ visit: visit + 1, turn: 0 });
  const { nodeId } = record;
  setSearchAttributes(record, { RunNode: nodeId, RunAgent: effectiveAgentId(record.opened, nodeId) });
  beginStoryVisit(record);
  record.note("node entered");
  return visit === 0 ? "start" : "continue";
}

async function visit(record: RunRecord, intent: Intent): Promise<void> {
  const words = record.input.input;
  if (intent === "start" && words !== undefined && words !== "") await writeUserInput(record, "input", words);
  const { nodeId } = record;
  await visitNode(record, intent);
  await closeStoryVisit(record, nodeId, isComplete(record.frontmatter, record.opened.graph));
}

/** Continues as new with everything the run knows, once no answer is being taken. */
async function carryOn(record: RunRecord): Promise<never> {
  await condition(allHandlersFinished);
  const { input: _, ...rest } = record.input; // said at the first node
  return continueAsNew<typeof graphRun>({ ...rest, carried: record.carried });
}

function isContinueAsNew(error: unknown): boolean {
  return error instanceof Error && error.name === "ContinueAsNew";
}

/** Records the failure where people look for it, and returns what the workflow is to fail with. */
async function closeFailed(record: RunRecord, error: unknown): Promise<unknown> {
  const fault = toFault(error);
  if (fault === undefined) return error; // a bug: the workflow task fails and waits for a fix
  record.failure = fault;
  if (record.open !== undefined) {
    await CancellationScope.nonCancellable(async () => {
      await closeFailedStory(record, fault);
      await changePhase(record, "failed", fault);
    });
  } else {
    record.setPhase("failed");
    setSearchAttributes(record, { RunPhase: "failed" });
  }
  if (isCancellation(error)) return error;
  return ApplicationFailure.create({
    type: fault.code,
    message: fault.message,
    nonRetryable: true,
    ...(error instanceof Error ? { cause: error } : {}),
  });
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
