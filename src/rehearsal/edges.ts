import { addToList } from "../core/add-to-list.js";
import { type JsonObject, jsonIn } from "../core/json.js";
import type { AllowedEdge } from "./shells.js";
import type { DocumentState } from "./state-document.js";
import type { TransitionHint } from "./step-declaration.js";
import { toMap } from "./untrusted.js";

/**
 * A run that has taken every edge out of a node this often goes round in circles: from then on it heads for the
 * nearest end. Without this bound, chains of loops would be walked a number of times exponential in their length.
 */
export const ROUNDS_BEFORE_HEADING_FOR_END = 3;

/** The graph as a model sees it: enough to find an end, and nodes that are not next. */
export interface Graph {
  readonly nodes: readonly { readonly id: string; readonly type: string }[];
  readonly successors: ReadonlyMap<string, readonly string[]>;
  readonly edges: readonly GraphEdge[];
}

interface GraphEdge {
  readonly from: string;
  readonly to: string;
  readonly conditionExpr: JsonObject | undefined;
}

/** Reads `workflow.graph.json`; undefined when it is not a graph. */
export function readGraph(text: string): Graph | undefined {
  const graph = toMap(jsonIn(text));
  const nodes = entriesOf(graph.get("nodes")).flatMap((node) => {
    const id = node.get("id");
    const type = node.get("type");
    return typeof id === "string" ? [{ id, type: typeof type === "string" ? type : "step" }] : [];
  });
  if (nodes.length === 0) return undefined;
  const successors = new Map<string, string[]>(nodes.map((node) => [node.id, []]));
  const edges = entriesOf(graph.get("edges")).flatMap((edge) => {
    const from = edge.get("from");
    const to = edge.get("to");
    return typeof from === "string" && typeof to === "string"
      ? [{ from, to, conditionExpr: conditionOf(edge.get("conditionExpr")) }]
      : [];
  });
  for (const { from, to } of edges) successors.get(from)?.push(to);
  return { nodes, successors, edges };
}

function conditionOf(value: unknown): JsonObject | undefined {
  const condition = toMap(value);
  return condition.size === 0 ? undefined : (value as JsonObject); // a part of what JSON.parse returned
}

function entriesOf(value: unknown): ReadonlyMap<string, unknown>[] {
  return Array.isArray(value) ? value.map(toMap) : [];
}

/** The edges a refusal names (contracts §6); undefined when it names none. */
export function edgesOfRefusal(allowedNext: unknown): AllowedEdge[] | undefined {
  if (!Array.isArray(allowedNext)) return undefined;
  return entriesOf(allowedNext).flatMap((edge) => {
    const to = edge.get("to");
    const label = edge.get("label");
    const satisfied = edge.get("satisfied");
    if (typeof to !== "string") return [];
    return [
      {
        to,
        label: typeof label === "string" ? label : "",
        isDefault: edge.get("isDefault") === true,
        ...(typeof satisfied === "boolean" ? { satisfied } : {}),
      },
    ];
  });
}

/** Lets the step add what the brief left open, a label or the default; which edges there are is not its say. */
export function withHints<E extends AllowedEdge>(edges: readonly E[], hints: readonly TransitionHint[]): E[] {
  const hasDefault = edges.some((edge) => edge.isDefault);
  return edges.map((edge) => {
    const hint = hints.find((candidate) => candidate.to === edge.to);
    return {
      ...edge,
      label: edge.label || hint?.label || edge.to,
      isDefault: edge.isDefault || (!hasDefault && hint?.isDefault === true),
    };
  });
}

/**
 * The edge taken least often so far in this run. Among equals the default comes first, then the order of the
 * list; `start` turns that order, so that another run begins with another edge.
 */
export function leastTaken<E extends AllowedEdge>(
  edges: readonly E[],
  nodeId: string,
  state: DocumentState,
  start: number,
): { readonly edge: E; readonly taken: number } | undefined {
  const ordered = [...edges.filter((edge) => edge.isDefault), ...edges.filter((edge) => !edge.isDefault)];
  const first = ordered.length === 0 ? 0 : start % ordered.length;
  const counted = [...ordered.slice(first), ...ordered.slice(0, first)].map((edge) => ({
    edge,
    taken: state.decisions.filter((entry) => entry.from === nodeId && entry.to === edge.to).length,
  }));
  const least = Math.min(...counted.map((candidate) => candidate.taken));
  return counted.find((candidate) => candidate.taken === least);
}

/** The edge that begins the shortest way to an end over edges that may open; undefined when no end can be reached. */
export function towardsEnd<E extends AllowedEdge>(
  edges: readonly E[],
  graph: Graph,
  isPassable: (edge: GraphEdge) => boolean = () => true,
): E | undefined {
  const distances = distancesToEnd(graph, isPassable);
  const reaching = edges.flatMap((edge) => {
    const distance = distances.get(edge.to);
    return distance === undefined ? [] : [{ edge, distance }];
  });
  const nearest = Math.min(...reaching.map((candidate) => candidate.distance));
  return reaching.find((candidate) => candidate.distance === nearest)?.edge;
}

/** Steps from each node to the nearest node at which a run completes: type end, or nothing comes after. */
function distancesToEnd(graph: Graph, isPassable: (edge: GraphEdge) => boolean): ReadonlyMap<string, number> {
  const predecessors = new Map<string, string[]>();
  for (const { from, to } of graph.edges.filter(isPassable)) addToList(predecessors, to, from);
  const distances = new Map<string, number>();
  for (const node of graph.nodes) {
    if (node.type === "end" || graph.successors.get(node.id)?.length === 0) distances.set(node.id, 0);
  }
  // A Map keeps visiting what is added while it is walked: breadth first.
  for (const [id, distance] of distances) {
    for (const before of predecessors.get(id) ?? []) {
      if (!distances.has(before)) distances.set(before, distance + 1);
    }
  }
  return distances;
}
