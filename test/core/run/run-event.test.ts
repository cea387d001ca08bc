import { expect, test } from "vitest";
import { EVENT_SCHEMA_VERSION, toRunEvent } from "../../../src/core/run/run-event.js";

const TS = "2026-03-01T10:00:00.000Z";
const RUN = "01a2b3c4-0000-4000-8000-000000000000";
const EVERY = { schemaVersion: EVENT_SCHEMA_VERSION, seq: 7, runId: RUN, ts: TS };
const TURN = {
  ts: TS,
  kind: "model.turn",
  nodeId: "plan",
  agentId: "pm",
  model: "m",
  calls: 2,
  durationMs: 12,
};

test("a turn's line is an event with the visit and the turn that its id names", () => {
  const usage = { promptTokens: 5, completionTokens: 3, cost: 0.5 };
  expect(toRunEvent({ ...TURN, ...usage, id: "3.2" }, 7, RUN)).toEqual({
    ...TURN,
    ...usage,
    ...EVERY,
    visit: 3,
    turn: 2,
  });
});

test("a turn of which nothing was counted has used nothing", () => {
  expect(toRunEvent({ ...TURN, id: "1.1" }, 7, RUN)).toMatchObject({
    promptTokens: 0,
    completionTokens: 0,
    cost: 0,
  });
});

test("a phase's line is an event that knows which change it is", () => {
  const line = { ts: TS, kind: "run.phase", id: "4", nodeId: "plan", phase: "running" };
  expect(toRunEvent(line, 7, RUN)).toMatchObject({
    ...EVERY,
    kind: "run.phase",
    change: 4,
    phase: "running",
  });
});

test("what was said to a run is an event, and with whom it came from", () => {
  const line = { ts: TS, kind: "user.input", nodeId: "plan", id: "u1", input: { chars: 3 }, by: "ann@host" };
  expect(toRunEvent(line, 7, RUN)).toEqual({ ...line, ...EVERY });
});

test("a node that the engine has gone through is an event, with what a run below it has used", () => {
  const line = { ts: TS, kind: "node.pass", id: "pass-2.1-both", nodeId: "both", visit: 2, next: "done" };
  const { id: _, ...told } = line;
  expect(toRunEvent(line, 7, RUN)).toEqual({ ...told, ...EVERY });
  const below = { childRunId: "c", workflow: "part", modelTurns: 3, promptTokens: 9, cost: 0.5 };
  expect(toRunEvent({ ...line, ...below }, 7, RUN)).toEqual({ ...told, ...below, ...EVERY });
});

test.each([
  ["of the log itself", { ts: TS, kind: "log.torn", id: "1" }],
  ["without an id", TURN],
  ["without a kind", { ts: TS, id: "1.1" }],
])("a line %s is no event", (_, line) => {
  expect(toRunEvent(line, 7, RUN)).toBeUndefined();
});
