import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createInitialState } from "../../../src/core/graph-state/initial-state.js";
import type { GraphState } from "../../../src/core/graph-state/schemas.js";
import { safeValidateGraphState } from "../../../src/core/graph-state/validate.js";
import { MAX_RECORDED_BYTES, StateRecordSchema, mergeRecord } from "../../../src/core/graph-state/record.js";
import type { JsonObject } from "../../../src/core/json.js";
import { graphState } from "./arbitraries.js";

const START = createInitialState({ epicPrefix: "wrkf", storyId: "wrkf-1010" });
const EVIDENCE = { type: "test", path: "artifacts/tests.log", timestamp: "2026-01-02T03:04:05Z" } as const;

function merged(state: GraphState, record: JsonObject): GraphState {
  const result = mergeRecord(state, record);
  if (!result.ok) throw new Error(result.error.message);
  return result.value;
}

function refusal(state: GraphState, record: JsonObject) {
  const result = mergeRecord(state, record);
  return result.ok ? undefined : result.error;
}

const pathsOf = (record: JsonObject, state = START) => {
  const errors = refusal(state, record)?.details?.["errors"];
  return Array.isArray(errors) ? errors.map((error) => (error as { path: string }).path) : undefined;
};

describe("a record", () => {
  test("is merged key by key, and leaves the rest", () => {
    const state = {
      ...START,
      gateDecisions: { qaGate: "FAIL", codeReview: "PASS" },
      artifactPaths: { storyDoc: "a.md" },
      routingFlags: { retry: true },
    } as const satisfies Partial<GraphState>;
    expect(
      merged(
        { ...START, ...state },
        {
          gateDecisions: { qaGate: "PASS" },
          artifactPaths: { qaGate: "q.md" },
          routingFlags: { escalate: true },
        },
      ),
    ).toEqual({
      ...START,
      gateDecisions: { qaGate: "PASS", codeReview: "PASS" },
      artifactPaths: { storyDoc: "a.md", qaGate: "q.md" },
      routingFlags: { retry: true, escalate: true },
    });
  });

  test("adds evidence once", () => {
    const other = { ...EVIDENCE, description: "after the fix" };
    const once = merged(START, { evidenceRefs: [EVIDENCE] });
    expect(merged(once, { evidenceRefs: [EVIDENCE, other] }).evidenceRefs).toEqual([EVIDENCE, other]);
  });

  test.each([
    ["nothing", {}, [""]],
    ["an unknown field", { storyId: "wrkf-2" }, [""]],
    ["an unknown gate", { gateDecisions: { lunch: "PASS" } }, ["gateDecisions"]],
    ["an unknown decision", { gateDecisions: { qaGate: "pass" } }, ["gateDecisions.qaGate"]],
    ["an empty path", { artifactPaths: { storyDoc: "" } }, ["artifactPaths.storyDoc"]],
    ["a flag that is no boolean", { routingFlags: { skip: "yes" } }, ["routingFlags.skip"]],
    [
      "evidence without a time",
      { evidenceRefs: [{ type: "test", path: "x" }] },
      ["evidenceRefs.0.timestamp"],
    ],
    ["a list where a record belongs", { gateDecisions: ["PASS"] }, ["gateDecisions"]],
    ["null", { gateDecisions: null }, ["gateDecisions"]],
  ])("of %s is refused with its place", (_, record, paths) => {
    expect(refusal(START, record as JsonObject)?.code).toBe("E_SCHEMA_VALIDATION");
    expect(pathsOf(record as JsonObject)).toEqual(paths);
  });

  test("is refused where it does not go with the state: the visit is a repetition", () => {
    const retried = { ...START, routingFlags: { retry: true } };
    expect(pathsOf({ routingFlags: { complete: true } }, retried)).toEqual(["routingFlags.retry"]);
    expect(merged(retried, { routingFlags: { complete: true, retry: false } }).routingFlags).toEqual({
      complete: true,
      retry: false,
    });
  });

  test("cannot name what every object has", () => {
    for (const text of [
      '{"__proto__":{"gateDecisions":{"qaGate":"PASS"}}}',
      '{"gateDecisions":{"__proto__":{"qaGate":"PASS"}}}',
      '{"gateDecisions":{"qaGate":"FAIL","__proto__":"PASS"}}',
    ]) {
      const result = mergeRecord(START, JSON.parse(text) as JsonObject);
      const gates = result.ok ? result.value.gateDecisions : {};
      expect(Object.getPrototypeOf(gates)).toBe(Object.prototype);
      expect(gates.qaGate).not.toBe("PASS");
    }
    expect(refusal(START, { constructor: "PASS" })?.code).toBe("E_SCHEMA_VALIDATION");
    expect({}).not.toHaveProperty("qaGate");
  });

  test("says little of a record with very many mistakes", () => {
    const evidenceRefs = Array.from({ length: 1_000 }, () => ({ type: "x".repeat(1_000) }));
    const error = refusal(START, { evidenceRefs });
    expect(JSON.stringify(error).length).toBeLessThan(12_000);
  });
});

