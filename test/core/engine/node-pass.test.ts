import { describe, expect, test } from "vitest";
import { nodeWithoutModel, visitLimitReached, wayOnFrom } from "../../../src/core/engine/node-pass.js";
import { RunRecord } from "../../../src/core/engine/run-record.js";
import { NOW, OPENED, RUN_ID, openedRecord } from "./record-world.js";

const passing = {
  ...OPENED.graph,
  nodes: OPENED.graph.nodes.map((node) => (node.id === "review" ? { ...node, passes: true as const } : node)),
};

function at(nodeId: string, frontmatter: object = {}) {
  const document = { ...openedRecord().frontmatter, workflowType: "main", currentNodeId: nodeId };
  return openedRecord({
    opened: { graph: passing },
    carried: { frontmatter: { ...document, ...frontmatter }, visiting: { nodeId, intent: "continue" } },
  });
}

test("a visit needs no model where its node is one that is passed", () => {
  expect(nodeWithoutModel(at("review"))).toMatchObject({ id: "review" });
  expect(nodeWithoutModel(at("draft"))).toBeUndefined();
  expect(nodeWithoutModel(openedRecord({ opened: { graph: passing } }))).toBeUndefined();
  expect(nodeWithoutModel(new RunRecord({ runId: RUN_ID }, false))).toBeUndefined();
});

test("a visit needs no model where its node runs a workflow", () => {
  const graph = {
    ...passing,
    nodes: passing.nodes.map((node) => (node.id === "aside" ? { ...node, workflow: "part" } : node)),
  };
  const record = at("aside");
  record.begin({ ...OPENED, graph });
  expect(nodeWithoutModel(record)).toMatchObject({ id: "aside" });
});

test("visits without a model are bounded as turns are", () => {
  const record = at("review");
  record.update({ visit: 5 });
  expect(visitLimitReached(record, { maxTurnsPerRun: 5 })).toBeUndefined();
  expect(visitLimitReached(record, { maxTurnsPerRun: 4 })).toBe(
    "The run reached its limit of 4 node visits.",
  );
});

describe("the way on from a node that is passed", () => {
  test("is its only edge, with the node completed", () => {
    const way = wayOnFrom(at("review", { stepsCompleted: ["draft"] }), "review", { now: NOW });
    expect(way).toMatchObject({
      next: "done",
      update: { stepsCompleted: { append: ["review"] }, currentNodeId: { set: "done" } },
      document: { currentNodeId: "done", stepsCompleted: ["draft", "review"], updatedAt: NOW },
    });
  });

  test("has the artifacts that are handed up", () => {
    const way = wayOnFrom(at("review"), "review", { artifacts: ["artifacts/a.md"], now: NOW });
    expect(way).toMatchObject({
      update: { artifacts: { append: ["artifacts/a.md"] } },
      document: { artifacts: ["artifacts/a.md"] },
    });
  });

  test("is refused by the guard where the document stands elsewhere", () => {
    expect(wayOnFrom(at("draft"), "review", { now: NOW })).toMatchObject({
      fault: { code: "E_INVALID_TRANSITION" },
    });
  });

  test("is refused where the node's name is none that a document may list", () => {
    const record = at("re view");
    const odd = { id: "re view", type: "merge", file: "x.md" } as const;
    record.begin({
      ...OPENED,
      graph: {
        ...passing,
        nodes: [...passing.nodes, odd],
        edges: [{ from: "re view", to: "done", label: "x" }],
      },
    });
    expect(wayOnFrom(record, "re view", { now: NOW })).toMatchObject({
      fault: { code: "E_SCHEMA_VALIDATION" },
    });
  });
});
