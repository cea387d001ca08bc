import { setTimeout as sleep } from "node:timers/promises";
import { ServiceError } from "@temporalio/client";
import type { RunState } from "../core/run/run-state.js";
import { InterlockError } from "./temporal/interlock-error.js";
import type { StandingBelow } from "./standing-below.js";

/** What a handle has to say for the runs below it to be found: `RunHandle` is one. */
export interface RunAbove<Run> {
  state(): Promise<RunState>;
  below(state: RunState): Run | undefined;
}

/**
 * The runs below one, the nearest first: each is the one that the run before it waits for. `state` is the run's own. One that does not
 * answer ends the list.
 */
export async function runsBelow<Run extends RunAbove<Run>>(
  run: Run,
  state: RunState,
): Promise<readonly StandingBelow<Run>[]> {
  const found: StandingBelow<Run>[] = [];
  let at = { run, state };
  for (let { below } = at.state; below !== undefined; { below } = at.state) {
    const next = at.run.below(at.state);
    const standing = next && (await stateOf(next));
    if (next === undefined || standing === undefined) break;
    at = { run: next, state: standing };
    found.push({ ...below, ...at });
  }
  return found;
}

const TRIES = 20;
const PAUSE_MS = 100;

/** A run that is about to be started is not known at once. */
async function stateOf(run: RunAbove<unknown>): Promise<RunState | undefined> {
  for (let times = 1; ; times += 1) {
    try {
      return await run.state();
    } catch (error) {
      if (error instanceof ServiceError) return undefined;
      if (!(error instanceof InterlockError)) throw error;
      if (error.code !== "E_RUN_NOT_FOUND" || times === TRIES) return undefined;
      await sleep(PAUSE_MS);
    }
  }
}
