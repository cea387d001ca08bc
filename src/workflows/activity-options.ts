import { proxyActivities, proxyLocalActivities } from "@temporalio/workflow";
import { MODEL_TURN_MARGIN_MS } from "../contract/names.js";
import type { Activities, BundleToolActivities, ToolActivities } from "../contract/activities.js";

/**
 * Which activities are regular and which are local, and how long each may take. What moves a run is regular: it
 * shows as a bar of its own. What a run touches on the way is local: one marker in the history.
 *
 * The timeouts are chosen for a quick return after a worker's death: a regular activity is given up after its
 * heartbeat or start-to-close timeout, a local one after the workflow task timeout set at start. None has a
 * schedule-to-close timeout: a run whose worker is gone waits for it. Attempts are bounded instead.
 */

/**
 * A model call may take as long as the worker's settings let a model take, and a minute for what is around it; but a dead
 * worker shows within six seconds.
 */
export function modelActivities(maximumAttempts: number, modelTimeoutMs = 0, isLeft = false) {
  return proxyActivities<Pick<Activities, "model.turn">>({
    startToCloseTimeout: turnTimeoutMs(modelTimeoutMs),
    heartbeatTimeout: "6 seconds",
    cancellationType: "TRY_CANCEL",
    ...forAnyWorker(isLeft),
    // A longer Retry-After takes the place of the backoff. Eight attempts are about two minutes of it.
    retry: {
      initialInterval: "1 second",
      backoffCoefficient: 2,
      maximumInterval: "60 seconds",
      maximumAttempts,
    },
  });
}

/** It answers after a moment; the model is given as long as in a regular one. Never repeated here: a regular one is. */
export function quickActivities(maximumAttempts: number, modelTimeoutMs = 0) {
  return proxyLocalActivities<Pick<Activities, "model.quick-turn">>({
    startToCloseTimeout: turnTimeoutMs(modelTimeoutMs),
    retry: { maximumAttempts },
  });
}

function turnTimeoutMs(modelTimeoutMs: number): number {
  return Math.max(LEAST_TURN_MS, modelTimeoutMs + MODEL_TURN_MARGIN_MS);
}

const LEAST_TURN_MS = 600_000;

/** Disk work of a few milliseconds. Ten attempts outlast a worker's restart; a damaged store fails the run. */
const DISK_WORK = {
  startToCloseTimeout: "6 seconds",
  cancellationType: "WAIT_CANCELLATION_COMPLETED",
  retry: {
    initialInterval: "500 milliseconds",
    backoffCoefficient: 2,
    maximumInterval: "30 seconds",
    maximumAttempts: 10,
  },
} as const;

export const runActivities =
  proxyActivities<
    Pick<
      Activities,
      "node.pass" | "run.below" | "run.open" | "run.phase" | "state.load" | "state.persist" | "state.snapshot"
    >
  >(DISK_WORK);

/** A save, or a boundary, of a run whose steps are nodes, once: where it does not work a regular one shows that it is tried again. */
export const quickSaves = proxyLocalActivities<Pick<Activities, "state.persist" | "state.snapshot">>({
  startToCloseTimeout: "6 seconds",
  retry: { maximumAttempts: 1 },
});

/** `isLeft`: a worker has left it to others. */
export function openActivities(isLeft: boolean) {
  return proxyActivities<Pick<Activities, "run.open">>({ ...DISK_WORK, ...forAnyWorker(isLeft) });
}

/**
 * Temporal gives an activity to the worker that has run the workflow's task, without asking anybody else. What that worker has left
 * to others goes to the queue instead.
 */
function forAnyWorker(isLeft: boolean): { readonly allowEagerDispatch?: false } {
  return isLeft ? { allowEagerDispatch: false } : {};
}

/**
 * A call of an external tool takes as long as its settings let it, and a minute for what is around it; but a dead worker shows
 * within six seconds. What may not be made twice is not: the journal says what an attempt before has begun.
 */
export function externalActivities(timeoutMs: number) {
  return proxyActivities<Pick<Activities, "tool.call">>({
    startToCloseTimeout: timeoutMs + 60_000,
    heartbeatTimeout: "6 seconds",
    cancellationType: "WAIT_CANCELLATION_COMPLETED",
    retry: DISK_WORK.retry,
  });
}

/** What failed for a reason of the machine, such as a full disk, may work a moment later: eight attempts, 16 s. */
const SOON_AGAIN = {
  initialInterval: "200 milliseconds",
  backoffCoefficient: 2,
  maximumInterval: "5 seconds",
  maximumAttempts: 8,
} as const;

/**
 * Of an update: regular, since the order of what a local activity comes to and of what the run does meanwhile is another one when they are
 * replayed, where it ends in a later task than it has begun in.
 */
export const updateActivities = proxyActivities<Pick<Activities, "update.verify">>({
  ...DISK_WORK,
  retry: SOON_AGAIN,
});

/** The calls of a turn, and what is read or written beside them. */
export const localActivities = proxyLocalActivities<
  ToolActivities &
    BundleToolActivities &
    Pick<
      Activities,
      "graph.part" | "state.load" | "state.snapshot" | "tool.refuse" | "update.verify" | "user.input"
    >
>({
  startToCloseTimeout: "30 seconds",
  retry: SOON_AGAIN,
});
