import { describe, expect, test } from "vitest";
import { ENDING_KEY, LOOP_CORRECTION } from "../../../src/core/run/loop-detection.js";
import {
  afterCalls,
  decideNextStep,
  endTurn,
  isVisitOver,
  turnLimitReached,
  turnsAhead,
} from "../../../src/core/engine/model-answers.js";
import type { RunRecord } from "../../../src/core/engine/run-record.js";
import { NUDGES } from "../../../src/core/run/no-question.js";
import { NO_USAGE } from "../../../src/core/run/usage.js";
import { NOW, openedRecord, standAt, storyRecord } from "./record-world.js";

const VISITING = { nodeId: "draft", intent: "start" } as const;
const ANSWER = { calls: [], text: "Which one?", cutOff: false };
const EMPTY = { ...ANSWER, text: "", noQuestion: "empty" } as const;
const ENDED = { carried: { ended: true } };

test("a visit is over where the run stands elsewhere or is complete", () => {
  const record = openedRecord();
  expect(isVisitOver(record, VISITING)).toBe(false);
  standAt(record, "review");
  expect(isVisitOver(record, VISITING)).toBe(true);
  expect(isVisitOver(openedRecord(ENDED), VISITING)).toBe(true);
});

test.each([
  [1, 4, undefined],
  [2, 4, "The run reached its limit of 2 model turns in one visit of draft."],
  [1, 5, "The run reached its limit of 5 model turns in the run."],
])("after %s turns in the visit and %s in the run: %s", (turn, modelTurns, limit) => {
  const record = openedRecord({ carried: { turn, usage: { ...NO_USAGE, modelTurns } } });
  const limits = { maxTurnsPerNode: 2, maxTurnsPerRun: 5, maxModelAttempts: 1 };
  expect(turnLimitReached(record, "draft", limits)).toBe(limit);
});

test.each([
  ["seven", 1, 0, {}, 7],
  ["as many as there are up to the regular one, the 32nd", 28, 0, {}, 3],
  ["none right before it", 31, 0, {}, 0],
  ["seven after it", 32, 0, {}, 7],
  ["as many as the visit may have", 47, 0, {}, 3],
  ["as many as the run may have", 1, 97, {}, 2],
  ["none beyond a limit", 60, 120, {}, 0],
  ["none where the run has a budget", 1, 0, { run: { turns: 100 } }, 0],
  ["none where its nodes have one", 1, 0, { node: { turns: 100 } }, 0],
])("turns that may follow the one at hand: %s", (_, turn, modelTurns, budget, expected) => {
  const record = openedRecord({ carried: { turn, usage: { ...NO_USAGE, modelTurns }, budget } });
  expect(turnsAhead(record, { maxTurnsPerNode: 50, maxTurnsPerRun: 100 })).toBe(expected);
});

