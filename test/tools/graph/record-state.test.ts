import { beforeEach, describe, expect, test } from "vitest";
import { createInitialState } from "../../../src/core/graph-state/initial-state.js";
import { withoutHistory } from "../../../src/core/graph-state/walk.js";
import type { ToolResult } from "../../../src/core/tools/tool-result.js";
import type { RunFiles } from "../../../src/store/runs/run-files.js";
import type { EngineKnowledge } from "../../../src/tools/graph/call-context.js";
import { type ToolHost, createToolHost } from "../../../src/tools/graph/tool-host.js";
import { gatePackage } from "../../fakes/gate-package.js";
import { type RunWorld, jsonLines, openRunWorld, valueOf } from "../../fakes/run-world.js";

const START = withoutHistory(createInitialState({ epicPrefix: "wrkf", storyId: "wrkf-1010" }));
const EVIDENCE = { type: "test", path: "artifacts/tests.log", timestamp: "2026-01-02T03:04:05Z" };

let world: RunWorld;
let files: RunFiles;
let host: ToolHost;
let runId: string;
let calls = 0;

beforeEach(async () => {
  world = await openRunWorld(gatePackage());
  const { store, projectRoot, packageId } = world;
  const run = valueOf(
    await store.runs.createRun({ projectRoot, packageId, activeAgentId: "author" }, new Date(0)),
  );
  runId = run.runId;
  files = valueOf(await store.runs.openFiles(run.projectId, runId));
  host = createToolHost({ store, evaluateConditions: true });
});

/** A call as it comes from a model: its arguments are a text. */
function request(name: string, args: unknown, toolCallId = `call-${(calls += 1)}`) {
  const { projectRoot, packageId } = world;
  const argumentsJson = typeof args === "string" ? args : JSON.stringify(args);
  const context = { projectRoot, packageId, workflowId: "two-nodes", runId, agentId: "author" };
  return { toolCallId, name, argumentsJson, context };
}

const record = (args: unknown) => host.executeToolCall(request("state_record", args));
const recordForEngine = async (args: unknown, knowledge: EngineKnowledge, id?: string) =>
  (await host.executeForEngine(request("state.record", args, id), knowledge)).result;
const codeOf = (result: ToolResult) => (result.ok ? undefined : result.error.code);
const moveTo = (from: string, to: string) =>
  host.executeToolCall(
    request("fs_apply_patch", {
      path: "@state/workflow.md",
      patch: {
        operation: "updateFrontmatter",
        update: { stepsCompleted: { append: [from] }, currentNodeId: { set: to } },
      },
    }),
  );

describe("state.record without an engine", () => {
  test("is refused for a run without a story, and makes none", async () => {
    expect(await record({ gateDecisions: { qaGate: "PASS" } })).toMatchObject({
      ok: false,
      error: { code: "TOOL_NOT_AVAILABLE", message: expect.stringContaining("carries no story") as string },
    });
    expect(await files.graphState.current()).toBeUndefined();
  });

  test("merges into the state on disk and answers with all of it", async () => {
    await files.graphState.keep({ state: START, change: 4 });
    await record({ gateDecisions: { codeReview: "PASS" }, evidenceRefs: [EVIDENCE] });
    const result = await record({
      gateDecisions: { qaGate: "FAIL" },
      evidenceRefs: [EVIDENCE],
      artifactPaths: { qaGate: "artifacts/qa.md" },
    });
    expect(result).toEqual({
      ok: true,
      gateDecisions: { codeReview: "PASS", qaGate: "FAIL" },
      routingFlags: {},
      artifactPaths: { qaGate: "artifacts/qa.md" },
      evidenceRefs: 1,
    });
    expect(await files.graphState.current()).toEqual({
      change: 6,
      initial: START,
      state: {
        ...START,
        gateDecisions: { codeReview: "PASS", qaGate: "FAIL" },
        artifactPaths: { qaGate: "artifacts/qa.md" },
        evidenceRefs: [EVIDENCE],
      },
    });
  });

  test("loses nothing where many come at once", async () => {
    await files.graphState.keep({ state: START, change: 0 });
    const paths = Array.from({ length: 12 }, (_, index) => `artifacts/${index}.log`);
    await Promise.all(paths.map((path) => record({ evidenceRefs: [{ ...EVIDENCE, path }] })));
    const held = await files.graphState.current();
    expect(held?.state.evidenceRefs.map(({ path }) => path).sort()).toEqual([...paths].sort());
    expect(held?.change).toBe(12);
  });

  test("opens the edge whose condition it fulfils", async () => {
    await files.graphState.keep({ state: START, change: 0 });
    expect(await moveTo("build", "qa")).toMatchObject({ ok: true });
    await record({ gateDecisions: { qaGate: "FAIL" } });
    expect(codeOf(await moveTo("qa", "finish"))).toBe("E_INVALID_TRANSITION");
    await record({ gateDecisions: { qaGate: "WAIVED" } });
    expect(await moveTo("qa", "finish")).toMatchObject({ ok: true });
  });

  test("is one event of the audit log each, refusals included", async () => {
    await files.graphState.keep({ state: START, change: 0 });
    await record({ gateDecisions: { qaGate: "PASS" } });
    await record({ gateDecisions: { qaGate: "MAYBE" } });
    expect((await jsonLines(files.logFile)).map(({ toolName, kind }) => [kind, toolName])).toEqual([
      ["tool.exec", "state.record"],
      ["tool.exec", "state.record"],
    ]);
  });
});

