import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createInitialState } from "../../../src/core/graph-state/initial-state.js";
import { ArtifactTypeSchema, type GraphState } from "../../../src/core/graph-state/schemas.js";
import { safeValidateGraphState } from "../../../src/core/graph-state/validate.js";
import {
  MAX_ERRORS,
  MAX_ERROR_BYTES,
  MAX_HISTORY_BYTES,
  MAX_SNAPSHOTS,
  type VisitEvent,
  isUnmetPrecondition,
  nodeError,
  reduceVisit,
  withSnapshot,
  withoutHistory,
} from "../../../src/core/graph-state/walk.js";
import { graphState } from "./arbitraries.js";

const NOW = "2026-03-04T05:06:07.000Z";
const START = createInitialState({ epicPrefix: "wrkf", storyId: "wrkf-1010" });

const flagsAfter = (start: GraphState["routingFlags"], ...events: VisitEvent[]) =>
  events.reduce(reduceVisit, { ...START, routingFlags: start }).routingFlags;
const bytes = (value: unknown) => Buffer.byteLength(JSON.stringify(value));

describe("routing flags of a visit", () => {
  test.each<[string, GraphState["routingFlags"], VisitEvent, GraphState["routingFlags"]]>([
    [
      "a first visit begins with none",
      { proceed: true, escalate: true },
      { kind: "begun", again: false },
      {},
    ],
    ["another one with retry", { proceed: true }, { kind: "begun", again: true }, { retry: true }],
    ["a question escalates", { retry: true }, { kind: "asked" }, { retry: true, escalate: true }],
    ["moving on proceeds", {}, { kind: "left", skipped: false }, { proceed: true }],
    ["leaving a node behind skips", {}, { kind: "left", skipped: true }, { proceed: true, skip: true }],
    [
      "moving on keeps that the node was visited again, and that someone was asked",
      { retry: true, escalate: true },
      { kind: "left", skipped: false },
      { retry: true, escalate: true, proceed: true },
    ],
    [
      "who moves on is not blocked any more",
      { blocked: true },
      { kind: "left", skipped: false },
      { proceed: true },
    ],
    [
      "who moves on is not complete, whatever the node recorded",
      { complete: true },
      { kind: "left", skipped: false },
      { proceed: true },
    ],
    ["who is blocked is not complete", { complete: true }, { kind: "blocked" }, { blocked: true }],
    [
      "the end is complete, and neither tried again nor blocked",
      { retry: true, blocked: true, escalate: true },
      { kind: "completed" },
      { escalate: true, complete: true },
    ],
  ])("%s", (_, before, event, after) => {
    expect(flagsAfter(before, event)).toEqual(after);
  });

  test("any events over any valid state leave a valid state, and the one before as it was", () => {
    const event: fc.Arbitrary<VisitEvent> = fc.oneof(
      fc.record({ kind: fc.constant("begun" as const), again: fc.boolean() }),
      fc.record({
        kind: fc.constant("artifact" as const),
        type: fc.constantFrom(...ArtifactTypeSchema.options),
        path: fc.string({ minLength: 1 }),
      }),
      fc
        .record({ message: fc.string({ maxLength: 600 }), recoverable: fc.boolean() })
        .map(({ message, recoverable }) => ({
          kind: "error" as const,
          error: nodeError("qa", { code: "E_INTERNAL", message }, recoverable, NOW),
        })),
      fc.constantFrom<VisitEvent>({ kind: "blocked" }, { kind: "asked" }, { kind: "completed" }),
      fc.record({ kind: fc.constant("left" as const), skipped: fc.boolean() }),
    );
    fc.assert(
      fc.property(graphState, fc.array(event, { maxLength: 12 }), (start, events) => {
        let state = start;
        for (const next of events) {
          const before = structuredClone(state);
          const after = reduceVisit(state, next);
          expect(state).toEqual(before);
          state = after;
          expect(safeValidateGraphState(state).error).toBeUndefined();
        }
      }),
      { numRuns: 200, seed: 7 },
    );
  });
});

