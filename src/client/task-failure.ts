import { readableValue } from "./payloads.js";
import type { RawDescription, TaskFailure } from "./pending-work.js";
import type { TemporalAccess } from "./run-start.js";

/** A task that fails is not written again while it is tried again: the newest events say why. */
const NEWEST_EVENTS = 5;

/** Why the run's workflow task has failed; undefined where it has not, and where its worker has only died. Needs no worker. */
export async function taskFailureOf(
  { temporal, namespace }: TemporalAccess,
  { pendingWorkflowTask, workflowExecutionInfo }: RawDescription,
): Promise<TaskFailure | undefined> {
  const attempt = pendingWorkflowTask?.attempt ?? 1;
  const execution = workflowExecutionInfo?.execution;
  if (attempt < 2 || !execution) return undefined;
  const { history } = await temporal.workflowService.getWorkflowExecutionHistoryReverse({
    namespace,
    execution,
    maximumPageSize: NEWEST_EVENTS,
  });
  const ended = history?.events?.find(
    (event) => event.workflowTaskFailedEventAttributes ?? event.workflowTaskTimedOutEventAttributes,
  );
  const failure = ended?.workflowTaskFailedEventAttributes?.failure;
  if (!failure) return undefined;
  const said = await readableValue(temporal, failure.encodedAttributes, execution.workflowId ?? "");
  const isSealed = typeof said === "object" && said !== null && "message" in said;
  return { attempt, message: isSealed ? String(said.message) : (failure.message ?? "") };
}
