import { expect, test } from "vitest";
import { isDrawable, NODE_HEIGHT, NODE_WIDTH, placeGraph } from "../../../src/page/web/graph/layout.js";

const node = (id: string) => ({ id, title: id });
const edge = (from: string, to: string) => ({ from, to, label: `${from} to ${to}` });

test("nodes lie beside each other, and every edge has a way, a loop and a second one too, whatever the nodes are called", () => {
  const nodes = ["a", "b", "c", "__proto__", "constructor"].map(node);
  const edges = [
    edge("a", "b"),
    edge("b", "c"),
    edge("c", "a"),
    edge("b", "b"),
    edge("a", "b"),
    edge("c", "__proto__"),
    edge("c", "constructor"),
  ];
  const placed = placeGraph({ nodes, edges });
  for (const [index, one] of placed.nodes.entries()) {
    for (const other of placed.nodes.slice(index + 1)) {
      const isApart = Math.abs(one.x - other.x) >= NODE_WIDTH || Math.abs(one.y - other.y) >= NODE_HEIGHT;
      expect(isApart).toBe(true);
    }
  }
  expect(placed.edges.map(({ index }) => index).toSorted((a, b) => a - b)).toEqual([0, 1, 2, 3, 4, 5, 6]);
  expect(placed.edges.every(({ points }) => points.length >= 2)).toBe(true);
});

test("an edge whose node is missing is left out", () => {
  expect(placeGraph({ nodes: [node("a")], edges: [edge("a", "gone")] }).edges).toEqual([]);
});

test("a graph that a package is made of to hold the page up is not drawn; those of people are", () => {
  for (const [nodes, edges] of [
    [1, 0],
    [12, 20],
    [100, 190],
    [400, 420],
  ] as const) {
    expect([nodes, edges, isDrawable(nodes, edges)]).toEqual([nodes, edges, true]);
  }
  for (const [nodes, edges] of [
    [401, 400],
    [400, 480],
    [400, 1_600],
    [100, 300],
    [20, 1_600],
  ] as const) {
    expect([nodes, edges, isDrawable(nodes, edges)]).toEqual([nodes, edges, false]);
  }
});
