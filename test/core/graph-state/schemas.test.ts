import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type z, ZodError } from "zod";
import {
  ArtifactTypeSchema,
  EvidenceRefSchema,
  GateDecisionSchema,
  GateTypeSchema,
  GRAPH_STATE_SCHEMA_VERSION,
  type GraphState,
  type GraphStateInput,
  GraphStateSchema,
  NodeErrorSchema,
  RoutingFlagSchema,
  StateSnapshotSchema,
  StateSnapshotStateSchema,
} from "../../../src/core/index.js";
import { graphState } from "./arbitraries.js";

const minimal = { epicPrefix: "wrkf", storyId: "wrkf-1010" };
const at = "2026-01-01T00:00:00Z";

/** The issues' paths, each joined by dots; none when the value is accepted. */
function refusedAt(schema: z.ZodType, value: unknown): string[] {
  const result = schema.safeParse(value);
  return result.success ? [] : result.error.issues.map((issue) => issue.path.join("."));
}

const ENUMS: readonly (readonly [string, z.ZodEnum, readonly string[]])[] = [
  [
    "ArtifactTypeSchema",
    ArtifactTypeSchema,
    ["storyDoc", "elaboration", "proof", "codeReview", "qaVerify", "uiuxReview", "qaGate", "evidence"],
  ],
  ["RoutingFlagSchema", RoutingFlagSchema, ["proceed", "retry", "blocked", "escalate", "skip", "complete"]],
  ["GateTypeSchema", GateTypeSchema, ["codeReview", "qaVerify", "uiuxReview", "qaGate"]],
  ["GateDecisionSchema", GateDecisionSchema, ["PASS", "CONCERNS", "FAIL", "WAIVED", "PENDING"]],
];

describe.each(ENUMS)("%s", (_name, schema, values) => {
  test("lists exactly its values", () => {
    expect(schema.options).toEqual(values);
  });

  test.each(values)("accepts %s as it is written", (value) => {
    expect(schema.parse(value)).toBe(value);
  });

  test.each(["", "unknown", "pass", "StoryDoc", null, 1, undefined])("refuses %s", (value) => {
    expect(refusedAt(schema, value)).toEqual([""]);
  });
});

describe("EvidenceRefSchema", () => {
  const ref = { type: "test", path: "/out/test.log", timestamp: at };

  test.each(["test", "build", "http", "screenshot", "log"])("accepts the type %s", (type) => {
    expect(EvidenceRefSchema.parse({ ...ref, type })).toEqual({ ...ref, type });
  });

  test("keeps a description and needs none", () => {
    expect(EvidenceRefSchema.parse({ ...ref, description: "" })).toEqual({ ...ref, description: "" });
    expect(EvidenceRefSchema.parse(ref).description).toBeUndefined();
  });

  test.each([
    [{ type: "video" }, "type"],
    [{ path: "" }, "path"],
    [{ path: undefined }, "path"],
    [{ timestamp: "yesterday" }, "timestamp"],
    [{ description: 1 }, "description"],
  ])("refuses %j, saying where", (change, path) => {
    expect(refusedAt(EvidenceRefSchema, { ...ref, ...change })).toEqual([path]);
  });

  test.each([
    "2026-01-01T00:00:00Z",
    "2026-01-01T00:00:00.000Z",
    "2026-01-01T00:00:00.123456Z",
    "2026-01-01T00:00:00+02:00",
    "2024-02-29T23:59:59-11:30",
  ])("accepts the timestamp %s", (timestamp) => {
    expect(EvidenceRefSchema.parse({ ...ref, timestamp }).timestamp).toBe(timestamp);
  });

  test.each([
    "",
    "2026-01-01",
    "2026-01-01T00:00:00",
    "2026-01-01 00:00:00Z",
    "2025-02-29T00:00:00Z",
    "2026-01-01T24:00:00Z",
    1_767_225_600_000,
    new Date(0),
  ])("refuses the timestamp %s", (timestamp) => {
    expect(refusedAt(EvidenceRefSchema, { ...ref, timestamp })).toEqual(["timestamp"]);
  });
});

describe("NodeErrorSchema", () => {
  const error = { nodeId: "draft", message: "no such file", timestamp: at };

  test("keeps every field of a complete error", () => {
    const complete = { ...error, code: "E_FILE_NOT_FOUND", stack: "at draft", recoverable: true };
    expect(NodeErrorSchema.parse(complete)).toEqual(complete);
  });

  test("takes an error as not recoverable unless it says so", () => {
    expect(NodeErrorSchema.parse(error)).toEqual({ ...error, recoverable: false });
  });

  test("records an error that was thrown without a message", () => {
    expect(NodeErrorSchema.parse({ ...error, message: "" }).message).toBe("");
  });

  test.each([
    [{ nodeId: "" }, "nodeId"],
    [{ message: undefined }, "message"],
    [{ timestamp: "now" }, "timestamp"],
    [{ recoverable: "no" }, "recoverable"],
    [{ code: 404 }, "code"],
    [{ stack: null }, "stack"],
  ])("refuses %j, saying where", (change, path) => {
    expect(refusedAt(NodeErrorSchema, { ...error, ...change })).toEqual([path]);
  });
});

