import { describe, expect, test } from "vitest";
import { budgetBelow, faultBelow, takeEndBelow } from "../../../src/core/engine/run-below.js";
import { defined } from "../../../src/core/defined.js";
import { toResult } from "../../../src/core/engine/closing.js";
import { wayOnFrom } from "../../../src/core/engine/node-pass.js";
import { recordedState, replaceGraphState } from "../../../src/core/engine/run-graph-state.js";
import { RunRecord } from "../../../src/core/engine/run-record.js";
import { NOW, OPENED, RESUMED, RUN_ID, USAGE, openedRecord, storyRecord } from "./record-world.js";

describe("what a run below may use", () => {
  test("is nothing in particular where the run has no budget", () => {
    expect(budgetBelow(openedRecord())).toBeUndefined();
  });

  test("is what is left of the run's, and the same for each visit", () => {
    const budget = { run: { turns: 5, tokens: 60, cost: 2 }, node: { turns: 4 } };
    const record = openedRecord({ carried: { budget, usage: USAGE } });
    expect(budgetBelow(record)).toEqual({ run: { turns: 2, tokens: 4, cost: 1.5 }, node: { turns: 4 } });
  });

  test("is only what has a limit, and never nothing: a limit is above 0", () => {
    const run = { turns: 3, cost: 0.5 };
    expect(budgetBelow(openedRecord({ carried: { budget: { run }, usage: USAGE } }))).toEqual({
      run: { turns: 1, cost: 1e-9 },
    });
    expect(budgetBelow(openedRecord({ carried: { budget: { node: { tokens: 9 } } } }))).toEqual({
      node: { tokens: 9 },
    });
  });
});

describe("a run below that has completed", () => {
  test("has used what the run has used, without taking its turns", () => {
    const record = openedRecord({ terms: { input: "Paint it." } });
    takeEndBelow(record, "draft", { artifacts: [], usage: USAGE });
    takeEndBelow(record, "draft", { artifacts: [], usage: { ...USAGE, modelTurns: 2 } });
    expect(record.carried).toMatchObject({ usage: { modelTurns: 5, cost: 1 }, turnsBelow: 5 });
    expect(record.ownTurns).toBe(0);
    expect(record.firstWords).toBe("Paint it.");
    record.beginVisit("visit-1");
    expect(record.carried.visiting?.intent).toBe("start");
  });

  test("has written the node's artifacts", () => {
    const record = storyRecord();
    takeEndBelow(record, "draft", { artifacts: ["artifacts/other.md", "artifacts/story.md"], usage: USAGE });
    expect(record.carried.story?.state.artifactPaths).toEqual({ storyDoc: "artifacts/story.md" });
  });

  test("hands up the variables that are asked for, and the story as it left it", () => {
    const below = storyRecord();
    const recorded = recordedState(below, { gateDecisions: { qaGate: "PASS" } });
    if (!recorded.ok) throw new Error(recorded.error.message);
    replaceGraphState(below, { ...recorded.value, routingFlags: { complete: true } });
    const variables = { verdict: { ok: true }, own: 1 };
    below.update({ frontmatter: { ...below.frontmatter, variables } });
    expect(toResult(below)).not.toHaveProperty("handsUp");
    const asked = new RunRecord(
      { ...below.input, parent: { runId: RUN_ID, returns: ["verdict", "missing"] } },
      false,
    );
    asked.open = below.open;
    asked.carried = below.carried;
    const { handsUp } = toResult(asked);
    expect(handsUp).toMatchObject({ variables: { verdict: { ok: true } } });
    const above = storyRecord();
    takeEndBelow(above, "draft", { artifacts: [], usage: USAGE, ...defined({ handsUp }) });
    expect(above.carried.story?.state).toMatchObject({ gateDecisions: { qaGate: "PASS" }, routingFlags: {} });
    above.update({ frontmatter: { ...above.frontmatter, workflowType: "paint" } });
    const way = wayOnFrom(above, "draft", { now: NOW, ...defined({ variables: handsUp?.variables }) });
    expect(way).toMatchObject({ document: { variables: { verdict: { ok: true } } } });
  });

  test("is remembered by a run that goes on from its folder", () => {
    const record = openedRecord({ terms: { resume: true } });
    record.begin({ ...OPENED, resumed: { ...RESUMED, turnsBelow: 2 } });
    expect(record.ownTurns).toBe(1);
  });
});

test("a run below that has not completed is named in the fault, with its code and how both go on", () => {
  const below = { runId: "b", nodeId: "parts" };
  expect(
    faultBelow(openedRecord(), below, { code: "LLM_AUTH_FAILED", message: "No key fits (401)." }),
  ).toEqual({
    code: "LLM_AUTH_FAILED",
    message: `The subworkflow at parts, run b, has not completed: No key fits (401). Once that is mended, let this run go on, and with it that one: interlock retry ${RUN_ID}`,
  });
  // Temporal's own words, for one.
  expect(faultBelow(openedRecord(), below, { code: "E_INTERNAL", message: "Terminated" }).message).toContain(
    "has not completed: Terminated. Once that is mended",
  );
});

test("what a run waits for is told for as long as it waits", () => {
  const record = openedRecord({ terms: { parent: { runId: "a" } } });
  record.below = { runId: "b", workflowRef: "part" };
  expect(record.toRunState()).toMatchObject({ below: { runId: "b", workflowRef: "part" }, parentRunId: "a" });
  record.fail({ code: "E_INTERNAL", message: NOW });
  expect(record.toRunState()).not.toHaveProperty("below");
});