describe("the size of what is recorded", () => {
  const long = (bytes: number) => ({ ...EVIDENCE, path: "x".repeat(bytes) });
  const full = merged(START, { evidenceRefs: [long(MAX_RECORDED_BYTES - 200)] });

  test("is bounded in UTF-8 bytes", () => {
    expect(refusal(full, { evidenceRefs: [EVIDENCE, long(200)] })).toMatchObject({
      code: "E_WRITE_LIMIT",
      message: expect.stringContaining("Keep details in files") as string,
    });
    expect(refusal(START, { artifactPaths: { storyDoc: "\u{1f600}".repeat(7_000) } })?.code).toBe(
      "E_WRITE_LIMIT",
    );
  });

  test("never keeps a gate shut, however much evidence and however many errors there are", () => {
    const crowded: GraphState = {
      ...full,
      evidenceRefs: [...full.evidenceRefs, long(40_000)],
      errors: [
        { nodeId: "qa", message: "x".repeat(30_000), timestamp: EVIDENCE.timestamp, recoverable: true },
      ],
    };
    expect(merged(crowded, { gateDecisions: { qaGate: "WAIVED" } }).gateDecisions).toEqual({
      qaGate: "WAIVED",
    });
    expect(refusal(crowded, { evidenceRefs: [EVIDENCE] })?.code).toBe("E_WRITE_LIMIT");
  });
});

describe("whatever is recorded", () => {
  const validRecord = graphState.map(({ gateDecisions, evidenceRefs, artifactPaths, routingFlags }) => ({
    gateDecisions,
    evidenceRefs,
    artifactPaths,
    routingFlags,
  }));
  const brokenRecord = fc
    .tuple(validRecord, fc.jsonValue(), fc.constantFrom("gateDecisions", "errors", "x"))
    .map(([record, value, key]) => ({ ...record, [key]: value }));
  const anyRecord = fc.oneof(validRecord, brokenRecord, fc.dictionary(fc.string(), fc.jsonValue()));

  test("the state given never changes, and what comes out is valid", () => {
    let accepted = 0;
    fc.assert(
      fc.property(graphState, anyRecord, (state, record) => {
        const before = structuredClone(state);
        const result = mergeRecord(state, record as JsonObject);
        expect(state).toEqual(before);
        if (!result.ok) return;
        accepted += 1;
        expect(safeValidateGraphState(result.value).error).toBeUndefined();
        expect(result.value.stateHistory).toEqual(state.stateHistory);
        expect(StateRecordSchema.safeParse(record).success).toBe(true);
        expect(mergeRecord(result.value, record as JsonObject)).toEqual(result);
      }),
      { numRuns: 300, seed: 11 },
    );
    expect(accepted).toBeGreaterThan(50);
  });

  test("a state that is not valid is never handed out", () => {
    const broken = { ...START, epicPrefix: "other" };
    expect(pathsOf({ gateDecisions: { qaGate: "PASS" } }, broken)).toEqual(["storyId"]);
  });
});
