import { describe, expect, test } from "vitest";
import { blockOf, foldLine } from "../../../src/cli/follow/live-block.js";
import {
  type Standing,
  type WatchedAnswer,
  noticesOf,
  waitingLines,
} from "../../../src/cli/report/waiting-words.js";
import { waitsForWorker } from "../../../src/cli/session/work-words.js";
import type { PendingActivity } from "../../../src/client/runs/pending-work.js";

const NOW = Date.parse("2026-03-04T05:06:42.000Z");
const AT = "2026-03-04T05:06:00.000Z";
const RUNNING: PendingActivity = { activity: "model.turn", standing: "running", attempt: 1, startedAt: AT };
const ANSWER: WatchedAnswer = {
  execution: 1,
  visit: 1,
  turn: 3,
  attempt: 1,
  endpoint: "http://model.test:8080/v1/chat/completions",
  model: "m",
  startedAt: AT,
  timeoutMs: 600_000,
  text: "",
  shown: "",
  restarts: false,
  thinking: 0,
  calls: [],
  offset: 0,
};
const standing = (activity: PendingActivity, more: Partial<Standing> = {}): Standing => ({
  runId: "r1",
  work: { activities: [activity] },
  turn: "model turn 3 · ask",
  seesAnswers: true,
  hasAnswered: true,
  now: NOW,
  ...more,
});