describe("an answer", () => {
  test("with calls has them run", () => {
    expect(decideNextStep(openedRecord(), VISITING, { ...ANSWER, calls: [{}] }, NOW)).toEqual({
      kind: "calls",
    });
  });

  test("in words asks the user", () => {
    const question = { nodeId: "draft", text: "Which one?" };
    expect(decideNextStep(openedRecord(), VISITING, ANSWER, NOW)).toEqual({ kind: "ask", question });
  });

  test.each([
    ["once", undefined, 0, true],
    ["not twice", undefined, 1, false],
    ["three times on autopilot", true, 2, true],
    ["not more on autopilot", true, 3, false],
  ])("that asks nothing is told so %s", (_, autopilot, nudges, isTold) => {
    const record = openedRecord({ terms: autopilot === undefined ? {} : { autopilot } });
    const step = decideNextStep(record, { ...VISITING, nudges }, EMPTY, NOW);
    const told = { kind: "tell", correction: NUDGES.empty, nudges: nudges + 1 };
    expect(step).toMatchObject(isTold ? told : { kind: "ask", question: { code: "LLM_BAD_RESPONSE" } });
  });

  test.each([
    [
      "of nothing, says so",
      EMPTY,
      { text: expect.stringMatching(/^The agent's answers are empty/) as string },
    ],
    [
      "that holds a written call, shows it below what is to be known",
      { ...ANSWER, text: "call()", noQuestion: "written-call" } as const,
      { text: expect.stringMatching(/not run.*\n\ncall\(\)$/s) as string },
    ],
    [
      "that asks nothing, shows its words alone",
      { ...ANSWER, text: "I see.", noQuestion: "asks-nothing" } as const,
      { text: "I see." },
    ],
  ])("the user is asked about one %s", (_, answer, question) => {
    expect(decideNextStep(openedRecord(), { ...VISITING, nudges: 1 }, answer, NOW)).toMatchObject({
      kind: "ask",
      question,
    });
  });

  test("that asks nothing in a bundle run is told how such a run ends", () => {
    const asksNothing = { ...ANSWER, text: "All saved.", noQuestion: "asks-nothing" } as const;
    const correction = (record: RunRecord) => decideNextStep(record, VISITING, asksNothing, NOW);
    const run = { ...openedRecord().opened.run, kind: "bundle" } as const;
    expect(correction(openedRecord({ opened: { run } }))).toMatchObject({
      correction: expect.stringContaining("WORKFLOW COMPLETE") as string,
    });
    expect(correction(openedRecord())).toMatchObject({ correction: NUDGES["asks-nothing"] });
  });

  test("that was cut off is told so three times, then the user is asked", () => {
    const record = storyRecord();
    const steps = Array.from({ length: 4 }, () =>
      decideNextStep(record, VISITING, { ...ANSWER, cutOff: true, calls: [{}] }, NOW),
    );
    expect(steps.map(({ kind }) => kind)).toEqual(["tell", "tell", "tell", "ask"]);
    expect(steps.at(-1)).toMatchObject({ question: { code: "ENGINE_LOOP_DETECTED" } });
    expect(record.carried.story?.state.errors).toHaveLength(4);
  });

  test.each([
    ["in words", ANSWER, "go-on"],
    ["with calls", { ...ANSWER, calls: [{}] }, "calls"],
    ["that asks nothing", EMPTY, "go-on"],
  ])("%s, after the user has ended the run, asks nobody", (_, answer, kind) => {
    expect(decideNextStep(openedRecord(ENDED), VISITING, answer, NOW)).toEqual({ kind });
  });

  test("that completes a bundle run ends it", () => {
    const record = openedRecord();
    const answer = { ...ANSWER, ending: { kind: "complete" } } as const;
    expect(decideNextStep(record, VISITING, answer, NOW)).toEqual({ kind: "go-on" });
    expect(record.isComplete).toBe(true);
  });

  test("that says it is done while something is missing is corrected, then the user is asked", () => {
    const record = openedRecord({ carried: { loop: { key: ENDING_KEY, failures: 2 } } });
    const ending = { kind: "incomplete", correction: "Save it.", missing: "out.md" } as const;
    const decide = () => decideNextStep(record, VISITING, { ...ANSWER, text: "Done.", ending }, NOW);
    expect(decide()).toEqual({ kind: "tell", correction: "Save it." });
    const text = expect.stringMatching(/^Done\.\n\nThe agent says that it is done, but out\.md/) as string;
    expect(decide()).toMatchObject({ kind: "ask", question: { text, code: "ENGINE_LOOP_DETECTED" } });
  });

  test.each([
    ["LLM_REFUSED", "I will not.", /refuses to answer.*\n\nI will not\.$/s],
    ["LLM_CONTENT_FILTERED", "", /content filter.*\n\nThe provider gave no reason\.$/s],
  ] as const)("that is refused with %s is the user's to decide", (code, words, text) => {
    const record = storyRecord();
    const step = decideNextStep(record, VISITING, { ...ANSWER, refusal: { code, words } }, NOW);
    expect(step).toMatchObject({
      kind: "ask",
      question: { nodeId: "draft", code, text: expect.stringMatching(text) as string },
    });
    expect(record.carried.story?.state.errors).toMatchObject([{ code, timestamp: NOW }]);
  });
});

test("after the calls of an answer, the model is corrected or the user asked, where the run still stands there", () => {
  const record = openedRecord();
  expect(afterCalls(record, "draft", "go-on")).toEqual({ kind: "go-on" });
  expect(afterCalls(record, "draft", "correct")).toEqual({ kind: "tell", correction: LOOP_CORRECTION });
  expect(afterCalls(record, "draft", "correct-repeated")).toMatchObject({ kind: "tell" });
  expect(afterCalls(record, "draft", "ask-of-repeated")).toMatchObject({
    kind: "ask",
    question: { text: expect.stringContaining("the same tool call again and again") as string },
  });
  expect(afterCalls(record, "draft", "ask-user")).toMatchObject({
    kind: "ask",
    question: { nodeId: "draft", code: "ENGINE_LOOP_DETECTED" },
  });
  expect(afterCalls(record, "review", "ask-user")).toEqual({ kind: "go-on" });
});

test.each([
  [
    { kind: "tell", correction: "new", nudges: 2 },
    { correction: "new", nudges: 2 },
  ],
  [{ kind: "tell", correction: "new" }, { correction: "new" }],
  [{ kind: "go-on" }, {}],
] as const)("after a turn, a visit knows what is to be said once: %j", (step, known) => {
  const record = openedRecord();
  endTurn(record, { ...VISITING, resumes: "visit-1", correction: "old", nudges: 1 }, step);
  expect(record.carried.visiting).toEqual({ ...VISITING, resumes: "visit-1", ...known });
});
