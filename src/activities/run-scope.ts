import { ApplicationFailure } from "@temporalio/activity";
import type { OfRun, OpenRunInput } from "../contract/activities.js";
import { WRONG_STORE_FAILURE } from "../contract/names.js";
import { type Failed, type Result, fail } from "../core/errors.js";
import type { RunPhase } from "../core/run/phase.js";
import type { RunRef } from "../core/run/run-ref.js";
import { excerpt } from "../core/text.js";
import { whyLost } from "../store/lost-store.js";
import type { PermittedRoot } from "../store/roots/roots.js";
import type { RunFiles } from "../store/runs/run-files.js";
import type { Store } from "../store/store.js";
import { toApplicationFailure, unwrap } from "./failures.js";

/** Refuses a run of another store with a sentence. Retryable: a worker with the right store may come. */
export function checkStore(store: Store, storeId: string | undefined): void {
  if (storeId === undefined || storeId === store.storeId) return;
  throw ApplicationFailure.create({
    type: WRONG_STORE_FAILURE,
    message: `This worker has store ${store.storeId}, but the run lives in store ${storeId}. Start a worker with that store, or give this store a task queue of its own.`,
  });
}

/** Refuses to work where this worker's store does not stand any more. Retryable: it may be put back, and a worker that has it may come. */
export async function checkStands(store: Store): Promise<void> {
  const message = await whyLost(store);
  if (message !== undefined) throw ApplicationFailure.create({ type: WRONG_STORE_FAILURE, message });
}

/** The files of a run of this store, for its execution. Throws `ExecutionOver`. */
export async function openFiles(store: Store, run: RunRef): Promise<RunFiles> {
  return held(await findFiles(store, run));
}

async function findFiles(store: Store, run: RunRef): Promise<Result<RunFiles>> {
  checkStore(store, run.storeId);
  return store.runs.openFiles(run.projectId, run.runId, executionOf(run));
}

function held(found: Result<RunFiles>): RunFiles {
  const files = unwrap(found);
  files.claim.assertHeld();
  return files;
}

/** What an activity is asked for: most for a run, `run.open` for one that is not there yet. */
export interface Asked extends Partial<OfRun> {
  readonly phase?: RunPhase;
}

/**
 * Refuses to go on with files that lack what the run has seen: a backup was put in the place of a store that had gone on, or a copy was. A
 * conversation without its end would be gone on with, and what a user has said be lost. That the run fails is written down.
 */
export async function refuseEarlierFiles(store: Store, { run, auditLines = 0, phase }: Asked): Promise<void> {
  if (run === undefined || auditLines === 0 || phase === "failed") return;
  const found = await findFiles(store, run);
  const isThere = found.ok || found.error.code !== "E_RUN_NOT_FOUND";
  if (isThere && (await held(found).audit.holds(auditLines))) return;
  const what = isThere
    ? `are older than the run: its audit log has fewer lines than the ${auditLines} that the run has seen`
    : "are not there, and the run has begun";
  const how = isThere ? "To go on from what they say" : "Where they are lost, to begin it anew";
  const message = `The files of run ${run.runId} in ${store.dir} ${what}. The store is that of a backup, or a copy of one that has gone on. ${how}: interlock retry ${run.runId}`;
  throw toApplicationFailure({ code: "E_PRECONDITION_FAILED", message });
}

/**
 * The root of a graph run's project, as it is now. Throws for the operator to see where it is registered no longer, or is not
 * what it was when the run was made.
 */
export async function permittedProject(store: Store, run: RunRef): Promise<PermittedRoot> {
  const root = unwrap(await store.runs.projectRoot(run.projectId));
  const permitted = store.roots.permit(root, "write", { isReal: true });
  const isGone = !permitted.ok && permitted.error.code === "E_PROJECT_INVALID";
  return unwrap(isGone ? notAtItsPath(run.runId, root, run.kind) : permitted);
}

/** A run is bound to the path of its project, and that one does not lead there. Whether it leads anywhere else is not told. */
export function notAtItsPath(runId: string, path: string, kind: OpenRunInput["kind"] = "graph"): Failed {
  const elsewhere =
    kind === "bundle"
      ? "where it lies now, start another one"
      : `let a fork go on where it lies now: interlock fork ${runId} --at-visit <n> --project <dir>`;
  return fail(
    "E_PROJECT_INVALID",
    `The project of run ${runId} does not lie at "${excerpt(path)}". Bring it back to its path, and retry the run; or ${elsewhere}`,
  );
}

/** The number of a run's execution, for those who write for it. */
export function executionOf(run: RunRef): number {
  return run.execution ?? 1;
}
