import type { Client } from "@temporalio/client";
import { InterlockError, isNotFound } from "../temporal/interlock-error.js";
import { isoOf } from "../temporal/raw-values.js";
import type { Addressed, RunAddress } from "./run-address.js";

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

/** How a workflow's execution stands. */
export interface ExecutionStanding {
  /** UTC, ISO 8601; undefined while it goes on. */
  readonly closedAt: string | undefined;
}

/**
 * How a workflow's execution stands, the newest one unless another is named; undefined where Temporal does not have it. Asks for nothing that
 * may be sealed: the SDK's own description fails without the key.
 */
export async function standingOf(
  { workflowService, options: { namespace } }: Client,
  { workflowId, executionRunId = "" }: RunAddress,
): Promise<ExecutionStanding | undefined> {
  const execution = { workflowId, runId: executionRunId };
  try {
    const { workflowExecutionInfo: info } = await workflowService.describeWorkflowExecution({
      namespace,
      execution,
    });
    return { closedAt: isoOf(info?.closeTime) };
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

/** What a run is told that ends up so. */
export function isOver(status: string, cause?: unknown): InterlockError {
  const message = `The run is over: it is ${status.toLowerCase()}.`;
  return new InterlockError({ code: "E_PRECONDITION_FAILED", message }, cause);
}
