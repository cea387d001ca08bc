/** An execution of a run: with all that it continues as. */
export interface RunExecution {
  /** The first of Temporal's run ids: one that continues as new keeps it. */
  readonly id: string;
  /** When Temporal began it, in milliseconds since 1970. */
  readonly startedAt: number;
  /**
   * The first execution of its workflow, where this one was reset by somebody, to a moment before the run was opened or on its
   * way there: the run goes on from what is on disk.
   */
  readonly resetOf?: string;
  /** Absent where an older version of Interlock asks. */
  readonly workflowId?: string;
  /** It has continued as new: what it is given, it was given by the execution before. */
  readonly continued?: true;
}
