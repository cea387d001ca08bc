import type { Client } from "@temporalio/client";
import { WorkflowNotFoundError } from "@temporalio/common";
import { InterlockError } from "./interlock-error.js";
import type { Addressed } from "./run-address.js";

/** Whether a status of Temporal's, such as `RUNNING`, is that of an execution that goes on. */
export function isOpenStatus(status: string): boolean {
  return status === "RUNNING" || status === "PAUSED";
}

/** Whether a run's newest execution goes on. Rejects where Temporal does not have it. */
export async function isOpen(temporal: Client, run: Addressed): Promise<boolean> {
  const { workflowId, executionRunId } = await run.address();
  const { status } = await temporal.workflow.getHandle(workflowId, executionRunId).describe();
  return isOpenStatus(status.name);
}

/** The status of a workflow's newest execution; undefined where Temporal does not have it. */
export async function statusOfWorkflow(temporal: Client, workflowId: string): Promise<string | undefined> {
  try {
    return (await temporal.workflow.getHandle(workflowId).describe()).status.name;
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return undefined;
    throw error;
  }
}

/** What a run is told that ends up so. */
export function isOver(status: string, cause?: unknown): InterlockError {
  const message = `The run is over: it is ${status.toLowerCase()}.`;
  return new InterlockError({ code: "E_PRECONDITION_FAILED", message }, cause);
}
