import { describe, expect, test } from "vitest";
import { checkGraphFile } from "../../../src/core/package/check-package.js";
import { checkMerge, checkSubworkflows, isPassed } from "../../../src/core/package/engine-nodes.js";
import { toWorkflowGraph } from "../../../src/core/package/graph.js";
import { type GraphFile, graphSchema, stepFrontmatterSchema } from "../../../src/core/package/schemas.js";

const node = (id: string, type: string, more: object = {}) => ({ id, type, file: `${id}.md`, ...more });
const way = (from: string, to: string, more: object = {}) => ({ from, to, label: `${from}-${to}`, ...more });

const graphOf = (nodes: readonly object[], edges: readonly object[]): GraphFile =>
  graphSchema.parse({ schemaVersion: "1.1", entryNodeId: "start", nodes, edges });

const merging = (merge: object, ways: readonly object[]) =>
  graphOf(
    [node("start", "step"), merge, node("left", "end"), node("right", "end")],
    [way("start", "both"), ...ways],
  );
const both = node("both", "merge");
const step = (more: object) =>
  stepFrontmatterSchema.parse({ schemaVersion: "1.1", nodeId: "both", type: "merge", ...more });

describe("a merge", () => {
  const graph = merging(both, [way("both", "left")]);
  const merge = graph.nodes[1] as GraphFile["nodes"][number]; // the second of four

  test("with an empty step file and one way on is passed, and a run is told so", () => {
    expect(isPassed(merge, graph, { isBlank: true })).toBe(true);
    expect(checkMerge("g.json", graph, 1, { isBlank: true })).toEqual([]);
    const told = toWorkflowGraph(graph, new Map(), new Set(["start", "both", "left"]));
    expect(told.nodes.map(({ passes }) => passes)).toEqual([undefined, true, undefined, undefined]);
  });

  test("whose step file has text is worked like a step, as before", () => {
    expect(isPassed(merge, graph, { isBlank: false })).toBe(false);
    expect(toWorkflowGraph(graph).nodes.some(({ passes }) => passes === true)).toBe(false);
    const several = merging(both, [way("both", "left"), way("both", "right")]);
    expect(checkMerge("g.json", several, 1, { isBlank: false })).toEqual([]);
  });

  test.each([
    ["outputs of its step", step({ outputs: ["artifacts/x.md"] })],
    ["variables of its step", step({ setsVariables: ["colour"] })],
  ])("with %s is worked like a step", (_what, declared) => {
    expect(isPassed(merge, graph, { isBlank: true, step: declared })).toBe(false);
    expect(checkMerge("g.json", graph, 1, { isBlank: true, step: declared })).toEqual([]);
  });

  test("with outputs is worked like a step", () => {
    const working = merging(node("both", "merge", { outputs: ["artifacts/x.md"] }), [way("both", "left")]);
    expect(toWorkflowGraph(working, new Map(), new Set(["both"])).nodes[1]?.passes).toBeUndefined();
  });

  test.each([
    ["no way", []],
    ["two ways", [way("both", "left"), way("both", "right")]],
    ["a way with a condition", [way("both", "left", { conditionExpr: { "!!": [true] } })]],
    ["a way with a condition in words", [way("both", "left", { conditionText: "when it is done" })]],
    ["a way to itself", [way("both", "both")]],
  ])("without work and with %s is not passed, and check warns", (_what, ways) => {
    const odd = merging(both, ways);
    expect(toWorkflowGraph(odd, new Map(), new Set(["both"])).nodes[1]?.passes).toBeUndefined();
    expect(checkMerge("g.json", odd, 1, { isBlank: true })).toEqual([
      {
        severity: "warning",
        file: "g.json",
        path: "$.nodes[1]",
        message:
          'merge "both" has no work and not one way on without a condition, so a model decides there with nothing to go by: give it one such edge, or text in its step file',
      },
    ]);
  });

  test("that is not there has no finding", () => {
    expect(checkMerge("g.json", graph, 9, { isBlank: true })).toEqual([]);
  });
});

const found = (graph: GraphFile) =>
  checkGraphFile("g.json", JSON.stringify(graph), undefined)
    .findings.filter(({ severity }) => severity === "error")
    .map(({ path, message }) => `${path} ${message}`);

