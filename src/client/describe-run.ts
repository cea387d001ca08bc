import type { Client } from "@temporalio/client";
import { type ListedRun, listedRun } from "./list-runs.js";
import { type PendingWork, pendingWorkIn } from "./pending-work.js";

/** A run as Temporal knows it at this moment. */
export interface DescribedRun {
  readonly run: ListedRun;
  readonly executionRunId: string;
  readonly pending: PendingWork;
}

/** Asks Temporal for a run, by its workflow's id: what a listing says a moment later. Needs no worker. Rejects where it is not known. */
export async function describeRun(temporal: Client, workflowId: string): Promise<DescribedRun> {
  const { raw, runId } = await temporal.workflow.getHandle(workflowId).describe();
  const info = raw.workflowExecutionInfo ?? {};
  const run = { ...(await listedRun(temporal, info)), taskQueue: raw.executionConfig?.taskQueue?.name ?? "" };
  return { run, executionRunId: runId, pending: pendingWorkIn(raw) };
}
