import { type Edge, type EdgeLabel, Graph, type GraphLabel, type NodeLabel, layout } from "@dagrejs/dagre";

export interface GraphShape {
  readonly nodes: readonly { readonly id: string; readonly title: string }[];
  readonly edges: readonly { readonly from: string; readonly to: string; readonly label: string }[];
}

export interface Point {
  readonly x: number;
  readonly y: number;
}

interface PlacedNode extends Point {
  readonly id: string;
}

interface PlacedEdge {
  /** Which edge of the graph it is. */
  readonly index: number;
  readonly points: readonly Point[];
  /** Where its label stands. */
  readonly label: Point;
}

export interface Placed {
  readonly width: number;
  readonly height: number;
  /** `x` and `y` are a node's middle. */
  readonly nodes: readonly PlacedNode[];
  readonly edges: readonly PlacedEdge[];
}

export const NODE_WIDTH = 196;
export const NODE_HEIGHT = 52;
const MARGIN = 16;
/** Width of a character of an edge's label, about. */
const CHARACTER = 6.2;
/** What of an edge's label is drawn. */
export const LABEL_CHARS = 22;

const MAX_NODES = 400;
/** Each edge more than a tree has may pass all ranks, and takes part in each look for crossings. */
const MAX_PASSES = 16_000;

/** Whether a graph is drawn in a few seconds at most, whoever has made it. */
export function isDrawable(nodes: number, edges: number): boolean {
  return nodes <= MAX_NODES && nodes * Math.max(0, edges - nodes + 1) <= MAX_PASSES;
}

/**
 * Where nodes and edges lie, from top to bottom. Two edges between the same nodes lie beside each other. The library knows nodes by
 * their numbers: ids are texts of packages, and it has them as keys of plain objects.
 */
export function placeGraph(shape: GraphShape): Placed {
  const graph = new Graph<GraphLabel, NodeLabel, EdgeLabel>({ multigraph: true });
  graph.setGraph({ rankdir: "TB", nodesep: 36, ranksep: 46, edgesep: 18, marginx: MARGIN, marginy: MARGIN });
  const names = new Map(shape.nodes.map(({ id }, index) => [id, String(index)]));
  for (const name of names.values()) graph.setNode(name, { width: NODE_WIDTH, height: NODE_HEIGHT });
  for (const [index, { from, to, label }] of shape.edges.entries()) {
    const [tail, head] = [names.get(from), names.get(to)];
    if (tail === undefined || head === undefined) continue;
    const width = Math.min(label.length, LABEL_CHARS) * CHARACTER + 8;
    graph.setEdge(tail, head, { width, height: 16, labelpos: "c" }, String(index));
  }
  layout(graph);
  const { width = 0, height = 0 } = graph.graph();
  return {
    width,
    height,
    nodes: shape.nodes.map(({ id }) => {
      const { x = 0, y = 0 } = graph.node(names.get(id) ?? "");
      return { id, x, y };
    }),
    edges: graph.edges().map((edge: Edge) => {
      const { points = [], x = 0, y = 0 } = graph.edge(edge);
      return { index: Number(edge.name), points, label: { x, y } };
    }),
  };
}

/** A line through points with soft corners, as the `d` of an SVG path. */
export function pathThrough(points: readonly Point[]): string {
  const [first, ...rest] = points;
  if (first === undefined) return "";
  const parts = [`M${first.x},${first.y}`];
  for (const [index, point] of rest.entries()) {
    const next = rest[index + 1];
    if (next === undefined) parts.push(`L${point.x},${point.y}`);
    else parts.push(`Q${point.x},${point.y} ${(point.x + next.x) / 2},${(point.y + next.y) / 2}`);
  }
  return parts.join(" ");
}
