import { describe, expect, test } from "vitest";
import type { Budget } from "../../../src/core/run/budget.js";
import type { RunPhase } from "../../../src/core/run/phase.js";
import type { RunRecord } from "../../../src/core/engine/run-record.js";
import {
  answerRefusal,
  finish,
  finishRefusal,
  isRaised,
  overRefusal,
  raise,
  raiseRefusal,
  setPaused,
  takeAnswer,
  takenBefore,
  wordlessRefusal,
} from "../../../src/core/engine/run-updates.js";
import { NO_USAGE } from "../../../src/core/run/usage.js";
import { cutText } from "../../../src/core/text.js";
import { openedRecord } from "./record-world.js";

const ANSWER = { nodeId: "draft", text: "yes" };
const LONG_ID = "i".repeat(101);
const OVER: readonly RunPhase[] = ["completed", "failed"];

function asking(code?: string): RunRecord {
  const record = openedRecord({ carried: { phase: "waiting-user" } });
  record.question = { nodeId: "draft", text: "?", ...(code === undefined ? {} : { code }) };
  return record;
}

describe("an answer", () => {
  test.each([
    ["is taken at the question's node", ANSWER, "u", /^taken$/],
    ["of 64 KiB is taken", { ...ANSWER, text: "x".repeat(65_536) }, "u", /^taken$/],
    [
      "is refused beyond 64 KiB, in bytes",
      { ...ANSWER, text: "é".repeat(32_769) },
      "u",
      /at most 65536 bytes/,
    ],
    ["is refused under a long id", ANSWER, LONG_ID, /at most 100 characters/],
    ["is refused under the id of the first words", ANSWER, "input", /another id/],
    ["is refused at another node", { ...ANSWER, nodeId: "review" }, "u", /at draft, not at review/],
  ])("%s", (_, answer, id, refusal) => {
    expect(answerRefusal(asking(), id, answer) ?? "taken").toMatch(refusal);
  });

  test("to another question is refused, and to the one that is asked taken", () => {
    const record = asking();
    record.update({ visit: 2, turn: 3 });
    expect(answerRefusal(record, "u", { ...ANSWER, question: "2.3" })).toBeUndefined();
    expect(answerRefusal(record, "u", { ...ANSWER, question: "2.2" })).toBe(
      "The run waits with question 2.3, not with 2.2: an answer is for one question alone.",
    );
  });

  test("keeps who gave it, as the run's last one", () => {
    const record = asking();
    takeAnswer(record, "u", { ...ANSWER, by: "ann@desk" });
    expect(record.answer).toEqual({ id: "u", text: "yes", by: "ann@desk" });
    setPaused(record, "p", true);
    expect(record.toRunState().lastAnswer).toEqual({ nodeId: "draft", begins: "yes", by: "ann@desk" });
  });

  test("is refused where the run asks nothing, and where the budget is the question", () => {
    expect(answerRefusal(openedRecord(), "u", ANSWER)).toBe(
      "The run does not wait for an answer; it is running at draft.",
    );
    expect(answerRefusal(asking("BUDGET_EXCEEDED"), "u", ANSWER)).toMatch(/budget to be raised/);
  });

  test("is taken once: a second one is refused, the same one again is told what was taken", () => {
    const record = asking();
    const text = "y".repeat(300);
    const begins = cutText(text, 200);
    expect(takeAnswer(record, "u", { nodeId: "draft", text })).toEqual({ nodeId: "draft", begins });
    expect(record.answer).toEqual({ id: "u", text });
    expect(answerRefusal(record, "v", ANSWER)).toBe(
      "The question 0.0, at draft, has another answer already: this one was not taken.",
    );
    expect(answerRefusal(record, "u", ANSWER)).toBeUndefined();
    record.answer = undefined;
    expect(takeAnswer(record, "u", ANSWER)).toEqual({ nodeId: "draft", begins });
    expect(record.answer).toBeUndefined();
  });

  test("that comes too late is told whose answer was taken", () => {
    const record = asking();
    takeAnswer(record, "u", { ...ANSWER, by: "ann" });
    // In the very moment of the other one the run still says that it waits.
    expect(answerRefusal(record, "v", { ...ANSWER, by: "bob" })).toMatch(
      /has another answer already, that of ann: this one was not taken\.$/,
    );
    const whose = /\. The last answer, at draft, is that of ann\.$/;
    record.answer = undefined;
    record.question = undefined;
    expect(answerRefusal(record, "v", { ...ANSWER, by: "bob" })).toMatch(whose);
    record.question = { nodeId: "draft", text: "Which?" };
    record.update({ visit: 2, turn: 3 });
    expect(answerRefusal(record, "v", { ...ANSWER, question: "2.2" })).toMatch(whose);
  });

  test("under the id of another update changes nothing and names no answer", () => {
    const record = asking();
    setPaused(record, "u", true);
    expect(takeAnswer(record, "u", ANSWER)).toEqual({ nodeId: "" });
    expect(record.answer).toBeUndefined();
  });

  test("is remembered by its id, the newest 16", () => {
    const record = asking();
    for (let index = 0; index < 20; index += 1) setPaused(record, `u${index}`, index % 2 === 0);
    expect(record.carried.taken).toHaveLength(16);
    expect([takenBefore(record, "u3"), takenBefore(record, "u4")]).toEqual([undefined, { id: "u4" }]);
  });
});

