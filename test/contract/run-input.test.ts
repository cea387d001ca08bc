import { Ajv2020 } from "ajv/dist/2020.js";
import { expect, test } from "vitest";
import {
  runInputJsonSchemas,
  validateContinuedInput,
  validateRunInput,
} from "../../src/contract/run-input.js";
import { boundsProblem } from "../../src/core/json-bounds.js";
import { isRunId, runIdIn, workflowIdOf } from "../../src/core/run/run-id.js";
import { DEFAULT_ENGINE_LIMITS } from "../../src/core/run/limits.js";
import { RunRecord } from "../../src/core/engine/run-record.js";

const RUN_ID = "11111111-2222-4333-8444-555555555555";
const GRAPH = { projectRoot: "/srv/shop", packageId: "create-story@1.0.0" };
const FULL = {
  ...GRAPH,
  runId: RUN_ID,
  input: "Begin.",
  autopilot: true,
  storeId: RUN_ID,
  limits: DEFAULT_ENGINE_LIMITS,
  budget: { run: { turns: 1, cost: 0.5 }, node: { tokens: 10 } },
  rehearsal: { branches: true },
  searchAttributes: false,
  resume: true,
  workflowRef: "",
  activeAgentId: "author",
  wholeRunConversation: false,
  evaluateConditions: true,
  storyId: "wrkf-1010",
  fork: { runId: RUN_ID, visit: 0, set: { deep: [{ er: null }] } },
};

test("an input is valid with all fields, with none that may be absent, and on Windows", () => {
  expect(validateRunInput("graphRun", FULL)).toEqual({ ok: true, value: FULL });
  expect(validateRunInput("graphRun", GRAPH)).toEqual({ ok: true, value: GRAPH });
  expect(validateRunInput("graphRun", { ...GRAPH, projectRoot: "C:\\shop" }).ok).toBe(true);
  const bundle = { projectRoot: "/srv/shop", bundleRoot: "/srv/desk", workflowPath: "intake/workflow.yaml" };
  expect(validateRunInput("bundleRun", bundle)).toEqual({ ok: true, value: bundle });
});

test.each(["storyRun", "toString", "", undefined])(
  "of a workflow type that is none, %j, it is said which there are",
  (type) => {
    expect(validateRunInput(type as never, GRAPH)).toMatchObject({
      ok: false,
      error: {
        code: "E_SCHEMA_VALIDATION",
        message: expect.stringContaining("workflow: must be graphRun or bundleRun") as string,
      },
    });
  },
);

test("a fault names each field that is wrong, and how often more is", () => {
  const verdict = validateRunInput("graphRun", { projectRoot: 1, packageId: 2, runId: 3, resume: 4 });
  expect(verdict).toMatchObject({
    ok: false,
    error: {
      code: "E_SCHEMA_VALIDATION",
      message: expect.stringMatching(/runId: .*projectRoot: .*resume: .*; and 1 more\./) as string,
      details: {
        errors: expect.arrayContaining([expect.objectContaining({ path: "packageId" })]) as object[],
      },
    },
  });
});

test("nothing that a client can send makes the check throw", () => {
  let bottomless: unknown = {};
  for (let level = 0; level < 100_000; level += 1) bottomless = [bottomless];
  const strange: readonly unknown[] = [
    undefined,
    null,
    Number.NaN,
    "",
    [],
    bottomless,
    { ...GRAPH, fork: bottomless },
    { ...GRAPH, fork: { runId: RUN_ID, set: bottomless } },
    new Uint8Array(1_000_000),
    { ...GRAPH, ["__proto__"]: 1, toString: 2 },
    { ...GRAPH, limits: Array.from({ length: 100_000 }, () => 1) },
    { ...GRAPH, carried: undefined },
  ];
  for (const input of strange) expect(validateRunInput("graphRun", input)).toMatchObject({ ok: false });
});

test("what a run carries is parsed; what another version has carried is no reason to refuse it", () => {
  const { carried } = new RunRecord({ ...GRAPH, runId: RUN_ID }, false);
  const continued = { ...GRAPH, runId: RUN_ID, carried, ofAnotherVersion: 1 };
  expect(validateContinuedInput("graphRun", continued)).toEqual({ ok: true, value: continued });
  const later = { ...continued, carried: { ...carried, later: {}, usage: { ...carried.usage, cached: 1 } } };
  expect(validateContinuedInput("graphRun", later).ok).toBe(true);
  for (const [field, value] of Object.entries({
    phase: "x",
    visit: -1,
    progress: null,
    usage: {},
    budget: 5,
  })) {
    const broken = { ...continued, carried: { ...carried, [field]: value } };
    expect(validateContinuedInput("graphRun", broken)).toMatchObject({
      ok: false,
      error: { message: expect.stringContaining(`carried.${field}`) as string },
    });
  }
  expect(validateContinuedInput("graphRun", { ...GRAPH, carried: 5 }).ok).toBe(false);
  expect(validateContinuedInput("graphRun", GRAPH).ok).toBe(false);
});

test("the JSON Schemas say what the zod schemas say", () => {
  const ajv = new Ajv2020({ strict: false });
  const { graphRun, bundleRun } = runInputJsonSchemas();
  const isGraph = ajv.compile(graphRun);
  expect([FULL, GRAPH].map((input) => isGraph(input))).toEqual([true, true]);
  const wrong = [
    {},
    null,
    { ...GRAPH, yolo: 1 },
    { ...GRAPH, limits: { maxTurnsPerRun: 0 } },
    { ...GRAPH, projectRoot: "." },
  ];
  expect(wrong.map((input) => isGraph(input))).toEqual(wrong.map(() => false));
  expect(ajv.compile(bundleRun)(GRAPH)).toBe(false);
});

test("ids of runs and workflows", () => {
  expect(runIdIn(workflowIdOf(RUN_ID))).toBe(RUN_ID);
  expect(isRunId("01a203bf-5217-70e0-8954-3d71f267362c")).toBe(true); // as Temporal makes them
  const none = [
    "run-",
    "run-x",
    `run-${RUN_ID} `,
    RUN_ID,
    `run-${RUN_ID.toUpperCase()}A`,
    `x${workflowIdOf(RUN_ID)}`,
  ];
  expect(none.map((id) => runIdIn(id))).toEqual(none.map(() => undefined));
});

test("bounds count values and levels, and find hidden prototypes", () => {
  const bounds = { maxDepth: 2, maxValues: 4 };
  expect(boundsProblem([[1, 2]], bounds)).toBeUndefined();
  expect(boundsProblem([[[[]]]], bounds)).toMatchObject({ path: ["0", "0", "0"] });
  expect(boundsProblem([1, 2, 3, 4], bounds)).toMatchObject({ message: expect.stringContaining("4 values") });
  expect(boundsProblem({ a: JSON.parse('{"__proto__":1}') }, bounds)).toMatchObject({ path: ["a"] });
});
