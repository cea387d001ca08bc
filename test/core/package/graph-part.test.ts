import { describe, expect, test } from "vitest";
import { type WorkflowGraph, allowedNext, findNode } from "../../../src/core/package/graph.js";
import {
  WHOLE_GRAPH_BYTES,
  graphAround,
  joinedParts,
  knowsWaysOut,
  nodeOnly,
  partAround,
} from "../../../src/core/package/graph-part.js";
import { isComplete } from "../../../src/core/state/completion.js";
import { parseFrontmatter } from "../../../src/core/state/state-frontmatter.js";
import { validateWorkflowStateUpdate } from "../../../src/core/state/transition-guard.js";

/** A graph with a way to each of `steps` from every node, by how far it goes. */
function graphOf(nodes: number, steps: readonly number[]): WorkflowGraph {
  const id = (place: number) => `node-${place}`;
  return {
    entryNodeId: id(0),
    nodes: Array.from({ length: nodes }, (_, place) => ({
      id: id(place),
      type: place === nodes - 1 ? "end" : "step",
      file: `steps/${id(place)}.md`,
      outputs: [`artifacts/${id(place)}.md`],
      ...(place % 7 === 0 ? { agentId: "other" } : {}),
    })),
    edges: Array.from({ length: nodes }, (_, place) =>
      steps
        .map((step) => place + step)
        .filter((to) => to >= 0 && to < nodes)
        .map((to) => ({
          from: id(place),
          to: id(to),
          label: `to ${to}`,
          ...(to % 3 === 0 ? { conditionExpr: { "==": [{ var: "variables.x" }, to] } } : {}),
        })),
    ).flat(),
  };
}

const LINE = graphOf(600, [1]);
const MESH = graphOf(600, [1, 5, -7, 40]);
const bytesOf = (value: unknown) => JSON.stringify(value).length;

describe("a graph", () => {
  test("that is small is taken as it is", () => {
    const small = graphOf(20, [1]);
    expect(graphAround(small, "node-3")).toBe(small);
    expect(knowsWaysOut(small, "node-3")).toBe(true);
    expect(knowsWaysOut(small, "nowhere")).toBe(true);
  });

  test("that is large comes as its part around a node, which is bounded", () => {
    for (const graph of [LINE, MESH]) {
      expect(bytesOf(graph)).toBeGreaterThan(WHOLE_GRAPH_BYTES);
      const part = graphAround(graph, "node-100");
      expect(part).toMatchObject({ entryNodeId: "node-0", partOf: 600 });
      expect(bytesOf(part)).toBeLessThan(WHOLE_GRAPH_BYTES);
      expect(bytesOf(part)).toBeGreaterThan(4_000);
    }
  });

  test("in part has the nodes around, without what no run decides by", () => {
    const part = partAround(LINE, "node-100");
    expect(part.nodes.slice(0, 9).map(({ id, isBorder }) => [id, isBorder])).toEqual([
      ...Array.from({ length: 8 }, (_, index) => [`node-${92 + index}`, true]),
      ["node-100", undefined],
    ]);
    expect(findNode(part, "node-98")).toEqual({
      id: "node-98",
      type: "step",
      file: "steps/node-98.md",
      agentId: "other",
      isBorder: true,
    });
    expect(findNode(part, "node-99")?.outputs).toBeUndefined();
  });

  test("that lacks a node has no part around it, nor the node alone", () => {
    const nothing = { entryNodeId: "node-0", partOf: 600, nodes: [], edges: [] };
    expect(partAround(LINE, "nowhere")).toEqual(nothing);
    expect(nodeOnly(LINE, "nowhere")).toEqual(nothing);
    expect(nodeOnly(LINE, "node-5").nodes).toEqual([
      { id: "node-5", type: "step", file: "steps/node-5.md", isBorder: true },
    ]);
  });
});

describe("parts that a run joins on its way", () => {
  test("say of every node they know the ways out of what the whole graph says", () => {
    const walk = [0, 300, 311, 40, 599, 12];
    let known = partAround(MESH, "node-0");
    for (const place of walk) known = joinedParts(known, partAround(MESH, `node-${place}`));
    const inner = MESH.nodes.filter(({ id }) => knowsWaysOut(known, id));
    expect(inner.length).toBeGreaterThan(100);
    expect(inner.length).toBeLessThan(600);
    for (const { id, type, agentId } of inner) {
      expect(allowedNext(known, id)).toEqual(allowedNext(MESH, id));
      expect(findNode(known, id)).toMatchObject({ type, ...(agentId === undefined ? {} : { agentId }) });
    }
    expect(new Set(known.nodes.map(({ id }) => id)).size).toBe(known.nodes.length);
    const edges = known.edges.map(({ from, to }) => `${from} ${to}`);
    expect(new Set(edges).size).toBe(edges.length);
  });

  test("leave the guard to decide as the whole graph would, whatever is wanted", () => {
    const at = (currentNodeId: string, more: object = {}) => {
      const base = { schemaVersion: "1.1", workflowType: "walk", stepsCompleted: ["node-0"] };
      return { ...base, currentNodeId, ...more };
    };
    let known = partAround(MESH, "node-0");
    let asked = 0;
    /** As `src/workflows/graph-parts.ts` does it. */
    const knowTarget = (from: string, to: string) => {
      const isAhead = known.edges.some((edge) => edge.from === from && edge.to === to);
      if (isAhead ? knowsWaysOut(known, to) : findNode(known, to) !== undefined) return;
      asked += 1;
      known = joinedParts(known, isAhead ? partAround(MESH, to) : nodeOnly(MESH, to));
    };
    let seed = 11;
    const below = (limit: number) => (seed = (seed * 48_271) % 2_147_483_647) % limit;
    let here = "node-0";
    for (let time = 0; time < 500; time += 1) {
      const ways = allowedNext(known, here);
      const legal = ways[below(ways.length)]?.to ?? "node-0";
      const wanted = [legal, legal, `node-${below(700)}`, "", here][below(5)] ?? "";
      knowTarget(here, wanted.trim() === "" ? "node-0" : wanted);
      const facts = below(2) === 0 ? undefined : { gateDecisions: {}, routingFlags: {} };
      const next = at(wanted, { variables: { x: below(600) } });
      const verdict = validateWorkflowStateUpdate(at(here), next, known, facts);
      expect(verdict).toEqual(validateWorkflowStateUpdate(at(here), next, MESH, facts));
      if (verdict.ok) here = wanted.trim() === "" ? "node-0" : wanted;
      const parsed = parseFrontmatter(at(here, { stepsCompleted: [here] }));
      expect(parsed.ok && isComplete(parsed.value, known)).toBe(parsed.ok && isComplete(parsed.value, MESH));
    }
    expect(asked).toBeGreaterThan(3);
    expect(asked).toBeLessThan(250);
  });
});
