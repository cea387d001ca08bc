import { describe, expect, test } from "vitest";
import {
  MAX_ARTIFACT_PATH_CHARS,
  MAX_ARTIFACT_TYPES_BYTES,
  artifactTypesOf,
  checkArtifactTypes,
  checkArtifactTypesSize,
} from "../../../src/core/package/artifact-types.js";
import {
  type WorkflowGraph,
  artifactTypeOf,
  leavesNodeBehind,
  toWorkflowGraph,
} from "../../../src/core/package/graph.js";
import { type StepFrontmatter, graphSchema } from "../../../src/core/package/schemas.js";
import { validPackage } from "../../fakes/package-fixture.js";

const step = (...paths: string[]): StepFrontmatter => ({
  schemaVersion: "1.1",
  nodeId: "draft",
  type: "step",
  artifactTypes: Object.fromEntries(paths.map((path) => [path, "storyDoc"])),
});

describe("the artifact types of a step", () => {
  test.each([
    "artifacts/x.md",
    "./artifacts/x.md",
    "@project/artifacts/x.md",
    "@project/./artifacts//x.md",
    "artifacts/./x.md",
  ])("%s is the file that a write names @project/artifacts/x.md", (path) => {
    expect(checkArtifactTypes("steps/draft.md", step(path))).toEqual([]);
    expect(artifactTypesOf(step(path))).toEqual([{ path: "artifacts/x.md", type: "storyDoc" }]);
    const graph = toWorkflowGraph(
      graphSchema.parse(validPackage()["workflow.graph.json"]),
      new Map([["draft", step(path)]]),
    );
    expect(artifactTypeOf(graph, "draft", "@project/artifacts/x.md")?.type).toBe("storyDoc");
    for (const other of [
      "@project/artifacts/x",
      "@project/artifacts/X.md",
      "@state/artifacts/x.md",
      "artifacts/x.md",
    ])
      expect(artifactTypeOf(graph, "draft", other)).toBeUndefined();
    expect(artifactTypeOf(graph, "done", "@project/artifacts/x.md")).toBeUndefined();
    expect(artifactTypeOf(graph, "nowhere", "@project/artifacts/x.md")).toBeUndefined();
  });

  test.each([
    ["nothing", ""],
    ["the project itself", "@project"],
    ["a directory", "artifacts/"],
    ["a path that climbs", "artifacts/../../x.md"],
    ["an absolute path", "/etc/x.md"],
    ["another mount", "@state/x.md"],
    ["no mount", "@nowhere/x.md"],
    ["a NUL byte", "a\0b"],
    ["a path too long to be told", "a/".repeat(MAX_ARTIFACT_PATH_CHARS / 2).concat("b")],
  ])("%s is a finding, and no type", (_, path) => {
    expect(checkArtifactTypes("steps/draft.md", step(path, "artifacts/x.md"))).toMatchObject([
      {
        severity: "error",
        file: "steps/draft.md",
        path: expect.stringMatching(/^\$\.artifactTypes/u) as string,
        message: "is no path of a file in the project: write it like artifacts/story.md",
      },
    ]);
    expect(artifactTypesOf(step(path, "artifacts/x.md"))).toHaveLength(1);
  });

  test("the same file twice is a finding", () => {
    expect(checkArtifactTypes("s.md", step("artifacts/x.md", "./artifacts/x.md"))).toMatchObject([
      {
        path: '$.artifactTypes["./artifacts/x.md"]',
        message: "is the same file as an earlier one: declare it once",
      },
    ]);
  });

  test("none declared is none, and no finding", () => {
    const { artifactTypes: _, ...plain } = step();
    expect(artifactTypesOf(plain)).toEqual([]);
    expect(artifactTypesOf(undefined)).toEqual([]);
    expect(checkArtifactTypes("s.md", plain)).toEqual([]);
    expect(checkArtifactTypesSize("g.json", [plain])).toEqual([]);
  });

  test("too many in all are a finding of the graph", () => {
    const many = step(...Array.from({ length: 40 }, (_, index) => `artifacts/${"x".repeat(400)}${index}.md`));
    expect(checkArtifactTypesSize("g.json", [many])).toEqual([]);
    expect(checkArtifactTypesSize("g.json", [many, many])).toMatchObject([
      {
        file: "g.json",
        path: "$.nodes",
        message: expect.stringContaining(`${MAX_ARTIFACT_TYPES_BYTES} bytes`) as string,
      },
    ]);
  });
});

describe("leaving a node behind", () => {
  const no = { "==": [1, 2] };
  const edge = (from: string, to: string, conditionExpr?: typeof no) => ({
    from,
    to,
    label: `${from}-${to}`,
    ...(conditionExpr === undefined ? {} : { conditionExpr }),
  });
  const graph: WorkflowGraph = {
    entryNodeId: "build",
    nodes: ["build", "qa", "fix", "finish"].map((id) => ({ id, type: "step", file: `${id}.md` })),
    edges: [edge("build", "qa"), edge("qa", "fix"), edge("qa", "finish"), edge("fix", "qa")],
  };
  const leaves = (from: string, to: string, visited: string[], changed = graph) =>
    leavesNodeBehind(changed, { from, to }, new Set(visited), {
      variables: {},
      gateDecisions: {},
      routingFlags: {},
    });

  test("is to take a way from which the other can no longer be reached", () => {
    expect(leaves("qa", "finish", ["build", "qa"])).toBe(true);
    expect(leavesNodeBehind(graph, { from: "qa", to: "finish" }, new Set(["qa"]), undefined)).toBe(true);
  });

  test("is not to postpone it, to have been there, or to have no choice", () => {
    expect(leaves("qa", "fix", ["build", "qa"])).toBe(false);
    expect(leaves("qa", "finish", ["build", "qa", "fix"])).toBe(false);
    expect(leaves("build", "qa", ["build"])).toBe(false);
  });

  test("is not to pass a way whose condition does not hold: that was no choice", () => {
    const closed = { ...graph, edges: [edge("build", "qa"), edge("qa", "fix", no), edge("qa", "finish")] };
    expect(leaves("qa", "finish", ["build", "qa"], closed)).toBe(false);
    expect(leavesNodeBehind(closed, { from: "qa", to: "finish" }, new Set(["qa"]), undefined)).toBe(true);
  });
});
