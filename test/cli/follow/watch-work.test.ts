import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { RunHandle } from "../../../src/client/client.js";
import type { PendingWork } from "../../../src/client/runs/pending-work.js";
import type { JsonReadName, StoreReader } from "../../../src/contract/reads.js";
import { ok } from "../../../src/core/errors.js";
import { liveAnswers } from "../../../src/cli/follow/live-answers.js";
import type { LiveAnswer } from "../../../src/store/runs/live-answer.js";
import type { Standing } from "../../../src/cli/report/waiting-words.js";
import { type Said, type WorkSource, watchWork } from "../../../src/cli/follow/watch-work.js";

/* What somebody who watches from elsewhere asks of the server: each question costs it a little. */

vi.mock("node:timers/promises", () => ({
  setTimeout: (ms: number) => new Promise<void>((resolve) => void setTimeout(resolve, ms)),
}));

const MINUTE_MS = 60_000;
const CALL = { execution: 1, visit: 1, turn: 1, attempt: 1 };

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** Watches a model turn for a minute; `arrives`: how much of the answer there is by then. */
async function asked(arrives: (ms: number) => number, said: () => { readonly turn: string }) {
  const counts = { describe: 0, live: 0 };
  const began = Date.now();
  const work: PendingWork = {
    activities: [{ activity: "model.turn", standing: "running", attempt: 1, scheduledAt: "2026-01-01" }],
  };
  const run = {
    pendingWork: () => {
      counts.describe += 1;
      const [activity] = work.activities;
      const heartbeatAt = new Date().toISOString(); // that it lives is no news
      return Promise.resolve({ activities: activity === undefined ? [] : [{ ...activity, heartbeatAt }] });
    },
  } as Partial<RunHandle> as RunHandle;
  const reader = {
    isAtHand: false,
    ask: (_name: JsonReadName, { since }: { readonly since?: { readonly offset: number } }) => {
      counts.live += 1;
      const offset = arrives(Date.now() - began);
      const answer = { ...CALL, offset, text: "", restarts: since === undefined, thinking: 0, calls: [] };
      return Promise.resolve(ok({ answer: offset === 0 ? null : answer }));
    },
  } as unknown as StoreReader;
  const stop = new AbortController();
  const live = liveAnswers({ store: undefined, reader }, "run");
  const nobody = () => Promise.resolve("nobody");
  const watching = watchWork(run, { live, nobody }, said, () => undefined, stop.signal);
  await vi.advanceTimersByTimeAsync(MINUTE_MS);
  stop.abort();
  await vi.advanceTimersByTimeAsync(1_000);
  await watching;
  return counts;
}

test("a model that is silent for a minute costs a dozen descriptions and nine looks at its answer", async () => {
  const counts = await asked(
    () => 0,
    () => ({ turn: "model turn 1" }),
  );
  expect(counts.describe).toBeLessThanOrEqual(16);
  expect(counts.describe).toBeGreaterThanOrEqual(12);
  expect(counts.live).toBeLessThanOrEqual(10);
  expect(counts.live).toBeGreaterThanOrEqual(7);
});

test("an answer that arrives all the time is looked at every other second", async () => {
  const counts = await asked(
    (ms) => 100 + ms,
    () => ({ turn: "model turn 1" }),
  );
  expect(counts.live).toBeLessThanOrEqual(31);
  expect(counts.live).toBeGreaterThanOrEqual(25);
});

test("a clock that is set back amid an answer hides nothing of it", async () => {
  const setBack = setTimeout(() => void vi.setSystemTime(Date.now() - 3_600_000), 20_000);
  let arrived = 100;
  const counts = await asked(
    () => (arrived += 1),
    () => ({ turn: "model turn 1" }),
  );
  clearTimeout(setBack);
  expect(counts.describe).toBeGreaterThanOrEqual(12);
  expect(counts.live).toBeGreaterThanOrEqual(25);
});

test("a turn that is over is looked at anew at once", async () => {
  let turn = 0;
  const timer = setInterval(() => (turn += 1), 2_000);
  const counts = await asked(
    () => 0,
    () => ({ turn: `model turn ${turn}` }),
  );
  clearInterval(timer);
  expect(counts.describe).toBeGreaterThanOrEqual(50);
});

