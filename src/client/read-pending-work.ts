import { defined } from "../core/defined.js";
import { readableValue, withFailures } from "./payloads.js";
import { type PendingWork, type RawDescription, type TaskFailure, pendingWorkIn } from "./pending-work.js";
import type { TemporalAccess } from "./run-start.js";

/** What a run waits for, by a description of its execution, with what has failed in words that can be read. Needs no worker. */
export async function readPendingWork(access: TemporalAccess, raw: RawDescription): Promise<PendingWork> {
  const workflowId = raw.workflowExecutionInfo?.execution?.workflowId ?? "";
  const taskFailure = await taskFailureOf(access, raw);
  const work = pendingWorkIn(await withFailures(access.temporal, raw, workflowId));
  return { ...work, ...defined({ taskFailure }) };
}

/** A task that fails is not written again while it is tried again: the newest events say why. */
const NEWEST_EVENTS = 5;

/** Why the run's workflow task has failed; undefined where it has not, and where its worker has only died. */
async function taskFailureOf(
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
