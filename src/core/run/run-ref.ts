/** Where a run's files are and what it runs: the same for its whole life. */
export interface RunRef {
  readonly runId: string;
  /** The store that holds the run's files; a worker with another store refuses the run's tasks. */
  readonly storeId: string;
  readonly projectId: string;
  readonly packageId: string;
  readonly workflowRef: string;
  readonly activeAgentId: string;
  /** Absent for a graph run. */
  readonly kind?: "bundle";
  /** Counts the executions of the run from 1: a newer one shuts the older ones out. Absent means the first. */
  readonly execution?: number;
  /** The run is rehearsed: a scripted model answers instead of a real one. */
  readonly rehearsal?: Rehearsal;
  /** The run was begun with a signature, and takes updates with one only. A worker that takes signed starts works on no other. */
  readonly signed?: true;
}

/** How a rehearsal walks (see `rehearsal/`). */
export interface Rehearsal {
  /** Take each branch in turn, run after run. */
  readonly branches?: boolean;
  /** Try one forbidden jump, so that the guard can be seen to refuse it. */
  readonly forbiddenJump?: boolean;
}
