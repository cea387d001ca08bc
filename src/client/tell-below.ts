import { type PAUSE_UPDATE, RESUME_UPDATE } from "../contract/names.js";
import { isOverPhase } from "../core/run/phase.js";
import type { RunBelowState } from "../core/run/run-state.js";
import { InterlockError, hasCode } from "./temporal/interlock-error.js";
import { type RunAbove, runsBelow } from "./runs-below.js";
import { silentBelow } from "./standing-below.js";

/**
 * Tells the runs below one what it has been told itself, by `tell`, except those that it would not change. Returns those
 * that were told, the nearest first. Throws `E_PRECONDITION_FAILED` where one does not answer, once those above it were told.
 */
export async function tellBelow<Run extends RunAbove<Run> & { readonly runId: string }>(
  above: Run,
  update: typeof PAUSE_UPDATE | typeof RESUME_UPDATE,
  tell: (run: Run) => Promise<unknown>,
): Promise<RunBelowState[]> {
  const told: RunBelowState[] = [];
  const wasPaused = update === RESUME_UPDATE;
  const own = await above.state();
  const below = await runsBelow(above, own);
  for (const { run, runId, workflowRef, state } of below) {
    if (isOverPhase(state.phase) || state.paused !== wasPaused) continue;
    try {
      await tell(run);
      told.push({ runId, workflowRef });
    } catch (error) {
      if (!hasCode(error, "E_PRECONDITION_FAILED")) throw error; // it has ended meanwhile
    }
  }
  const silent = silentBelow(below, own);
  if (silent === undefined) return told;
  const is = wasPaused ? "goes on" : "is paused";
  const message = `Run ${above.runId} ${is}. Run ${silent.runId} of ${silent.workflowRef}, which it waits for, does not answer and was told nothing: ${update} it as well as soon as it does.`;
  throw new InterlockError({ code: "E_PRECONDITION_FAILED", message });
}
