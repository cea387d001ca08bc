import { RUN_MEMO, runMemoSchema } from "../../contract/run-memo.js";
import { defined } from "../../core/defined.js";
import { isNotFound } from "../temporal/interlock-error.js";
import { readableValue } from "../temporal/payloads.js";
import { type RawDescription, isoOf } from "../temporal/raw-values.js";
import type { RunAddress } from "./run-address.js";
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
export async function runTimes(
  access: TemporalAccess,
  { workflowId, executionRunId }: RunAddress,
): Promise<RunTimes> {
  const { raw } = await access.temporal.workflow.getHandle(workflowId, executionRunId).describe();
  return timesIn(access, workflowId, raw, (executionRunId) => begunIn(access, workflowId, executionRunId));
}

/** The same from a description. `begunBy` says how a run began that is now in that execution, which stays what it is. */
export async function timesIn(
  access: TemporalAccess,
  workflowId: string,
  { workflowExecutionInfo: info }: RawDescription,
  begunBy: (executionRunId: string) => Promise<Begun | undefined>,
): Promise<RunTimes> {
  const begun = await begunBy(info?.execution?.runId ?? "");
  const memo = runMemoSchema.safeParse(
    await readableValue(access.temporal, info?.memo?.fields?.[RUN_MEMO], workflowId),
  );
  const endedAt = isoOf(info?.closeTime);
  return defined({
    startedBy: begun?.startedBy || undefined,
    startedAt: begun === undefined ? undefined : (begun.startedAt ?? isoOf(info?.startTime)),
    since: endedAt ?? (memo.success ? memo.data.since : undefined),
    endedAt,
  });
}

/** Who began a run. `startedAt` is absent where it began with the execution that was asked for. */
export interface Begun {
  readonly startedBy: string;
  readonly startedAt?: string | undefined;
}

/** How a run began that is in that execution: with its first one. Undefined where Temporal has forgotten that. */
export async function begunIn(
  access: TemporalAccess,
  workflowId: string,
  executionRunId: string,
): Promise<Begun | undefined> {
  const { startedBy, isContinued, firstExecutionRunId } = await beginningOf(
    access,
    workflowId,
    executionRunId,
  );
  if (!isContinued) return { startedBy };
  try {
    const first = await beginningOf(access, workflowId, firstExecutionRunId);
    const { raw } = await access.temporal.workflow.getHandle(workflowId, firstExecutionRunId).describe();
    return { startedBy: first.startedBy, startedAt: isoOf(raw.workflowExecutionInfo?.startTime) };
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}