describe("GraphStateSchema", () => {
  test("gives a story its defaults", () => {
    expect(GraphStateSchema.parse(minimal)).toEqual({
      schemaVersion: "1.0.0",
      epicPrefix: "wrkf",
      storyId: "wrkf-1010",
      artifactPaths: {},
      routingFlags: {},
      evidenceRefs: [],
      gateDecisions: {},
      errors: [],
      stateHistory: [],
    });
    expect(GRAPH_STATE_SCHEMA_VERSION).toBe("1.0.0");
  });

  test("gives each state its own defaults", () => {
    const first = GraphStateSchema.parse(minimal);
    first.artifactPaths.storyDoc = "/story.md";
    first.errors.push({ nodeId: "a", message: "m", timestamp: at, recoverable: false });
    expect(GraphStateSchema.parse(minimal)).toMatchObject({ artifactPaths: {}, errors: [] });
  });

  test("keeps every field that is given", () => {
    const input: GraphStateInput = {
      ...minimal,
      schemaVersion: "2.0.0",
      artifactPaths: { storyDoc: "/story.md", evidence: "/evidence.zip" },
      routingFlags: { proceed: true, skip: false },
      evidenceRefs: [{ type: "http", path: "/a.har", timestamp: at, description: "one request" }],
      gateDecisions: { codeReview: "PASS", qaGate: "PENDING" },
      errors: [{ nodeId: "qa", message: "red", timestamp: at, recoverable: true }],
      stateHistory: [{ timestamp: at, state: StateSnapshotStateSchema.parse(minimal) }],
    };
    expect(GraphStateSchema.parse(input)).toMatchObject(input);
  });

  test("infers a type that needs every field and lets records be partial", () => {
    const state: GraphState = {
      ...minimal,
      schemaVersion: "1.0.0",
      artifactPaths: {},
      routingFlags: { complete: true },
      evidenceRefs: [],
      gateDecisions: {},
      errors: [],
      stateHistory: [],
    };
    // @ts-expect-error a record knows only its own keys
    state.artifactPaths.invoice = "/invoice.md";
    // @ts-expect-error and a gate only its decisions
    state.gateDecisions.qaGate = "MAYBE";
    expect(refusedAt(GraphStateSchema, state)).toEqual(["artifactPaths", "gateDecisions.qaGate"]);
  });

  test.each(["wrkf-1010", "WRKF-1010", "Wrkf-0", "wrkf-00000000000000000000001"])(
    "accepts the story %s of the epic wrkf and keeps it as it is written",
    (storyId) => {
      for (const epicPrefix of ["wrkf", "WRKF", "wRkF"]) {
        expect(GraphStateSchema.parse({ epicPrefix, storyId })).toMatchObject({ epicPrefix, storyId });
      }
    },
  );

  test.each([
    "",
    "wrkf",
    "wrkf-",
    "-1010",
    "wrkf-1a",
    "wrkf-1-2",
    "wr2kf-1",
    "wrkf 1",
    "wrkf-1\n",
    "wrkf-١",
    "ẃrkf-1",
  ])("refuses the malformed story %j with one issue", (storyId) => {
    expect(refusedAt(GraphStateSchema, { ...minimal, storyId })).toEqual(["storyId"]);
  });

  test.each(["glry", "wrk", "wrkff", "wrkf-", "wrkf "])(
    "refuses the story wrkf-1 of the epic %j",
    (epicPrefix) => {
      const result = GraphStateSchema.safeParse({ epicPrefix, storyId: "wrkf-1" });
      expect(result.error?.issues).toMatchObject([
        {
          code: "custom",
          path: ["storyId"],
          message: expect.stringMatching(/prefix of storyId.*epicPrefix/),
        },
      ]);
    },
  );

  test.each([
    [{ epicPrefix: "" }, "epicPrefix"],
    [{ epicPrefix: 123 }, "epicPrefix"],
    [{ epicPrefix: undefined }, "epicPrefix"],
    [{ storyId: undefined }, "storyId"],
    [{ schemaVersion: 1 }, "schemaVersion"],
    [{ schemaVersion: null }, "schemaVersion"],
    [{ artifactPaths: { invoice: "/a" } }, "artifactPaths"],
    [{ artifactPaths: { storyDoc: "" } }, "artifactPaths.storyDoc"],
    [{ artifactPaths: { storyDoc: undefined } }, "artifactPaths.storyDoc"],
    [{ artifactPaths: [] }, "artifactPaths"],
    [{ artifactPaths: null }, "artifactPaths"],
    [{ routingFlags: { stop: true } }, "routingFlags"],
    [{ routingFlags: { proceed: "yes" } }, "routingFlags.proceed"],
    [{ gateDecisions: { storyDoc: "PASS" } }, "gateDecisions"],
    [{ gateDecisions: { codeReview: "INVALID" } }, "gateDecisions.codeReview"],
    [{ evidenceRefs: {} }, "evidenceRefs"],
    [{ evidenceRefs: [{ type: "video", path: "/a", timestamp: at }] }, "evidenceRefs.0.type"],
    [{ errors: [{ nodeId: "a", message: "m", timestamp: "?" }] }, "errors.0.timestamp"],
    [{ stateHistory: [{ timestamp: at }] }, "stateHistory.0.state"],
    [
      { stateHistory: [{ timestamp: at, state: { ...minimal, storyId: "glry-1" } }] },
      "stateHistory.0.state.storyId",
    ],
  ])("refuses %j, saying where", (change, path) => {
    expect(refusedAt(GraphStateSchema, { ...minimal, ...change })).toEqual([path]);
    expect(() => GraphStateSchema.parse({ ...minimal, ...change })).toThrow(ZodError);
  });

  test("names the unknown keys of a record", () => {
    const result = GraphStateSchema.safeParse({
      ...minimal,
      gateDecisions: { qaGate: "PASS", legal: "PASS" },
    });
    expect(result.error?.issues).toMatchObject([{ code: "unrecognized_keys", keys: ["legal"] }]);
  });

  test.each(["artifactPaths", "routingFlags", "gateDecisions"] as const)(
    "lets no key of another name into %s",
    (field) => {
      const known: readonly string[] = GraphStateSchema.shape[field].unwrap().keyType.options;
      const value = { artifactPaths: "/a", routingFlags: true, gateDecisions: "PASS" }[field];
      fc.assert(
        fc.property(fc.string(), (key) => {
          fc.pre(!known.includes(key));
          const record = Object.fromEntries([[key, value]]);
          const result = GraphStateSchema.safeParse({ ...minimal, [field]: record });
          expect(result.success ? result.data[field] : {}).toEqual({});
          expect(result.success).toBe(key === "__proto__");
        }),
        { examples: [["__proto__"], ["constructor"], ["toString"]] },
      );
    },
  );

  test("strips fields that it does not know", () => {
    const input = JSON.parse(
      '{"epicPrefix":"wrkf","storyId":"wrkf-1","extra":[[1]],"__proto__":{"errors":1}}',
    );
    expect(GraphStateSchema.parse(input)).toStrictEqual(
      GraphStateSchema.parse({ ...minimal, storyId: "wrkf-1" }),
    );
  });

  test.each([null, undefined, "wrkf-1010", 1, [], [minimal], true])("refuses %j as a state", (value) => {
    expect(refusedAt(GraphStateSchema, value)).toEqual([""]);
  });

  test("leaves a valid state as it is", () => {
    fc.assert(
      fc.property(graphState, (state) => {
        expect(GraphStateSchema.parse(state)).toEqual(state);
      }),
    );
  });
});

