import { defined } from "../../core/defined.js";
import { readableValue, withFailures } from "../temporal/payloads.js";
import { type PendingWork, type TaskFailure, pendingWorkIn } from "./pending-work.js";
import type { RawDescription } from "../temporal/raw-values.js";
import type { TemporalAccess } from "./run-start.js";

/** What a run waits for, by a description of its execution, with what has failed in words that can be read. Needs no worker. */
export async function readPendingWork(access: TemporalAccess, raw: RawDescription): Promise<PendingWork> {
  const { workflowExecutionInfo: info } = raw;
  if (info?.closeTime) return { activities: [] }; // Temporal keeps what a run was at when it ended it
  const workflowId = info?.execution?.workflowId ?? "";
  const taskFailure = await taskFailureOf(access, raw);
  const work = pendingWorkIn(await withFailures(access.temporal, raw, workflowId));
  return { ...work, ...defined({ taskFailure }) };
}

/** A task that fails is not written again while it is tried again: the newest events say why. */
const NEWEST_EVENTS = 5;

/** The attempt that fails where one worker has died with the task, and the next one has not done it either. */
const NOT_ONE_DEATH = 3;
/** What failed behind an attempt that was never answered, Temporal does not keep. */
const NOT_RECORDED =
  "no worker has brought it to its end. The first that had it never answered, so that Temporal does not say why the others fail: their logs do.";

/** Why the run's workflow task has failed; undefined where it has not, and where its worker has only died. */
async function taskFailureOf(
  access: TemporalAccess,
  { pendingWorkflowTask, workflowExecutionInfo }: RawDescription,
): Promise<TaskFailure | undefined> {
  const attempt = pendingWorkflowTask?.attempt ?? 1;
  const execution = workflowExecutionInfo?.execution;
  if (attempt < 2 || !execution) return undefined;
  const message = await newestTaskFailure(access, execution);
  if (message !== undefined) return { attempt, message };
  return attempt < NOT_ONE_DEATH ? undefined : { attempt, message: NOT_RECORDED };
}

type Execution = NonNullable<NonNullable<RawDescription["workflowExecutionInfo"]>["execution"]>;

/** What the workflow task that failed last has failed for; undefined where the newest events say nothing of it. Not printable as it is. */
export async function newestTaskFailure(
  { temporal, namespace }: TemporalAccess,
  execution: Execution,
): Promise<string | undefined> {
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
  return isSealed ? String(said.message) : (failure.message ?? "");
}