test("what the run said that it waits for holds while it cannot be asked, or nobody works on it", async () => {
  const asked = "Run 2 of part, below it, asks";
  let work: PendingWork = { activities: [] };
  let still: WorkSource["still"] & {} = () => Promise.resolve({ asked });
  const seen: unknown[] = [];
  const stop = new AbortController();
  const watching = watchWork(
    { pendingWork: () => Promise.resolve(work) } as Partial<RunHandle> as RunHandle,
    {
      live: () => Promise.resolve(undefined),
      nobody: () => Promise.resolve("nobody"),
      still: (signal) => still(signal),
    },
    () => ({ turn: "" }),
    (standing) => void seen.push(standing.asked),
    stop.signal,
  );
  await vi.advanceTimersByTimeAsync(5_000);
  still = () => Promise.reject(new Error("too late"));
  await vi.advanceTimersByTimeAsync(10_000);
  work = { activities: [], workflowTaskSince: "2026-01-01" };
  await vi.advanceTimersByTimeAsync(10_000);
  expect([...new Set(seen)]).toEqual([asked]);
  work = { activities: [] };
  still = () => Promise.resolve({});
  await vi.advanceTimersByTimeAsync(10_000);
  expect(seen.at(-1)).toBeUndefined();
  stop.abort();
  await vi.advanceTimersByTimeAsync(1_000);
  await watching;
});

test("a turn that has begun after the run was asked is not taken for the one that it told of", async () => {
  const turn = (scheduledAt: string): PendingWork => ({
    activities: [{ activity: "model.turn", standing: "running", attempt: 2, scheduledAt }],
  });
  let work = turn("2026-01-01T00:00:00Z");
  let said: Said = { turn: "model turn 3 · ask", askedAt: performance.now() + 1 };
  const seen: Standing[] = [];
  const stop = new AbortController();
  const watching = watchWork(
    { pendingWork: () => Promise.resolve(work) } as Partial<RunHandle> as RunHandle,
    { live: () => Promise.resolve(undefined), nobody: () => Promise.resolve("nobody") },
    () => said,
    (standing) => void seen.push(standing),
    stop.signal,
  );
  await vi.advanceTimersByTimeAsync(1_000);
  expect(seen.at(-1)).toMatchObject({ turn: "model turn 3 · ask", isTurnOld: false });
  work = turn("2026-01-01T00:00:09Z");
  await vi.advanceTimersByTimeAsync(6_000);
  expect(seen.at(-1)).toMatchObject({ turn: "model turn 3 · ask", isTurnOld: true });
  said = { turn: "model turn 1 · next", askedAt: performance.now() };
  await vi.advanceTimersByTimeAsync(1_000);
  expect(seen.at(-1)).toMatchObject({ turn: "model turn 1 · next", isTurnOld: false });
  stop.abort();
  await vi.advanceTimersByTimeAsync(1_000);
  await watching;
});

test("that an answer was seen is known of the try that it was seen in", async () => {
  const turn = (attempt: number): PendingWork => ({
    activities: [
      { activity: "model.turn", standing: "running", attempt, scheduledAt: "2026-01-01T00:00:00Z" },
    ],
  });
  const answer = {
    ...CALL,
    offset: 1,
    text: "",
    restarts: true,
    thinking: 0,
    calls: [],
  } as unknown as LiveAnswer;
  let work = turn(1);
  let comes: LiveAnswer | undefined;
  const seen: Standing[] = [];
  const stop = new AbortController();
  const watching = watchWork(
    { pendingWork: () => Promise.resolve(work) } as Partial<RunHandle> as RunHandle,
    { live: () => Promise.resolve(comes), nobody: () => Promise.resolve("nobody") },
    () => ({ turn: "model turn 1" }),
    (standing) => void seen.push(standing),
    stop.signal,
  );
  await vi.advanceTimersByTimeAsync(1_000);
  expect(seen.at(-1)).toMatchObject({ seesAnswers: false, hasAnswered: false });
  comes = answer;
  await vi.advanceTimersByTimeAsync(1_000);
  comes = undefined;
  await vi.advanceTimersByTimeAsync(1_000);
  expect(seen.at(-1)).toMatchObject({ seesAnswers: true, hasAnswered: true });
  work = turn(2);
  await vi.advanceTimersByTimeAsync(6_000);
  expect(seen.at(-1)).toMatchObject({ seesAnswers: true, hasAnswered: false });
  stop.abort();
  await vi.advanceTimersByTimeAsync(1_000);
  await watching;
});
