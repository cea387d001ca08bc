import { expect, test } from "vitest";
import type { CarriedRun } from "../../../src/core/run/carried-run.js";
import { NO_USAGE } from "../../../src/core/run/usage.js";
import { RunRecord } from "../../../src/core/engine/run-record.js";
import {
  ask,
  askForBudget,
  breachOf,
  endQuestion,
  isAnswered,
  isAskedFor,
  isAskedForBudget,
  isAskedForWords,
  isBreachOver,
  isPauseOver,
  isQuestionLeft,
  waitBeforeTurn,
} from "../../../src/core/engine/waits.js";
import { RUN_ID, openedRecord, storyRecord } from "./record-world.js";

const BUDGET = { run: { turns: 2 } };
const SPENT = { ...NO_USAGE, modelTurns: 2 };
const BREACH = { scope: "run", unit: "turns", limit: 2, used: 2 } as const;

test.each([
  ["nothing", {}, undefined],
  ["a pause", { paused: true }, "pause"],
  ["its budget", { budget: BUDGET, usage: SPENT }, "budget"],
  ["a pause before its budget", { paused: true, budget: BUDGET, usage: SPENT }, "pause"],
  ["nothing when it was ended", { ended: true, paused: true, budget: BUDGET, usage: SPENT }, undefined],
])("before a turn, a run waits for %s", (_, carried, wait) => {
  expect(waitBeforeTurn(openedRecord({ carried }))).toEqual(wait);
});

test.each([
  [{ paused: true }, false],
  [{ paused: false }, true],
  [{ paused: true, ended: true }, true],
])("a pause is over when it is taken back or the run ended: %j", (carried, isOver) => {
  expect(isPauseOver(openedRecord({ carried }))).toBe(isOver);
});

test.each([
  ["not while it stays", {}, false],
  ["when there is room", { budget: { run: { turns: 3 } } }, true],
  ["when it is another limit that is reached", { budget: { run: { turns: 1 } } }, true],
  [
    "when it is another unit that is reached",
    { budget: { run: { tokens: 1, turns: 3 } }, usage: { ...SPENT, promptTokens: 1 } },
    true,
  ],
  ["when it is another scope that is reached", { budget: { node: { turns: 2 } }, visitUsage: SPENT }, true],
  ["when the run was ended", { ended: true }, true],
])("a breach is over %s", (_, carried, isOver) => {
  const record = openedRecord({ carried: { budget: BUDGET, usage: SPENT, ...carried } });
  expect(isBreachOver(record, BREACH)).toBe(isOver);
});

test.each([
  [{ run: { turns: 2 } }, "The budget of this run is used up: 2 of 2 model turns. Raise it with --add-turns"],
  [
    { node: { tokens: 7 } },
    "The budget of this node visit is used up: 8 of 7 tokens. Raise it with --add-tokens",
  ],
  [{ run: { cost: 0.1 } }, "The budget of this run is used up: 0.1235 of 0.1 cost. Raise it with --add-cost"],
])("what is asked says how far a budget is used up: %j", (budget, text) => {
  const used = { ...SPENT, promptTokens: 5, completionTokens: 3, cost: 0.12345 };
  const record = openedRecord({ carried: { budget, usage: used, visitUsage: used } });
  const breach = breachOf(record);
  if (breach !== undefined) askForBudget(record, breach);
  expect(record.question).toMatchObject({ nodeId: "draft", code: "BUDGET_EXCEEDED" });
  expect(record.question?.text).toContain(text);
});

test("a question stands until it is answered, and with it ends what the model repeated", () => {
  const record = storyRecord({ carried: { loop: { key: "k", failures: 4 } } });
  ask(record, { nodeId: "draft", text: "?" });
  expect(record.question).toEqual({ nodeId: "draft", text: "?" });
  expect(record.carried.story?.state.routingFlags).toEqual({ escalate: true });
  expect(isAnswered(record)).toBe(false);
  record.answer = { id: "u", text: "yes" };
  expect(isAnswered(record)).toBe(true);
  endQuestion(record);
  expect([record.question, record.answer, record.carried.loop.failures]).toEqual([undefined, undefined, 0]);
});

test("what a run waits with is handed on, and the next execution waits with it", () => {
  const asking = openedRecord({ carried: { budget: BUDGET, usage: SPENT } });
  ask(asking, { nodeId: "draft", text: "?" });
  const next = openedRecord({ terms: { carried: asking.handedOn } });
  expect([isAskedForWords(next), isAskedForBudget(next), next.question]).toEqual([
    true,
    false,
    { nodeId: "draft", text: "?" },
  ]);
  endQuestion(next);
  expect(next.handedOn).not.toHaveProperty("question");

  askForBudget(asking, BREACH);
  const short = openedRecord({ terms: { carried: asking.handedOn } });
  expect([isAskedForWords(short), isAskedForBudget(short)]).toEqual([false, true]);
  expect([isAskedFor(short, BREACH), isAskedFor(short, { ...BREACH, limit: 3 })]).toEqual([true, false]);
});

test("a question that a version in between has passed on, which knew nothing of it, is left over", () => {
  const asking = openedRecord();
  ask(asking, { nodeId: "draft", text: "?" });
  const { handedOn } = asking;
  const { question: _, ...answered } = handedOn;
  const isLeft = (carried: CarriedRun) => isQuestionLeft(new RunRecord({ runId: RUN_ID, carried }, false));
  expect(isLeft({ ...handedOn, phase: "running" })).toBe(true);
  expect(isLeft({ ...handedOn, phase: "waiting-user" })).toBe(false);
  expect(isLeft({ ...answered, phase: "running" })).toBe(false);
});

test("a run that another version has continued waits with the limit that it said, in whatever words", () => {
  const asking = openedRecord({ carried: { budget: BUDGET, usage: SPENT } });
  askForBudget(asking, BREACH);
  asking.question = { nodeId: "draft", ...asking.question, text: "Two turns were two turns." };
  const next = openedRecord({ terms: { carried: asking.handedOn } });
  expect(isAskedFor(next, BREACH)).toBe(true);
});

test("a run that was ended needs no answer", () => {
  expect(isAnswered(openedRecord({ carried: { ended: true } }))).toBe(true);
});
