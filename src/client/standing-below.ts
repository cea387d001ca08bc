import type { RunBelowState, RunState } from "../core/run/run-state.js";

/** A run that another one waits for, by its handle, and where it stands. */
export interface StandingBelow<Run> extends RunBelowState {
  readonly run: Run;
  readonly state: RunState;
}

/** The question that somebody has to answer before a run goes on which waits for a run below it; undefined where there is none. */
export function askingBelow<Run>(below: readonly StandingBelow<Run>[]): StandingBelow<Run> | undefined {
  const last = below.at(-1);
  return last?.state.phase === "waiting-user" && last.state.question !== undefined ? last : undefined;
}

/** The run that ends the list because it does not answer: nobody knows what it waits for. `state` is that of the run above them all. */
export function silentBelow(
  below: readonly StandingBelow<unknown>[],
  state: RunState,
): RunBelowState | undefined {
  return (below.at(-1)?.state ?? state).below;
}