describe("state.record for the engine", () => {
  const graph = { state: { ...START, gateDecisions: { qaVerify: "PASS" } }, change: 7 } as const;

  test("merges into the state that the engine holds", async () => {
    await files.graphState.keep({ state: START, change: 2 });
    const result = await recordForEngine({ gateDecisions: { qaGate: "PASS" } }, { graph });
    expect(result).toMatchObject({ gateDecisions: { qaVerify: "PASS", qaGate: "PASS" } });
    expect(await files.graphState.current()).toMatchObject({
      change: 8,
      state: { gateDecisions: { qaVerify: "PASS", qaGate: "PASS" } },
    });
  });

  test("has one effect, however often it is called", async () => {
    const args = { gateDecisions: { qaGate: "PASS" } };
    const first = await recordForEngine(args, { graph }, "one");
    await files.graphState.keep({ state: START, change: 20 });
    expect(await recordForEngine(args, { graph }, "one")).toEqual(first);
    expect(await files.graphState.current()).toMatchObject({ change: 20, state: START });
  });
});

describe("hostile records", () => {
  const nested = (levels: number) =>
    `{"gateDecisions":{"qaGate":${'{"a":'.repeat(levels)}1${"}".repeat(levels)}}}`;

  test.each([
    ["no JSON", '{"gateDecisions":', "TOOL_ARGS_INVALID_JSON"],
    ["a list", "[]", "TOOL_ARGS_INVALID"],
    ["a text", '"PASS"', "TOOL_ARGS_INVALID"],
    ["null", "null", "TOOL_ARGS_INVALID"],
    ["200 levels", nested(200), "TOOL_ARGS_INVALID"],
    ["90 levels", nested(90), "E_SCHEMA_VALIDATION"],
    ["a list for a record", '{"gateDecisions":["PASS"]}', "E_SCHEMA_VALIDATION"],
    ["a record for a list", '{"evidenceRefs":{"0":{}}}', "E_SCHEMA_VALIDATION"],
    ["another field of the state", '{"storyId":"wrkf-9"}', "E_SCHEMA_VALIDATION"],
    ["the history", '{"stateHistory":[]}', "E_SCHEMA_VALIDATION"],
    ["errors", '{"errors":[]}', "E_SCHEMA_VALIDATION"],
    ["only a prototype", '{"__proto__":{"gateDecisions":{"qaGate":"PASS"}}}', "TOOL_ARGS_INVALID"],
    [
      "a prototype beside a decision",
      '{"gateDecisions":{"qaGate":"PASS","__proto__":{}}}',
      "TOOL_ARGS_INVALID",
    ],
    ["a constructor", '{"constructor":{"qaGate":"PASS"}}', "E_SCHEMA_VALIDATION"],
    ["too much to look at", JSON.stringify({ x: "y".repeat(2_000_000) }), "TOOL_ARGS_INVALID"],
    ["too many paths", recordOf(500), "E_WRITE_LIMIT"],
  ])("%s is refused, and nothing changes", async (_, args, code) => {
    await files.graphState.keep({ state: START, change: 1 });
    const result = await record(args);
    expect(codeOf(result)).toBe(code);
    expect(JSON.stringify(result).length).toBeLessThan(16_000);
    expect(await files.graphState.current()).toEqual({ state: START, change: 1, initial: START });
    expect({}).not.toHaveProperty("gateDecisions");
  });
});

function recordOf(count: number): string {
  const evidenceRefs = Array.from({ length: count }, (_, index) => ({ ...EVIDENCE, path: `${index}.log` }));
  return JSON.stringify({ evidenceRefs });
}