describe("routing flags", () => {
  const flags = (routingFlags: unknown) => ({ ...minimal, routingFlags });

  test.each([
    [{ complete: true, retry: true }, ["routingFlags.retry"]],
    [{ complete: true, blocked: true }, ["routingFlags.blocked"]],
    [{ complete: true, retry: true, blocked: true }, ["routingFlags.retry", "routingFlags.blocked"]],
    [{ complete: true, proceed: true, escalate: true, skip: true }, []],
    [{ complete: true, retry: false, blocked: false }, []],
    [{ complete: false, retry: true, blocked: true }, []],
    [{ retry: true, blocked: true }, []],
  ])("judges %j", (routingFlags, paths) => {
    expect(refusedAt(GraphStateSchema, flags(routingFlags))).toEqual(paths);
    expect(refusedAt(StateSnapshotStateSchema, flags(routingFlags))).toEqual(paths);
  });

  test("are judged together with the story", () => {
    const value = { ...flags({ complete: true, retry: true }), epicPrefix: "glry" };
    expect(refusedAt(GraphStateSchema, value)).toEqual(["routingFlags.retry", "storyId"]);
  });
});

describe("StateSnapshotSchema", () => {
  test("keeps a snapshot", () => {
    const { stateHistory: _, ...state } = GraphStateSchema.parse(minimal);
    expect(StateSnapshotSchema.parse({ timestamp: at, state })).toEqual({ timestamp: at, state });
    expect(
      GraphStateSchema.parse({ ...minimal, stateHistory: [{ timestamp: at, state }] }).stateHistory,
    ).toEqual([{ timestamp: at, state }]);
  });

  test("takes a snapshot of a state by leaving its history out", () => {
    fc.assert(
      fc.property(graphState, (state) => {
        const { stateHistory: _, ...rest } = state;
        expect(StateSnapshotSchema.parse({ timestamp: at, state })).toEqual({ timestamp: at, state: rest });
      }),
    );
  });

  test.each([
    [{ timestamp: "then", state: minimal }, ["timestamp"]],
    [{ timestamp: at, state: { ...minimal, storyId: "glry-1" } }, ["state.storyId"]],
    [{ timestamp: at, state: { ...minimal, artifactPaths: { a: "/a" } } }, ["state.artifactPaths"]],
    [{ state: minimal }, ["timestamp"]],
    [{ timestamp: at }, ["state"]],
  ])("refuses %j, saying where", (snapshot, paths) => {
    expect(refusedAt(StateSnapshotSchema, snapshot)).toEqual(paths);
  });
});
