import { RUN_MEMO, runMemoSchema } from "../contract/run-memo.js";
import { defined } from "../core/defined.js";
import { isNotFound } from "./interlock-error.js";
import { isoOf, readJson } from "./list-runs.js";
import type { RawDescription } from "./pending-work.js";
import { type TemporalAccess, startOf } from "./run-start.js";

/** Who began a run, and when what happened to it, as Temporal knows. Times are UTC, ISO 8601. */
export interface RunTimes {
  /** Whoever started it, or let it go on last (retry, restore), as its client named itself: `<process id>@<host>` of Temporal's own. */
  readonly startedBy?: string;
  readonly startedAt?: string;
  /** When it came into its phase. */
  readonly since?: string;
  readonly endedAt?: string;
}

/** Reads them out of a description and the beginning of the history. Rejects where Temporal does not have the run. */
export async function runTimes(
  access: TemporalAccess,
  workflowId: string,
  { workflowExecutionInfo: info }: RawDescription,
): Promise<RunTimes> {
  const newest = await startOf(access, workflowId);
  const memo = runMemoSchema.safeParse(readJson(info?.memo?.fields?.[RUN_MEMO]));
  const endedAt = isoOf(info?.closeTime);
  const begun =
    (newest.continuedExecutionRunId ?? "") === ""
      ? { startedBy: newest.identity, startedAt: isoOf(info?.startTime) }
      : await beginningOf(access, workflowId, newest.firstExecutionRunId ?? "");
  return defined({
    startedBy: begun?.startedBy || undefined,
    startedAt: begun?.startedAt,
    since: endedAt ?? (memo.success ? memo.data.since : undefined),
    endedAt,
  });
}

/** Of a run that has continued as new: how its first execution began. Undefined where Temporal has forgotten that one. */
async function beginningOf(access: TemporalAccess, workflowId: string, executionRunId: string) {
  try {
    const { identity } = await startOf(access, workflowId, executionRunId);
    const { raw } = await access.temporal.workflow.getHandle(workflowId, executionRunId).describe();
    return { startedBy: identity, startedAt: isoOf(raw.workflowExecutionInfo?.startTime) };
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}
