import { setTimeout as sleep } from "node:timers/promises";
import { ANSWER_UPDATE } from "../../contract/names.js";
import { type Sign, updateStatement } from "../../contract/signed.js";
import { excerpt } from "../../core/text.js";
import { questionIn } from "../../core/run/question.js";
import type { RunState } from "../../core/run/run-state.js";
import { isOpenStatus, isOver } from "../runs/execution-status.js";
import { newestTaskFailure } from "../runs/read-pending-work.js";
import {
  InterlockError,
  isBetweenWorkers,
  isClosing,
  isNotFound,
  isTaskFailed,
  jsonOf,
} from "../temporal/interlock-error.js";
import type { Addressed } from "../runs/run-address.js";
import type { TemporalAccess } from "../runs/run-start.js";

/** Longer than it takes until a dead worker's task is given to another one. */
const MAX_ATTEMPTS = 30;
const PAUSE_MS = 1_000;
const MAX_WHY_CHARS = 300;

/**
 * Far more than any update needs. Temporal takes 4 MiB, but what a worker says to an update repeats it, and more than 2 MiB no worker may
 * say: the run's workflow task would fail for ever.
 */
const MAX_UPDATE_BYTES = 512 * 1024;

/** Who is told. */
interface UpdatedRun extends Addressed {
  state(): Promise<RunState>;
}

/** What a run is told. The same `updateId` again is the same update. */
interface RunUpdate {
  readonly name: string;
  readonly argument: object | undefined;
  readonly updateId: string;
}

/**
 * Tells a run something, signed where the access has a signer, and returns what it says. Where Temporal takes no update because
 * the run's worker has just died, it is sent again for a while. Throws `E_PRECONDITION_FAILED` for a run that is over, and for one
 * whose workflow task fails again and again, and for more than a run can be told at once; and what Temporal says.
 */
export async function sendUpdate(
  access: TemporalAccess,
  run: UpdatedRun,
  update: RunUpdate,
): Promise<unknown> {
  refuseLong(update);
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await sendOnce(access, run, update);
    } catch (error) {
      if (error instanceof ContinuedMeanwhile && attempt < MAX_ATTEMPTS) continue;
      if (isNotFound(error)) {
        const found = await overOrUnknown(access, run, error);
        if (found === undefined && attempt < MAX_ATTEMPTS) continue; // it goes on in another execution
        throw found ?? error;
      }
      if (isClosing(error)) throw standsStill(error);
      if (isTaskFailed(error)) throw await taskFailed(access, run, error);
      if (!isBetweenWorkers(error)) throw error;
      if (attempt === MAX_ATTEMPTS) throw standsStill(error);
      await sleep(PAUSE_MS);
    }
  }
}

function refuseLong({ argument }: RunUpdate): void {
  const bytes = argument === undefined ? 0 : Buffer.byteLength(jsonOf("what a run is told", argument));
  if (bytes <= MAX_UPDATE_BYTES) return;
  const message = `A run is told at most ${MAX_UPDATE_BYTES} bytes at once, and this has ${bytes}. Put longer texts into a project file.`;
  throw new InterlockError({ code: "E_PRECONDITION_FAILED", message });
}

function standsStill(cause: unknown): InterlockError {
  const message =
    "The run can be told nothing: its workflow task fails, and is tried again. Its status says why.";
  return new InterlockError({ code: "E_PRECONDITION_FAILED", message }, cause);
}

/** Temporal itself does not say why. */
async function taskFailed(access: TemporalAccess, run: UpdatedRun, cause: unknown): Promise<InterlockError> {
  const { workflowId, executionRunId = "" } = await run.address();
  const why = await newestTaskFailure(access, { workflowId, runId: executionRunId }).catch(() => undefined);
  const said = why === undefined ? "" : ` (${excerpt(why, MAX_WHY_CHARS)})`;
  const message = `The run was told nothing: its workflow task has failed${said}. Nothing is lost. Mend that, and tell it again. See: interlock doctor`;
  return new InterlockError({ code: "E_PRECONDITION_FAILED", message }, cause);
}

async function sendOnce(access: TemporalAccess, run: UpdatedRun, update: RunUpdate): Promise<unknown> {
  const { name, argument, updateId } = update;
  if (access.sign !== undefined) return sendSigned(access, access.sign, run, update);
  const { workflowId, executionRunId, ...chain } = await run.address();
  const workflow = access.temporal.workflow.getHandle(workflowId, executionRunId, chain);
  return argument === undefined
    ? workflow.executeUpdate<unknown, []>(name, { updateId })
    : workflow.executeUpdate<unknown, [object]>(name, { args: [argument], updateId });
}

/** What was told had been signed for the execution before. */
class ContinuedMeanwhile extends Error {}

/** What is signed is told to one execution. Throws `ContinuedMeanwhile` where another one has taken its place. */
async function sendSigned(
  { temporal: { workflow } }: TemporalAccess,
  sign: Sign,
  run: UpdatedRun,
  { name, argument, updateId }: RunUpdate,
): Promise<unknown> {
  const { workflowId, executionRunId, ...chain } = await run.address();
  const newest = workflow.getHandle(workflowId, executionRunId);
  const question = name === ANSWER_UPDATE ? { question: questionIn(await run.state()) } : {};
  const { runId: executionId } = await newest.describe();
  const statement = updateStatement(
    { update: name, workflowId, executionId, updateId, ...question },
    argument,
  );
  const signed = { ...argument, signature: await sign(statement) };
  try {
    const execution = workflow.getHandle(workflowId, executionId, chain);
    return await execution.executeUpdate<unknown, [object]>(name, { args: [signed], updateId });
  } catch (error) {
    if (!isNotFound(error)) throw error;
    const { runId } = await newest.describe();
    throw runId === executionId ? error : new ContinuedMeanwhile(undefined, { cause: error });
  }
}

/** Temporal does not find what has ended either: only a run that it cannot describe is unknown. Undefined for one that is open. */
async function overOrUnknown(access: TemporalAccess, run: UpdatedRun, error: unknown): Promise<unknown> {
  const { workflowId, executionRunId } = await run.address();
  const { status } = await access.temporal.workflow.getHandle(workflowId, executionRunId).describe();
  return isOpenStatus(status.name) ? undefined : isOver(status.name, error);
}
