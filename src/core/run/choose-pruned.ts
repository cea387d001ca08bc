import { addToList } from "../add-to-list.js";
import { type RunPhase, isOverPhase } from "./phase.js";

/** What of a run decides whether it is pruned. Times are ISO, UTC. */
export interface PrunableRun {
  readonly runId: string;
  readonly phase: RunPhase;
  readonly createdAt: string;
  readonly lastUpdatedAt: string;
  readonly forkedFrom?: { readonly runId: string } | undefined;
  /** Of the run of a subworkflow. */
  readonly parentRunId?: string | undefined;
}

/** Which runs are to go: those that have ended before a moment, those beyond a number of the newest, or both at once. */
export interface PruneRule {
  readonly endedBefore?: string | undefined;
  readonly keep?: number | undefined;
}

/** The runs that are over and that a rule means, the newest end first. */
export function prunableRuns<R extends PrunableRun>(
  runs: readonly R[],
  { endedBefore, keep = 0 }: PruneRule,
): readonly R[] {
  const over = runs.filter(({ phase }) => isOverPhase(phase));
  return newestFirst(over, "lastUpdatedAt")
    .slice(keep)
    .filter(({ lastUpdatedAt }) => endedBefore === undefined || lastUpdatedAt < endedBefore);
}

/**
 * Those of some runs that no run needs which stays: it may be forked from them, or be the run above them, which a retry takes back to
 * their node. They come newest first, so that a fork goes before its source.
 */
export function withoutNeeded<R extends PrunableRun>(
  all: readonly PrunableRun[],
  going: readonly R[],
): readonly R[] {
  const gone = new Map(going.map((run) => [run.runId, run]));
  const below = new Map<string, R[]>();
  for (const run of going) {
    if (run.parentRunId !== undefined) addToList(below, run.parentRunId, run);
  }
  const stay = (run: PrunableRun): void => {
    const source = gone.get(run.forkedFrom?.runId ?? "");
    for (const needed of [...(source === undefined ? [] : [source]), ...(below.get(run.runId) ?? [])]) {
      if (gone.delete(needed.runId)) stay(needed);
    }
  };
  for (const run of all) if (!gone.has(run.runId)) stay(run);
  return newestFirst([...gone.values()], "createdAt");
}

function newestFirst<R extends PrunableRun>(
  runs: readonly R[],
  by: "createdAt" | "lastUpdatedAt",
): readonly R[] {
  return runs.toSorted((a, b) => (a[by] < b[by] ? 1 : a[by] > b[by] ? -1 : 0));
}
