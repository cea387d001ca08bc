import { addToList } from "../add-to-list.js";
import { jsonBytes } from "../json.js";
import type { GraphEdge, GraphNode, WorkflowGraph } from "./graph.js";

/**
 * Parts of a graph: a run of a large one knows what lies around it, and asks for more on its way, so that the graph does not stand
 * in the history of each of its executions.
 *
 * P1. A node of a part is there with all its edges out, and with the nodes that these lead to; or it is at the border, and says so
 *     (`isBorder`). Whoever decides about a way out of a node makes sure that it is no border first.
 * P2. What is decided about a node that is there is what the whole graph would say.
 */

/** A graph that is not longer than this, as JSON in bytes, is not taken apart. */
export const WHOLE_GRAPH_BYTES = 16 * 1024;
const PART_BYTES = 12 * 1024;
/** Nodes that stand before it in the file: where a run is shown, they are what it has behind it. */
const NODES_BEFORE = 8;

/** The graph itself where it is small, else its part around a node. */
export function graphAround(graph: WorkflowGraph, nodeId: string): WorkflowGraph {
  return jsonBytes(graph) > WHOLE_GRAPH_BYTES ? partAround(graph, nodeId) : graph;
}

/** What can be reached from a node, nearest first, as far as there is room. A graph without the node has no such part. */
export function partAround(graph: WorkflowGraph, nodeId: string): WorkflowGraph {
  const { entryNodeId, nodes } = graph;
  const part = { entryNodeId, partOf: nodes.length };
  const place = nodes.findIndex(({ id }) => id === nodeId);
  if (place === -1) return { ...part, nodes: [], edges: [] };
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const edgesOf = edgesByNode(graph);
  const ahead = new Set([nodeId]);
  const edges: GraphEdge[] = [];
  const inner = new Set<string>();
  let bytes = 0;
  for (const id of ahead) {
    if (bytes > PART_BYTES) break;
    const out = edgesOf.get(id) ?? [];
    bytes += jsonBytes([byId.get(id), ...out]);
    inner.add(id);
    edges.push(...out);
    for (const { to } of out) ahead.add(to);
  }
  const before = nodes.slice(Math.max(0, place - NODES_BEFORE), place).map(({ id }) => id);
  const wanted = new Set([...before.filter((id) => !ahead.has(id)), ...ahead]);
  return {
    ...part,
    nodes: [...wanted].flatMap((id) => {
      const node = byId.get(id);
      return node === undefined ? [] : [withoutFiles(node, !inner.has(id))];
    }),
    edges,
  };
}

/** The node alone, or nothing where the graph has none of that id. */
export function nodeOnly({ entryNodeId, nodes }: WorkflowGraph, nodeId: string): WorkflowGraph {
  const found = nodes.filter(({ id }) => id === nodeId).map((node) => withoutFiles(node, true));
  return { entryNodeId, partOf: nodes.length, nodes: found, edges: [] };
}

/** Whether all ways out of a node are known. */
export function knowsWaysOut(graph: WorkflowGraph, nodeId: string): boolean {
  if (graph.partOf === undefined) return true;
  return graph.nodes.some(({ id, isBorder }) => id === nodeId && isBorder !== true);
}

/** Two parts of one graph as one. */
export function joinedParts(graph: WorkflowGraph, part: WorkflowGraph): WorkflowGraph {
  const known = new Map(graph.nodes.map((node) => [node.id, node]));
  const inner = new Set(graph.nodes.filter(({ isBorder }) => isBorder !== true).map(({ id }) => id));
  for (const node of part.nodes) {
    if (!known.has(node.id) || node.isBorder !== true) known.set(node.id, node);
  }
  return {
    ...graph,
    nodes: [...known.values()],
    edges: [...graph.edges, ...part.edges.filter(({ from }) => !inner.has(from))],
  };
}

/** Which files belong to a node no run decides by. */
function withoutFiles(node: GraphNode, isBorder: boolean): GraphNode {
  const { outputs: _, artifactTypes: _types, ...rest } = node;
  return isBorder ? { ...rest, isBorder: true } : rest;
}

function edgesByNode({ edges }: WorkflowGraph): ReadonlyMap<string, readonly GraphEdge[]> {
  const found = new Map<string, GraphEdge[]>();
  for (const edge of edges) addToList(found, edge.from, edge);
  return found;
}
