import type { AllowedEdge } from "./shells.js";
import type { RunState } from "./state-document.js";
import type { TransitionHint } from "./step-declaration.js";
import { parseJson, toMap } from "./untrusted.js";

/**
 * A run that has taken every edge out of a node this often goes round in circles: from then on it heads for the
 * nearest end. Without this bound, chains of loops would be walked a number of times exponential in their length.
 */
export const ROUNDS_BEFORE_HEADING_FOR_END = 3;

/** The graph as a model sees it: enough to find an end, and nodes that are not next. */
export interface Graph {
  readonly nodes: readonly { readonly id: string; readonly type: string }[];
  readonly successors: ReadonlyMap<string, readonly string[]>;
}

/** Reads `workflow.graph.json`; undefined when it is not a graph. */
export function readGraph(text: string): Graph | undefined {
  const graph = toMap(parseJson(text));
  const nodes = entriesOf(graph.get("nodes")).flatMap((node) => {
    const id = node.get("id");
    const type = node.get("type");
    return typeof id === "string" ? [{ id, type: typeof type === "string" ? type : "step" }] : [];
  });
  if (nodes.length === 0) return undefined;
  const successors = new Map<string, string[]>(nodes.map((node) => [node.id, []]));
  for (const edge of entriesOf(graph.get("edges"))) {
    const from = edge.get("from");
    const to = edge.get("to");
    if (typeof from === "string" && typeof to === "string") successors.get(from)?.push(to);
  }
  return { nodes, successors };
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
export function withHints(edges: readonly AllowedEdge[], hints: readonly TransitionHint[]): AllowedEdge[] {
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
export function leastTaken(
  edges: readonly AllowedEdge[],
  nodeId: string,
  state: RunState,
  start: number,
): { readonly edge: AllowedEdge; readonly taken: number } | undefined {
  const ordered = [...edges.filter((edge) => edge.isDefault), ...edges.filter((edge) => !edge.isDefault)];
  const first = ordered.length === 0 ? 0 : start % ordered.length;
  const counted = [...ordered.slice(first), ...ordered.slice(0, first)].map((edge) => ({
    edge,
    taken: state.decisions.filter((entry) => entry.from === nodeId && entry.to === edge.to).length,
  }));
  const least = Math.min(...counted.map((candidate) => candidate.taken));
  return counted.find((candidate) => candidate.taken === least);
}

/** The edge that begins the shortest way to an end; undefined when no end can be reached. */
export function towardsEnd(edges: readonly AllowedEdge[], graph: Graph): AllowedEdge | undefined {
  const distances = distancesToEnd(graph);
  const reaching = edges.flatMap((edge) => {
    const distance = distances.get(edge.to);
    return distance === undefined ? [] : [{ edge, distance }];
  });
  const nearest = Math.min(...reaching.map((candidate) => candidate.distance));
  return reaching.find((candidate) => candidate.distance === nearest)?.edge;
}

/** Steps from each node to the nearest node at which a run completes: type end, or nothing comes after. */
function distancesToEnd(graph: Graph): ReadonlyMap<string, number> {
  const predecessors = new Map<string, string[]>();
  for (const [from, targets] of graph.successors) {
    for (const to of targets) predecessors.set(to, [...(predecessors.get(to) ?? []), from]);
  }
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

/** A node that is not next, an end if there is one: jumping there must be refused. */
export function forbiddenTarget(
  graph: Graph,
  nodeId: string,
  allowed: readonly AllowedEdge[],
): string | undefined {
  const next = new Set([nodeId, ...allowed.map((edge) => edge.to), ...(graph.successors.get(nodeId) ?? [])]);
  const others = graph.nodes.filter((node) => !next.has(node.id));
  return (others.find((node) => node.type === "end") ?? others[0])?.id;
}
