import { setTimeout as sleep } from "node:timers/promises";
import type { RunHandle } from "../../client/client.js";
import { isUnanswered } from "../../client/temporal/grpc-status.js";
import type { RunState } from "../../core/run/run-state.js";
import { CommandError } from "../terminal/output.js";
import { taskFailureWords } from "../session/standstill-words.js";

/** What of a run is asked. */
type Asked = Pick<RunHandle, "runId" | "state" | "pendingWork" | "requireOpen">;

const PAUSE_MS = 2_000;
/** A task that fails in one worker may be taken by another one. */
const MAX_FAILED = 10;

/** Undefined, after a pause, where Temporal answers and no worker does. */
export async function stateOf(
  run: Pick<Asked, "state" | "pendingWork">,
  pauseMs = PAUSE_MS,
): Promise<RunState | undefined> {
  try {
    return await run.state();
  } catch (error) {
    if (!isUnanswered(error)) throw error;
    await run.pendingWork().catch(() => {
      throw error; // it is Temporal that does not answer
    });
    await sleep(pauseMs);
    return undefined;
  }
}

/**
 * Where an open run stands, however long it takes until a worker says it. Throws for one that is over meanwhile, and a sentence where
 * its workflow task fails in every worker.
 */
export async function stateOnceAsked(run: Asked, pauseMs = PAUSE_MS): Promise<RunState> {
  for (let failed = 0; ;) {
    const state = await stateOf(run, pauseMs);
    if (state !== undefined) return state;
    await run.requireOpen();
    const { taskFailure } = await run.pendingWork();
    failed = taskFailure === undefined ? 0 : failed + 1;
    if (taskFailure !== undefined && failed >= MAX_FAILED) {
      throw new CommandError(taskFailureWords(run.runId, taskFailure));
    }
  }
}
