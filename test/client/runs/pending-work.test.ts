import { expect, test } from "vitest";
import { pendingWorkIn } from "../../../src/client/runs/pending-work.js";
import { readPendingWork } from "../../../src/client/runs/read-pending-work.js";
import type { TemporalAccess } from "../../../src/client/runs/run-start.js";
import type { RawDescription } from "../../../src/client/temporal/raw-values.js";

const at = (seconds: number) => ({ seconds, nanos: 5_000_000 }) as never; // as the service has it, with a Long

test("what a description does not say is left out", () => {
  expect(pendingWorkIn({})).toEqual({ activities: [] });
  expect(pendingWorkIn({ pendingActivities: [{}] })).toEqual({
    activities: [{ activity: "", standing: "waiting", attempt: 1 }],
  });
});

test("an activity is told with its attempt, the failure before it and its times", () => {
  const description = {
    pendingActivities: [
      {
        activityType: { name: "model.turn" },
        state: 1,
        attempt: 2,
        maximumAttempts: 8,
        scheduledTime: at(1),
        lastStartedTime: at(2),
        lastHeartbeatTime: at(3),
        nextAttemptScheduleTime: at(4),
        lastWorkerIdentity: "7@host",
        lastFailure: { message: "why", applicationFailureInfo: { type: "LLM_HTTP_ERROR" } },
      },
      {
        state: 2,
        attempt: 1,
        lastStartedTime: at(2),
        lastFailure: { message: "x", timeoutFailureInfo: { timeoutType: 4 } },
      },
    ],
    pendingWorkflowTask: { state: 1, originalScheduledTime: at(5) },
  } as RawDescription; // the fields that are read
  expect(pendingWorkIn(description)).toEqual({
    activities: [
      {
        activity: "model.turn",
        standing: "waiting",
        attempt: 2,
        maximumAttempts: 8,
        lastFailure: { type: "LLM_HTTP_ERROR", message: "why" },
        scheduledAt: "1970-01-01T00:00:01.005Z",
        nextTryAt: "1970-01-01T00:00:04.005Z",
        worker: "7@host",
      },
      {
        activity: "",
        standing: "running",
        attempt: 1,
        lastFailure: { type: "TIMEOUT", message: "Its worker was not heard of any more." },
        startedAt: "1970-01-01T00:00:02.005Z",
      },
    ],
    workflowTaskSince: "1970-01-01T00:00:05.005Z",
  });
});

test("a run that Temporal has ended amid a model turn is at nothing any more", async () => {
  const description = {
    workflowExecutionInfo: { closeTime: at(3) },
    pendingActivities: [{ activityType: { name: "model.turn" }, state: 2, lastStartedTime: at(2) }],
    pendingWorkflowTask: { state: 2, attempt: 3, originalScheduledTime: at(1) },
  } as RawDescription; // the fields that are read
  const access = { temporal: { options: { loadedDataConverter: {} } } } as TemporalAccess; // nothing is asked of it
  expect(await readPendingWork(access, description)).toEqual({ activities: [] });
});