describe("what a run waits for", () => {
  test("is a worker with its model, where none that was asked has it and nothing is at work", () => {
    const why = "The worker 1@host cannot do it: it has no endpoint for the model m.";
    const idle = { ...standing(RUNNING), work: { activities: [] }, turn: "", missing: why };
    expect(waitingLines(idle)).toEqual([`waiting for a worker that has the run's model: ${why}`]);
    expect(noticesOf(idle)).toEqual([{ key: `missing ${why}`, text: waitingLines(idle)[0] }]);
    expect(waitingLines({ ...standing(RUNNING), missing: why })).toEqual(["model turn 3 · ask · 42 s"]);
  });

  test("is said with the time it takes", () => {
    expect(waitingLines(standing(RUNNING))).toEqual(["model turn 3 · ask · 42 s"]);
  });

  test("is not told to have failed under the name of the turn before", () => {
    const lastFailure = { type: "LLM_RATE_LIMITED", message: "slow down" };
    const failed = standing({ ...RUNNING, attempt: 2, lastFailure }, { isTurnOld: true });
    expect(noticesOf(failed)).toEqual([]);
    expect(waitingLines(failed)[0]).toBe("model.turn · 42 s · attempt 2");
    expect(noticesOf({ ...failed, isTurnOld: false })[0]?.text).toMatch(
      /^model turn 3 · ask: attempt 1 failed/,
    );
    expect(waitingLines({ ...standing(RUNNING), isTurnOld: true })).toEqual(["model turn 3 · ask · 42 s"]);
  });

  test("is said once where it is many times the same", () => {
    const bar: PendingActivity = { activity: "state.snapshot", standing: "waiting", attempt: 1 };
    const [first, second] = ["2026-03-04T05:06:07.000Z", "2026-03-04T05:06:08.000Z"];
    const work = { activities: [{ ...bar, scheduledAt: first }, RUNNING, { ...bar, scheduledAt: second }] };
    const lines = ["state.snapshot · 2 times", "model turn 3 · ask · 42 s"];
    expect(waitingLines({ ...standing(RUNNING), work })).toEqual(lines);
    const lastFailure = { type: "TIMEOUT", message: "It was not done in time." };
    const failed = work.activities.map((each) => ({ ...each, attempt: 2, lastFailure }));
    expect(noticesOf({ ...standing(RUNNING), work: { activities: failed } })).toHaveLength(2);
  });

  test("names who does not answer, and for how long", () => {
    const words = "no answer yet from model.test:8080 for 42 s (timeout 600 s).";
    const waiting = standing(RUNNING, { answer: ANSWER });
    expect(waitingLines(waiting)[1]).toBe(words);
    expect(noticesOf(waiting).map(({ text }) => text)).toEqual([`model turn 3 · ask: ${words}`]);
    expect(noticesOf({ ...waiting, now: NOW + 2_000 })[0]?.key).toBe(noticesOf(waiting)[0]?.key);
    expect(noticesOf({ ...waiting, now: NOW + 60_000 })[0]?.key).not.toBe(noticesOf(waiting)[0]?.key);
    const came = { ...ANSWER, lastAt: "2026-03-04T05:06:30.000Z" };
    expect(waitingLines(standing(RUNNING, { answer: came }))[1]).toMatch(/^nothing more from .* for 12 s/);
    expect(
      waitingLines(standing(RUNNING, { answer: { ...came, lastAt: "2026-03-04T05:06:41.000Z" } })),
    ).toHaveLength(1);
    const unseen = { seesAnswers: false, hasAnswered: false };
    expect(waitingLines(standing(RUNNING, unseen))[1]).toBe("no answer yet for 42 s.");
  });

  test("says that nothing is seen of an answer where others were seen: before a model is asked, servers of tools are", () => {
    const words = "no answer yet for 42 s.";
    const asked = standing(RUNNING, { hasAnswered: false });
    expect(waitingLines(asked)[1]).toBe(words);
    expect(noticesOf(asked).map(({ text }) => text)).toEqual([`model turn 3 · ask: ${words}`]);
    const soon = { now: Date.parse(AT) + 9_000 }; // from elsewhere answers are seen every eight seconds
    expect(waitingLines({ ...asked, ...soon })).toHaveLength(1);
    expect(noticesOf(standing(RUNNING))).toEqual([]); // the answer is there, and is being written down
  });

  test("says once for each attempt why it failed, and counts down to the next", () => {
    const failed: PendingActivity = {
      activity: "model.turn",
      standing: "waiting",
      attempt: 2,
      maximumAttempts: 8,
      lastFailure: { type: "LLM_RATE_LIMITED", message: "slow down (attempt 1 of 8)" },
      nextTryAt: "2026-03-04T05:06:52.000Z",
    };
    const sentence = "attempt 1 failed: LLM_RATE_LIMITED: slow down. Next try in 10 s: attempt 2 of 8.";
    expect(noticesOf(standing(failed)).map(({ text }) => text)).toEqual([`model turn 3 · ask: ${sentence}`]);
    expect(waitingLines(standing(failed))).toEqual(["model turn 3 · ask · attempt 2 of 8", sentence]);
    for (const [at, wait] of [
      ["05:31:42", "25 min"],
      ["17:11:42", "12 h 5 min"],
    ]) {
      const long = { ...failed, nextTryAt: `2026-03-04T${at}.000Z` };
      expect(waitingLines(standing(long))[1]).toContain(`Next try in ${wait}: attempt 2 of 8.`);
    }
    const again: PendingActivity = { ...failed, standing: "running", startedAt: AT };
    expect(noticesOf(standing(again))[0]?.key).toBe(noticesOf(standing(failed))[0]?.key);
  });

  test("is a worker that can do the workflow task, where it fails: said once, however often it is tried", () => {
    const at = (attempt: number): Standing => ({
      ...standing(RUNNING),
      work: { activities: [], taskFailure: { attempt, message: "Nondeterminism error." } },
    });
    const [line = ""] = waitingLines(at(3));
    expect(line).toMatch(/stands still: .* attempt 3: Nondeterminism error\. .*interlock retry r1$/);
    expect(noticesOf(at(3)).map(({ text }) => text)).toEqual([line]);
    expect(noticesOf(at(4))[0]?.key).toBe(noticesOf(at(3))[0]?.key);
  });

  test("waits for a worker when it is due and nobody has taken it", () => {
    const due = (activity: Partial<PendingActivity>) =>
      waitsForWorker({ activities: [{ ...RUNNING, standing: "waiting", ...activity }] }, NOW);
    expect(due({ scheduledAt: AT })).toBe(true);
    expect(due({ scheduledAt: AT, nextTryAt: "2026-03-04T05:07:00.000Z" })).toBe(false);
    expect(due({ scheduledAt: "2026-03-04T05:06:41.000Z" })).toBe(false);
    expect(waitsForWorker({ activities: [RUNNING] }, NOW)).toBe(false);
    expect(waitsForWorker({ activities: [], workflowTaskSince: AT }, NOW)).toBe(true);
  });
});

describe("what stands at the end of a terminal", () => {
  const room = { columns: 40, rows: 12 };

  test("fits into its lines, whatever comes, and shows the answer's end", () => {
    const hostile = "\u001b[2J\u202e你好 ".repeat(500);
    const block = blockOf(
      ["graph ".repeat(20)],
      standing(
        { ...RUNNING, attempt: 2, lastFailure: { type: "X", message: hostile } },
        { answer: { ...ANSWER, attempt: 2, shown: `${hostile}\nthe end` } },
      ),
      room,
    );
    expect(block.length).toBeLessThan(room.rows);
    for (const { text } of block) expect(foldLine(text, room.columns - 1)).toHaveLength(1);
    expect(block.at(-1)?.text).toBe("  │ the end");
  });

  test("shows thoughts and calls as counts, faint", () => {
    const shown = (answer: Partial<WatchedAnswer>) =>
      blockOf([], standing(RUNNING, { answer: { ...ANSWER, ...answer } }), room).at(-1);
    expect(shown({ thinking: 1_234 })).toEqual({ text: "  │ thinking… 1,234 characters", isFaint: true });
    expect(shown({ calls: [{ name: "fs_write", bytes: 2_048 }] })).toEqual({
      text: "  │ fs_write… 2,048 bytes",
      isFaint: true,
    });
  });
});
