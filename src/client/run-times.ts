import { RUN_MEMO, runMemoSchema } from "../contract/run-memo.js";
import { defined } from "../core/defined.js";
import { isNotFound } from "./interlock-error.js";
import { readableValue } from "./payloads.js";
import { isoOf } from "./raw-values.js";
import { type TemporalAccess, beginningOf } from "./run-start.js";

/** Who began a run, and when what happened to it, as Temporal knows. Times are UTC, ISO 8601. */
export interface RunTimes {
  /** Whoever started it, or let it go on last (retry, restore), as its client named itself: `<process id>@<host>` of Temporal's own. */
  readonly startedBy?: string;
  readonly startedAt?: string;
  /** When it came into its phase. */
  readonly since?: string;
  readonly endedAt?: string;
}

/** Asks Temporal for them. Rejects where it does not have the run. */
export async function runTimes(access: TemporalAccess, workflowId: string): Promise<RunTimes> {
  const { raw } = await access.temporal.workflow.getHandle(workflowId).describe();
  const info = raw.workflowExecutionInfo;
  const newest = await beginningOf(access, workflowId);
  const memo = runMemoSchema.safeParse(
    await readableValue(access.temporal, info?.memo?.fields?.[RUN_MEMO], workflowId),
  );
  const endedAt = isoOf(info?.closeTime);
  const begun = newest.isContinued
    ? await firstOf(access, workflowId, newest.firstExecutionRunId)
    : { startedBy: newest.startedBy, startedAt: isoOf(info?.startTime) };
  return defined({
    startedBy: begun?.startedBy || undefined,
    startedAt: begun?.startedAt,
    since: endedAt ?? (memo.success ? memo.data.since : undefined),
    endedAt,
  });
}

/** Of a run that has continued as new: how its first execution began. Undefined where Temporal has forgotten that one. */
async function firstOf(access: TemporalAccess, workflowId: string, executionRunId: string) {
  try {
    const { startedBy } = await beginningOf(access, workflowId, executionRunId);
    const { raw } = await access.temporal.workflow.getHandle(workflowId, executionRunId).describe();
    return { startedBy, startedAt: isoOf(raw.workflowExecutionInfo?.startTime) };
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}
