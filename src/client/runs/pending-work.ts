import { defined } from "../../core/defined.js";
import { type RawDescription, isoOf } from "../temporal/raw-values.js";

/** Something that a run waits for: an activity that is not done. Times are Temporal's, UTC, ISO 8601. */
export interface PendingActivity {
  /** Its type, such as `model.turn`. */
  readonly activity: string;
  /** `waiting`: for a worker, or for its next try; `running`: a worker has taken it; `paused`: somebody has paused it in Temporal. */
  readonly standing: "waiting" | "running" | "paused";
  /** Which attempt this is, from 1: the one that runs, or the one that comes. */
  readonly attempt: number;
  /** Absent where there is no limit. */
  readonly maximumAttempts?: number;
  /** Why the attempt before failed. Its message may hold what providers and models say: it is not printable as it is. */
  readonly lastFailure?: { readonly type: string; readonly message: string };
  readonly scheduledAt?: string;
  /** When the attempt that runs was taken by a worker. */
  readonly startedAt?: string;
  /** When it is tried again; absent while an attempt runs or can be taken at once. */
  readonly nextTryAt?: string;
  readonly heartbeatAt?: string;
  /** The worker that has or had it last, as `<process id>@<host>`. */
  readonly worker?: string;
}

/** What a run waits for, as far as Temporal knows. Local activities are not among it. */
export interface PendingWork {
  readonly activities: readonly PendingActivity[];
  /** Since when a step of the workflow itself waits for a worker; absent where one has it, or none is due. */
  readonly workflowTaskSince?: string;
  /** The step fails in whichever worker takes it, and is tried again: the run stands still meanwhile. */
  readonly taskFailure?: TaskFailure;
}

/** Why no step of a workflow comes to its end, such as a build that the history does not fit. Its message is not printable as it is. */
export interface TaskFailure {
  /** Which attempt this is, from 2. */
  readonly attempt: number;
  /** Where Temporal has kept none, it says that. */
  readonly message: string;
}

/** Reads what a run waits for out of a description of its execution. Pure; fields that are missing are left out. */
export function pendingWorkIn({ pendingActivities, pendingWorkflowTask }: RawDescription): PendingWork {
  const activities = (pendingActivities ?? []).map((pending): PendingActivity => {
    const startedAt = isoOf(pending.lastStartedTime);
    const state: number = pending.state ?? 0;
    const isRunning =
      state === STATE.started || state === STATE.cancelRequested || state === STATE.pauseRequested;
    const { lastFailure, lastWorkerIdentity } = pending;
    return {
      activity: pending.activityType?.name ?? "",
      standing: isRunning ? "running" : state === STATE.paused ? "paused" : "waiting",
      attempt: pending.attempt ?? 1,
      ...((pending.maximumAttempts ?? 0) === 0 ? {} : { maximumAttempts: pending.maximumAttempts ?? 0 }),
      ...(lastFailure ? { lastFailure: failureOf(lastFailure) } : {}),
      ...defined({
        scheduledAt: isoOf(pending.scheduledTime),
        startedAt: isRunning ? startedAt : undefined,
        nextTryAt: isRunning ? undefined : isoOf(pending.nextAttemptScheduleTime),
        heartbeatAt: isRunning ? isoOf(pending.lastHeartbeatTime) : undefined,
        worker: lastWorkerIdentity || undefined,
      }),
    };
  });
  const taskState: number = pendingWorkflowTask?.state ?? 0;
  const isTaken = taskState === STATE.started;
  const since = isTaken ? undefined : isoOf(pendingWorkflowTask?.originalScheduledTime);
  return { activities, ...defined({ workflowTaskSince: since }) };
}

/** Temporal's `PendingActivityState` and `PendingWorkflowTaskState`, as far as they matter here. */
const STATE = { started: 2, cancelRequested: 3, paused: 4, pauseRequested: 5 };

type RawFailure = NonNullable<NonNullable<RawDescription["pendingActivities"]>[number]["lastFailure"]>;

/** What an activity failed for. A heartbeat or a time that ran out says nothing itself. */
function failureOf(failure: RawFailure): { readonly type: string; readonly message: string } {
  const timedOut = failure.timeoutFailureInfo;
  if (timedOut) {
    const timeoutType: number = timedOut.timeoutType ?? 0;
    const isHeartbeat = timeoutType === HEARTBEAT;
    return {
      type: "TIMEOUT",
      message: isHeartbeat ? "Its worker was not heard of any more." : "It was not done in time.",
    };
  }
  return {
    type: (failure.applicationFailureInfo?.type ?? "") || "E_INTERNAL",
    message: failure.message ?? "",
  };
}

/** Temporal's `TimeoutType`. */
const HEARTBEAT = 4;
