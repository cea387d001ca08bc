/** Where a run stands, in the order it goes through them; the last two are the end. */
export const RUN_PHASES = ["idle", "running", "waiting-user", "completed", "failed"] as const;

export type RunPhase = (typeof RUN_PHASES)[number];

/** Whether the run is over: a phase that it does not leave by itself. */
export function isOverPhase(phase: RunPhase): phase is "completed" | "failed" {
  return phase === "completed" || phase === "failed";
}