describe("artifacts and errors of a visit", () => {
  test("an artifact takes the place of an earlier one of its type only", () => {
    const artifact = (type: "storyDoc" | "qaGate", path: string) =>
      ({ kind: "artifact", type, path }) as const;
    const state = [artifact("storyDoc", "a.md"), artifact("qaGate", "q.md"), artifact("storyDoc", "b.md")];
    expect(state.reduce(reduceVisit, START).artifactPaths).toEqual({ storyDoc: "b.md", qaGate: "q.md" });
  });

  test("an error is kept short, and whole where it is short", () => {
    expect(nodeError("qa", { code: "E_INTERNAL", message: "No." }, true, NOW)).toEqual({
      nodeId: "qa",
      message: "No.",
      code: "E_INTERNAL",
      timestamp: NOW,
      recoverable: true,
    });
    const huge = nodeError("n".repeat(5_000), { code: "X", message: "\u{1f600}".repeat(5_000) }, false, NOW);
    expect(huge.nodeId).toHaveLength(201);
    expect(huge.message.length).toBeLessThanOrEqual(301);
    expect(huge.message.isWellFormed()).toBe(true);
  });

  test("the newest errors are kept: a number of them", () => {
    const events = Array.from({ length: MAX_ERRORS + 5 }, (_, index) => ({
      kind: "error" as const,
      error: nodeError("qa", { code: "X", message: String(index) }, true, NOW),
    }));
    const { errors } = events.reduce(reduceVisit, START);
    expect(errors.map(({ message }) => message)).toEqual(
      Array.from({ length: MAX_ERRORS }, (_, index) => String(index + 5)),
    );
  });

  test("the newest errors are kept: a number of bytes", () => {
    const message = "\u{1f600}".repeat(150);
    const events = Array.from({ length: MAX_ERRORS }, () => ({
      kind: "error" as const,
      error: nodeError("qa", { code: "X", message }, true, NOW),
    }));
    const { errors } = events.reduce(reduceVisit, START);
    expect(bytes(errors)).toBeLessThanOrEqual(MAX_ERROR_BYTES + 1);
    expect(bytes([...errors, errors[0]])).toBeGreaterThan(MAX_ERROR_BYTES);
  });
});

describe("the history", () => {
  const snapshot = (schemaVersion: string) => ({
    timestamp: NOW,
    state: { ...withoutHistory(START), schemaVersion },
  });

  test("is not part of a snapshot, and the state given is left as it was", () => {
    const first = withSnapshot(START, snapshot("1"));
    expect(START.stateHistory).toEqual([]);
    expect(first.stateHistory).toEqual([snapshot("1")]);
    expect(withoutHistory(first)).not.toHaveProperty("stateHistory");
    expect(safeValidateGraphState(first).success).toBe(true);
  });

  test("has the newest snapshots", () => {
    let state = START;
    for (let index = 1; index <= MAX_SNAPSHOTS + 3; index += 1) {
      state = withSnapshot(state, snapshot(String(index)));
    }
    expect(state.stateHistory.map(({ state: { schemaVersion } }) => schemaVersion)).toEqual(
      Array.from({ length: MAX_SNAPSHOTS }, (_, index) => String(index + 4)),
    );
  });

  test("has no more bytes than its bound, counted as UTF-8", () => {
    let state = START;
    for (let index = 0; index < MAX_SNAPSHOTS; index += 1) {
      state = withSnapshot(state, snapshot("\u{1f600}".repeat(2_500)));
      expect(bytes(state.stateHistory)).toBeLessThanOrEqual(MAX_HISTORY_BYTES + 1);
    }
    expect(state.stateHistory).toHaveLength(6);
  });

  test("is empty while the newest snapshot alone is too large, and goes on after it", () => {
    const full = withSnapshot(withSnapshot(START, snapshot("1")), snapshot("x".repeat(MAX_HISTORY_BYTES)));
    expect(full.stateHistory).toEqual([]);
    expect(withSnapshot(full, snapshot("2")).stateHistory).toEqual([snapshot("2")]);
  });
});

describe("an unmet precondition", () => {
  const edges = (satisfied?: boolean) => ({
    from: "qa",
    to: "finish",
    allowedNext: [
      { to: "build", label: "again" },
      { to: "finish", label: "passed", ...(satisfied === undefined ? {} : { satisfied }) },
    ],
  });

  test.each([
    ["a version that is gone", "E_PRECONDITION_FAILED", undefined, true],
    ["an edge whose condition does not hold", "E_INVALID_TRANSITION", edges(false), true],
    ["an edge whose condition holds", "E_INVALID_TRANSITION", edges(true), false],
    ["an edge without a condition", "E_INVALID_TRANSITION", edges(), false],
    ["no edge", "E_INVALID_TRANSITION", { ...edges(false), to: "nowhere" }, false],
    ["details of another shape", "E_INVALID_TRANSITION", { to: "finish", allowedNext: "all" }, false],
    ["no details", "E_INVALID_TRANSITION", undefined, false],
    ["another fault", "ENOENT", edges(false), false],
    ["no fault", undefined, undefined, false],
  ] as const)("%s", (_, code, details, unmet) => {
    expect(isUnmetPrecondition(code, details)).toBe(unmet);
  });
});
