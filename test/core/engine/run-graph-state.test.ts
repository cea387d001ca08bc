import { describe, expect, test } from "vitest";
import { createInitialState } from "../../../src/core/graph-state/initial-state.js";
import {
  beginGraphState,
  beginGraphStateVisit,
  closeGraphStateVisit,
  graphStateBrief,
  heldState,
  recordedState,
  replaceGraphState,
  tellError,
  tellFailedCall,
  tellGraphState,
} from "../../../src/core/engine/run-graph-state.js";
import { NOW, openedRecord, standAt, storyRecord } from "./record-world.js";

const STATE = createInitialState({ storyId: "wrkf-1010", epicPrefix: "wrkf" });

test("a run without a story keeps nothing of what it is told", () => {
  const record = openedRecord();
  const before = record.carried;
  beginGraphStateVisit(record);
  tellGraphState(record, { kind: "asked" });
  replaceGraphState(record, STATE);
  tellFailedCall(record, "draft", { unmet: true }, NOW);
  expect(closeGraphStateVisit(record, "draft", NOW)).toBeUndefined();
  expect(record.carried).toEqual(before);
  expect([heldState(record), graphStateBrief(record)]).toEqual([undefined, undefined]);
  expect(recordedState(record, {})).toMatchObject({ ok: false, error: { code: "TOOL_NOT_AVAILABLE" } });
});

test("a run with a story begins with its state, and shows it without its history", () => {
  const record = openedRecord();
  beginGraphState(record, STATE);
  const { stateHistory: _, ...state } = STATE;
  expect(heldState(record)).toEqual({ state, change: 0 });
  expect(graphStateBrief(record)).toEqual({ storyId: "wrkf-1010", gateDecisions: {}, artifactPaths: {} });
});

test("a record of the model takes the state's place once it fits", () => {
  const record = storyRecord();
  expect(recordedState(record, { gateDecisions: 1 })).toMatchObject({ ok: false });
  const next = recordedState(record, { gateDecisions: { qaGate: "PASS" } });
  if (next.ok) replaceGraphState(record, next.value);
  expect(record.carried.story).toMatchObject({ change: 1, state: { gateDecisions: { qaGate: "PASS" } } });
});

describe("a visit", () => {
  test("of a node that was visited before is a retry", () => {
    const record = storyRecord();
    beginGraphStateVisit(record);
    expect(record.carried.story).toMatchObject({ visited: [0], state: { routingFlags: {} } });
    beginGraphStateVisit(record);
    expect(record.carried.story).toMatchObject({ visited: [0], state: { routingFlags: { retry: true } } });
  });

  test("is blocked at the second precondition that is not met", () => {
    const record = storyRecord();
    tellFailedCall(record, "draft", {}, NOW);
    tellFailedCall(record, "draft", { code: "E_PRECONDITION_FAILED", message: "x", unmet: true }, NOW);
    expect(record.carried.story).toMatchObject({ unmetPreconditions: 1, state: { routingFlags: {} } });
    tellFailedCall(record, "draft", { unmet: true }, NOW);
    expect(record.carried.story).toMatchObject({ state: { routingFlags: { blocked: true } } });
    expect(record.carried.story?.state.errors.map(({ code }) => code)).toEqual([
      "E_INTERNAL",
      "E_PRECONDITION_FAILED",
      "E_INTERNAL",
    ]);
  });

  test("that is left proceeds, and skips what can be reached no more", () => {
    const record = storyRecord();
    beginGraphStateVisit(record);
    standAt(record, "review", ["draft"]);
    expect(closeGraphStateVisit(record, "draft", NOW)).toBeUndefined();
    const { state } = record.carried.story ?? {};
    expect(state?.routingFlags).toEqual({ proceed: true, skip: true });
    expect(state?.stateHistory).toMatchObject([{ timestamp: NOW, state: { storyId: "wrkf-1010" } }]);
  });

  test("that completes the run says so", () => {
    const record = storyRecord({ carried: { ended: true } });
    closeGraphStateVisit(record, "draft", NOW);
    expect(record.carried.story?.state.routingFlags).toEqual({ complete: true });
  });

  test("cannot be closed with a state that is not valid", () => {
    const record = storyRecord();
    replaceGraphState(record, { ...STATE, storyId: "other-1" });
    expect(closeGraphStateVisit(record, "draft", NOW)).toMatchObject({ code: "E_SCHEMA_VALIDATION" });
    expect(record.carried.story?.state.stateHistory).toEqual([]);
  });
});

test("an error before the first node is the run's", () => {
  const record = storyRecord();
  tellError(record, "", { code: "E_INTERNAL", message: "x" }, { recoverable: false, now: NOW });
  expect(record.carried.story?.state.errors).toMatchObject([
    { nodeId: "run", recoverable: false, timestamp: NOW },
  ]);
});
