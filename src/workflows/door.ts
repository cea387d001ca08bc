import { ApplicationFailure, workflowInfo } from "@temporalio/workflow";
import { type RunInputs, validateContinuedInput, validateRunInput } from "../contract/run-input.js";
import type { RunWorkflow } from "../contract/names.js";
import type { Identified } from "../contract/run.js";
import type { RunResult } from "../core/run/run-result.js";
import { type Failed, type Fault, type Result, fail, ok } from "../core/errors.js";
import { isRunId, runIdIn, workflowIdOf } from "../core/run/run-id.js";
import { handleQueries } from "./messages.js";
import { Unreadable, requireOpened } from "./payload-converter.js";
import { openRecord } from "./open-record.js";

/**
 * The door of a run: what Temporal hands in is parsed here, once, and the run is given its id. Whoever stands outside it may
 * send anything; whoever stands inside it has a run's input.
 */
export function enter<W extends RunWorkflow>(
  workflow: W,
  args: readonly unknown[],
): Result<Identified<RunInputs[W]>> {
  const [argument] = args;
  if (args.length !== 1) {
    return notValid(`input: a run is started with one argument, its input, not with ${args.length}`);
  }
  requireOpened(argument);
  if (argument instanceof Unreadable) {
    return notValid(`input: this worker cannot read it, ${argument.reason}. Send plain JSON`);
  }
  const { attempt, continuedFromExecutionRunId, cronSchedule } = workflowInfo();
  // Temporal's own repetitions name an execution that they go on from, too: whoever starts one would say what it carries.
  if (attempt > 1 || (cronSchedule ?? "") !== "") {
    return notValid(
      "input: a run is not repeated by a cron schedule or a retry policy of its workflow. Use a schedule of Temporal's, or interlock retry",
    );
  }
  const isContinued = continuedFromExecutionRunId !== undefined;
  const input = isContinued
    ? validateContinuedInput(workflow, argument)
    : validateRunInput(workflow, argument);
  return input.ok ? identified(input.value) : input;
}

/** Fails the run with what the door has found. Whoever asks for it later is told the same. */
export function turnAway({ code, message, details }: Fault): Promise<RunResult> {
  const runId = runIdIn(workflowInfo().workflowId) ?? workflowInfo().firstExecutionRunId;
  const record = openRecord({ runId }, false);
  record.setPhase("failed");
  record.failure = { code, message };
  record.note(`failed: ${code}`);
  handleQueries(record);
  throw ApplicationFailure.create({
    type: code,
    message,
    nonRetryable: true,
    ...(details === undefined ? {} : { details: [details] }),
  });
}

/**
 * Which run this workflow is. A workflow id `run-<runId>` is that run; any other one begins a run of its own, whose id is that of
 * the first of its executions, which Temporal makes and nobody chooses. That a run which is named belongs to this workflow is
 * checked where its files are, before anything is touched.
 */
function identified<I extends RunInputs[RunWorkflow]>(input: I): Result<Identified<I>> {
  const { workflowId, firstExecutionRunId } = workflowInfo();
  const own = runIdIn(workflowId);
  const runId = input.runId ?? own ?? firstExecutionRunId;
  if (input.runId === undefined && own === undefined && input.resume === true) {
    return notValid("runId: a run that goes on under a workflow id of its own has to be named");
  }
  if (isRunId(runId)) return ok({ ...input, runId });
  return notValid(`runId: ${runId} is not a run's id. Use a workflow id like ${workflowIdOf("<runId>")}`);
}

function notValid(sentence: string): Failed {
  return fail("E_SCHEMA_VALIDATION", `What the run is started with is not valid. ${sentence}.`);
}
