import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { PendingWork } from "../../../src/client/runs/pending-work.js";
import { type RunSession, unlessInterrupted } from "../../../src/cli/session/run-session.js";

const NOW = "2026-03-04T05:06:07.000Z";
let said = "";
beforeEach(() => {
  said = "";
  vi.useFakeTimers({ now: new Date(NOW) });
  vi.spyOn(process.stderr, "write").mockImplementation((text) => {
    said += String(text);
    return true;
  });
});
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

async function saidWhile(work: PendingWork): Promise<string> {
  const place = {
    signal: new AbortController().signal,
    session: { client: { taskQueue: "desk" } },
    run: { runId: "r", pendingWork: () => Promise.resolve(work) },
  } as unknown as RunSession; // all that it looks at
  const action = new Promise((resolve) => setTimeout(resolve, 6_000));
  const ended = unlessInterrupted(place, "Stopped.", action);
  await vi.advanceTimersByTimeAsync(6_000);
  await ended;
  return said;
}

const TURN = { activity: "model.turn", attempt: 1, standing: "running", startedAt: NOW } as const;
const NOBODY = 'No worker of the task queue "desk" answers yet; waiting. Ctrl-C stops waiting.\n';

test("a model call that is let end is no worker that is missing", async () => {
  expect(await saidWhile({ activities: [TURN] })).toBe(
    "The run is at model.turn, attempt 1: running for 5 s. Waiting. Ctrl-C stops waiting.\n",
  );
});

test("what keeps failing is said with its reason", async () => {
  const lastFailure = { type: "E_INTERNAL", message: "The manifest is missing." };
  const failing = {
    activity: "run.phase",
    attempt: 3,
    maximumAttempts: 10,
    standing: "waiting",
    lastFailure,
  } as const;
  const nextTryAt = "2026-03-04T05:06:15.000Z";
  expect(await saidWhile({ activities: [{ ...failing, nextTryAt }] })).toContain(
    "attempt 2 failed: E_INTERNAL: The manifest is missing. Waiting.",
  );
});

test.each<PendingWork>([
  { activities: [] },
  { activities: [TURN], workflowTaskSince: "2026-03-04T05:06:00.000Z" },
])("a step that nobody takes is a worker that is missing", async (work) => {
  expect(await saidWhile(work)).toBe(NOBODY);
});