describe("a subworkflow", () => {
  const called = node("both", "subworkflow", { workflow: "deep" });

  test("with one way on has no finding, and a run is told what it runs", () => {
    const graph = merging(called, [way("both", "left")]);
    expect(found(graph)).toEqual([]);
    expect(toWorkflowGraph(graph).nodes[1]).toMatchObject({ type: "subworkflow", workflow: "deep" });
  });

  test("that names no workflow is a step, whatever its ways are", () => {
    const graph = merging(node("both", "subworkflow"), [way("both", "left"), way("both", "right")]);
    expect(found(graph)).toEqual([]);
  });

  test.each([
    ["no way", []],
    ["two ways", [way("both", "left"), way("both", "right")]],
    ["a condition", [way("both", "left", { conditionText: "when it is done" })]],
  ])("with %s on is an error: the engine chooses nothing", (_what, ways) => {
    expect(found(merging(called, ways))).toEqual([
      '$.nodes[1] subworkflow "both" needs one edge to another node, without a condition: the engine goes on by it. Let a decision behind it choose',
    ]);
  });

  test("is the only type that runs a workflow", () => {
    expect(found(merging(node("both", "step", { workflow: "deep" }), [way("both", "left")]))).toEqual([
      '$.nodes[1].workflow node "both" is a step: only a subworkflow runs a workflow. Change its type, or remove the key',
    ]);
  });
});

/** Workflows that run those of the names behind them. */
const workflows = (calls: Readonly<Record<string, readonly string[]>>) =>
  Object.entries(calls).map(([id, names]) => ({
    id,
    graphFile: `${id}.json`,
    graph: { nodes: [{ id: "work" }, ...names.map((name) => ({ id: `run-${name}`, workflow: name }))] },
  }));

function problems(calls: Readonly<Record<string, readonly string[]>>, listed = Object.keys(calls)) {
  const findings = checkSubworkflows(workflows(calls), new Set(listed));
  return findings.map(({ file, path, message }) => `${file} ${path} ${message}`);
}

describe("the workflows of a package", () => {
  test("may run one another, four deep and by several ways", () => {
    expect(problems({ a: ["b", "c"], b: ["c"], c: ["d"], d: ["e"], e: [] })).toEqual([]);
  });

  test("must be listed to be run", () => {
    expect(problems({ a: ["gone"], b: [] })).toEqual([
      'a.json $.nodes[1].workflow subworkflow "run-gone" runs the workflow "gone", which bmad.json does not list under workflows (it lists: a, b)',
    ]);
    expect(problems({ a: ["b"], b: [] }, [])[0]).toContain("(it lists: none)");
  });

  test("cannot run themselves, directly or through others", () => {
    expect(problems({ a: ["a"] })).toEqual([
      'a.json $.nodes[1].workflow subworkflow "run-a" runs "a", which comes back to "a": a workflow cannot run itself',
    ]);
    expect(problems({ a: ["b"], b: ["c"], c: ["a"] }).map((line) => line.split(" ")[0])).toEqual([
      "a.json",
      "b.json",
      "c.json",
    ]);
  });

  test("that lie deeper are an error where the chain begins", () => {
    const deep = { a: ["b"], b: ["c"], c: ["d"], d: ["e"], e: ["f"], f: [] };
    expect(problems(deep)).toEqual([
      'a.json $.nodes[1].workflow subworkflow "run-b" leads to more than 4 runs below one another: call less deep',
    ]);
  });

  test("that lead into a circle of others are looked at once, and the circle is named", () => {
    expect(problems({ a: ["b"], b: ["c"], c: ["b"] }).map((line) => line.slice(0, 6))).toEqual([
      "a.json",
      "b.json",
      "c.json",
    ]);
  });

  test("are looked at quickly, however many call one another", () => {
    const ids = Array.from({ length: 200 }, (_, index) => `w${index}`);
    const all = Object.fromEntries(ids.map((id) => [id, ids.filter((other) => other !== id)]));
    expect(problems(all)).toHaveLength(200 * 199);
  });
});
