/** Where a run stands, in the order it goes through them; the last two are the end. */
export const RUN_PHASES = ["idle", "running", "waiting-user", "completed", "failed"] as const;

export type RunPhase = (typeof RUN_PHASES)[number];
