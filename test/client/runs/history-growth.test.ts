import type { Client } from "@temporalio/client";
import { expect, onTestFinished, test, vi } from "vitest";
import { historyGrowth } from "../../../src/client/runs/history-growth.js";

/** A run in whose history something happens all the time. */
function busyRun() {
  const page = { history: { events: [{ activityTaskCompletedEventAttributes: {} }] }, nextPageToken: [1] };
  const temporal = {
    withAbortSignal: (_signal: AbortSignal, ask: () => Promise<unknown>) => ask(),
    workflowService: { getWorkflowExecutionHistory: () => Promise.resolve(page) },
  } as unknown as Client;
  const address = () => Promise.resolve({ workflowId: "run-1", executionRunId: "1" });
  return historyGrowth({ temporal, namespace: "default" }, { address });
}

test("who follows a run hears of it also when the clock was set back by an hour meanwhile", async () => {
  vi.useFakeTimers({ toFake: ["Date"] });
  onTestFinished(() => void vi.useRealTimers());
  const grown = busyRun();
  const { signal } = new AbortController();
  expect(await grown(signal)).toBe(true);
  vi.setSystemTime(Date.now() - 3_600_000);
  expect(await grown(signal)).toBe(true);
});
