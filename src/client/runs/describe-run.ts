import { isOpenStatus } from "./execution-status.js";
import { type ListedRun, listedRun } from "./list-runs.js";
import type { PendingWork } from "./pending-work.js";
import { readPendingWork } from "./read-pending-work.js";
import type { Addressed } from "./run-address.js";
import type { TemporalAccess } from "./run-start.js";
import { type Begun, type RunTimes, begunIn, timesIn } from "./run-times.js";

/** A run as Temporal knows it at this moment. */
export interface DescribedRun {
  readonly run: ListedRun;
  readonly executionRunId: string;
  readonly pending: PendingWork;
  readonly times: RunTimes;
  /** Whether its execution goes on. */
  readonly isOpen: boolean;
}

/** Describes one run again and again: what of it stays as it is is asked for once. */
export class RunDescriber {
  private readonly access: TemporalAccess;
  private readonly run: Addressed;
  /** How the run began, by the execution that says so: a retry is another one. */
  private begun: { readonly executionRunId: string; readonly by: Begun | undefined } | undefined;

  constructor(access: TemporalAccess, run: Addressed) {
    this.access = access;
    this.run = run;
  }

  /** Asks Temporal: what a listing says a moment later. Needs no worker. Rejects where it is not known. */
  async describe(): Promise<DescribedRun> {
    const { access } = this;
    const { temporal } = access;
    const { workflowId, executionRunId } = await this.run.address();
    const { raw, runId, status } = await temporal.workflow.getHandle(workflowId, executionRunId).describe();
    const [listed, pending, times] = await Promise.all([
      listedRun(temporal, raw.workflowExecutionInfo ?? {}),
      readPendingWork(access, raw),
      timesIn(access, workflowId, raw, (execution) => this.begunBy(workflowId, execution)),
    ]);
    return {
      run: { ...listed, taskQueue: raw.executionConfig?.taskQueue?.name ?? "" },
      executionRunId: runId,
      pending,
      times,
      isOpen: isOpenStatus(status.name),
    };
  }

  private async begunBy(workflowId: string, executionRunId: string): Promise<Begun | undefined> {
    if (this.begun?.executionRunId !== executionRunId) {
      this.begun = { executionRunId, by: await begunIn(this.access, workflowId, executionRunId) };
    }
    return this.begun.by;
  }
}
