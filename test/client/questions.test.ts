import { expect, test } from "vitest";
import type { ListedRun } from "../../src/client/runs/list-runs.js";
import { InterlockError } from "../../src/client/temporal/interlock-error.js";
import { type QuestionSource, openQuestions, questionEvents } from "../../src/client/questions.js";

function waiting(runId: string, taskQueue: string): ListedRun {
  const phase = "waiting-user";
  const startedAt = "2026-11-22T10:00:00.000Z";
  const question = `First line of ${runId}`;
  return { runId, workflowId: runId, workflowType: "", taskQueue, startedAt, phase, paused: false, question };
}

test("runs whose queue nobody polls are waited for by nobody: their first lines are told at once, and each queue is looked at once", async () => {
  const runs = Array.from({ length: 40 }, (_, index) => waiting(`run-${index}`, `queue-${index % 3}`));
  const looked: string[] = [];
  const source: QuestionSource = {
    list: () => Promise.resolve(runs),
    state: ({ runId }) =>
      runs.find((run) => run.runId === runId)?.taskQueue === "queue-0"
        ? Promise.reject(new Error("asked"))
        : new Promise(() => undefined), // nobody answers
    isPolled: (taskQueue) => {
      looked.push(taskQueue);
      return Promise.resolve(taskQueue === "queue-0");
    },
  };
  await expect(openQuestions(source)).rejects.toThrow("asked");
  const left = { ...source, list: () => Promise.resolve(runs.filter((run) => run.taskQueue !== "queue-0")) };
  looked.length = 0;
  const found = await openQuestions(left);
  expect(found.map(({ text, isWhole }) => [text, isWhole])).toEqual(
    runs.filter((run) => run.taskQueue !== "queue-0").map(({ question }) => [question, false]),
  );
  expect(looked).toEqual(["queue-1", "queue-2"]);
});

test("who watches is told at once what waits on a queue that nobody polls, and is kept waiting by none that is silent", async () => {
  const silent = Array.from({ length: 3 }, (_, index) => waiting(`silent-${index}`, "gone"));
  const busy = Array.from({ length: 5 }, (_, index) => waiting(`busy-${index}`, "polled"));
  const asked: string[] = [];
  let answer = (): void => undefined;
  const allAsked = new Promise<never>((_, reject) => {
    answer = () => reject(new InterlockError({ code: "E_INTERNAL", message: "No worker says." }));
  });
  const source: QuestionSource = {
    list: () => Promise.resolve([...silent, ...busy]),
    // Each answers when all were asked: one after the other would never come to the second one.
    state: ({ runId }) => {
      if (asked.push(runId) === busy.length) answer();
      return allAsked;
    },
    isPolled: (taskQueue) => Promise.resolve(taskQueue === "polled"),
  };
  const stop = new AbortController();
  const told: string[] = [];
  for await (const { kind, question } of questionEvents(source, stop.signal)) {
    told.push(`${kind} ${question.runId}`);
    if (told.length === silent.length + busy.length) stop.abort();
  }
  expect(told).toEqual([...silent, ...busy].map(({ runId }) => `asked ${runId}`));
  expect(asked).toEqual(busy.map(({ runId }) => runId));
});

test("a budget that is used up in another way is another question", async () => {
  const run = { ...waiting("one", "gone"), asked: "2.1", code: "BUDGET_EXCEEDED" };
  const listed = ["10 of 10 model turns", "9 of 5 tokens"].map((question) => [{ ...run, question }]);
  const source: QuestionSource = {
    list: () => Promise.resolve(listed.shift() ?? []),
    state: () => new Promise(() => undefined),
    isPolled: () => Promise.resolve(false),
  };
  const stop = new AbortController();
  const told: string[] = [];
  for await (const { kind, question } of questionEvents(source, stop.signal)) {
    told.push(`${kind} ${question.text}`);
    if (told.length === 4) stop.abort();
  }
  expect(told).toEqual([
    "asked 10 of 10 model turns",
    "answered 10 of 10 model turns",
    "asked 9 of 5 tokens",
    "answered 9 of 5 tokens",
  ]);
});

test("who watches and stops is let go at once, whatever is silent", async () => {
  const silent = new Promise<never>(() => undefined);
  const source: QuestionSource = {
    list: () => Promise.resolve([waiting("one", "polled")]),
    state: () => silent,
    isPolled: () => Promise.resolve(true),
  };
  for (const each of [source, { ...source, list: () => silent }, { ...source, isPolled: () => silent }]) {
    const stopping = new AbortController();
    const next = questionEvents(each, stopping.signal).next();
    await new Promise((resolve) => setImmediate(resolve));
    stopping.abort();
    await expect(next).resolves.toEqual({ done: true, value: undefined });
  }
});