describe("a pause", () => {
  test("takes effect once under its id, and its end too", () => {
    const record = openedRecord();
    setPaused(record, "p", true);
    expect(record.carried.paused).toBe(true);
    setPaused(record, "r", false);
    setPaused(record, "p", true);
    expect(record.carried.paused).toBe(false);
    expect(record.carried.progress.map(({ text }) => text)).toEqual([
      "paused by the user",
      "resumed by the user",
    ]);
  });

  test("of a paused run is remembered and changes nothing", () => {
    const record = openedRecord({ carried: { paused: true } });
    setPaused(record, "p", true);
    expect(record.carried).toMatchObject({ taken: [{ id: "p" }], progress: [] });
  });
});

test.each(OVER)("every update but an answer is refused in a run that has %s", (phase) => {
  const record = openedRecord({ carried: { phase } });
  const refusal = `The run is over: it has ${phase}.`;
  expect(overRefusal(record)).toBe(refusal);
  expect(wordlessRefusal(record, "u")).toBe(refusal);
  expect(finishRefusal(record, "u", true)).toBe(refusal);
  expect(raiseRefusal(record, "u", { add: { turns: 1 } })).toBe(refusal);
});

test("every update is refused under a long id", () => {
  const record = openedRecord();
  for (const refusal of [
    wordlessRefusal(record, LONG_ID),
    finishRefusal(record, LONG_ID, true),
    raiseRefusal(record, LONG_ID, { add: { turns: 1 } }),
  ]) {
    expect(refusal).toMatch(/at most 100 characters/);
  }
});

test("the user ends a run only where its kind lets them", () => {
  const record = openedRecord();
  expect(finishRefusal(record, "u", false)).toMatch(/ends at an end node/);
  expect(finishRefusal(record, "u", true)).toBeUndefined();
  finish(record);
  expect(record.isComplete).toBe(true);
});

describe("a raise", () => {
  const budget: Budget = { run: { turns: 5 }, node: { tokens: 10 } };
  const usage = { ...NO_USAGE, promptTokens: 10 };

  test.each([
    ["of a limit is taken", {}, { add: { turns: 1 } }, "taken"],
    ["names its scope", {}, { scope: "node", add: { tokens: 1 } }, "taken"],
    ["is the run's where none is reached", {}, { add: { tokens: 1 } }, "tokens per run"],
    ["is the scope's whose limit is reached", { visitUsage: usage }, { add: { tokens: 1 } }, "taken"],
    ["of what has no limit is refused", {}, { scope: "node", add: { cost: 1 } }, "cost per node"],
  ] as const)("%s", (_, carried, told, refused) => {
    const refusal = raiseRefusal(openedRecord({ terms: { budget }, carried }), "u", told);
    expect(refusal ?? "taken").toContain(refused);
  });

  test("where no budget is set is refused", () => {
    expect(raiseRefusal(openedRecord(), "u", { scope: "node", add: { turns: 1 } })).toContain(
      "turns per node",
    );
  });

  test("counts once under its id, in the scope whose limit is reached", () => {
    const record = openedRecord({ terms: { budget }, carried: { visitUsage: usage } });
    expect(isRaised(record, "u")).toBe(false);
    expect(raise(record, "u", { add: { tokens: 5 } })).toEqual({ run: { turns: 5 }, node: { tokens: 15 } });
    expect(raise(record, "u", { add: { tokens: 5 } })).toBe(record.carried.budget);
    expect(raiseRefusal(record, "u", { scope: "node", add: { cost: 1 } })).toBeUndefined();
    expect(raise(record, "v", { scope: "run", add: { turns: 1 } })).toMatchObject({ run: { turns: 6 } });
    expect(record.carried.raises).toEqual(["u", "v"]);
  });
});
