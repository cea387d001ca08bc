import type { JsonObject } from "../json.js";
import { holds } from "./json-logic.js";
import type { ArtifactType } from "../graph-state/schemas.js";
import type { GraphFile, NodeType, StepFrontmatter } from "./schemas.js";

/** The part of a graph that a run needs: small enough to enter the history once, and plain JSON. */
export interface WorkflowGraph {
  readonly entryNodeId: string;
  readonly nodes: readonly GraphNode[];
  readonly edges: readonly GraphEdge[];
}

export interface GraphNode {
  readonly id: string;
  readonly type: NodeType;
  readonly file: string;
  readonly title?: string;
  readonly agentId?: string;
  readonly outputs?: readonly string[];
  /** Types of artifacts of a story, by project-relative path. A list: the paths are texts of a package. */
  readonly artifactTypes?: readonly ArtifactTypeOfPath[];
}

export interface ArtifactTypeOfPath {
  readonly path: string;
  readonly type: ArtifactType;
}

export interface GraphEdge {
  readonly from: string;
  readonly to: string;
  readonly label: string;
  readonly isDefault?: boolean;
  readonly conditionText?: string;
  readonly conditionExpr?: JsonObject;
}

/** An edge out of a node, as prompts and refusals show it (contracts §6). */
export interface AllowedNext {
  readonly to: string;
  readonly label: string;
  readonly isDefault?: boolean;
  readonly conditionText?: string;
  readonly satisfied?: boolean;
}

/** Reduces a graph file and its steps to what a run needs; absent and default values are left out. */
export function toWorkflowGraph(
  file: GraphFile,
  steps: ReadonlyMap<string, StepFrontmatter> = new Map(),
): WorkflowGraph {
  return {
    entryNodeId: file.entryNodeId,
    nodes: file.nodes.map((node) => ({
      id: node.id,
      type: node.type,
      file: node.file,
      ...(node.title === undefined ? {} : { title: node.title }),
      ...(node.agentId === undefined ? {} : { agentId: node.agentId }),
      ...(node.outputs === undefined ? {} : { outputs: node.outputs }),
      ...artifactTypesOf(steps.get(node.id)),
    })),
    edges: file.edges.map((edge) => ({
      from: edge.from,
      to: edge.to,
      label: edge.label,
      ...(edge.isDefault ? { isDefault: true } : {}),
      ...(edge.conditionText === undefined ? {} : { conditionText: edge.conditionText }),
      ...(edge.conditionExpr === undefined ? {} : { conditionExpr: edge.conditionExpr }),
    })),
  };
}

function artifactTypesOf(step: StepFrontmatter | undefined): Pick<GraphNode, "artifactTypes"> {
  const declared = Object.entries(step?.artifactTypes ?? {});
  if (declared.length === 0) return {};
  return { artifactTypes: declared.map(([path, type]) => ({ path: projectRelative(path), type })) };
}

/** `@project/./a/b` as `a/b`: how artifacts are named. */
function projectRelative(path: string): string {
  const segments = path.split("/").filter((segment) => segment !== "" && segment !== ".");
  return (segments[0] === "@project" ? segments.slice(1) : segments).join("/");
}

/** The type that a node's step gives to a file of the project, by its alias path. */
export function artifactTypeOf(
  graph: WorkflowGraph,
  nodeId: string,
  aliasPath: string,
): ArtifactTypeOfPath | undefined {
  const types = findNode(graph, nodeId)?.artifactTypes ?? [];
  return types.find(({ path }) => `@project/${path}` === aliasPath);
}

/** Whether a move leaves behind a node that it could have gone to: one not visited that can no longer be reached. */
export function leavesNodeBehind(
  graph: WorkflowGraph,
  from: string,
  to: string,
  visited: ReadonlySet<string>,
): boolean {
  const others = graph.edges.filter((edge) => edge.from === from && !visited.has(edge.to));
  if (others.length === 0) return false;
  const ahead = reachableNodes({ entryNodeId: to, edges: graph.edges });
  return others.some((edge) => !ahead.has(edge.to));
}

export function findNode(graph: WorkflowGraph, nodeId: string): GraphNode | undefined {
  return graph.nodes.find((node) => node.id === nodeId);
}

/** What conditions of edges are evaluated over: `{ variables, gateDecisions, routingFlags }` (contracts §6). */
export interface ConditionData extends JsonObject {
  readonly variables: JsonObject;
  readonly gateDecisions: JsonObject;
  readonly routingFlags: JsonObject;
}

/** Whether an edge may be taken. Without data, conditions are guidance only and every edge may. */
export function isSatisfied(edge: GraphEdge, data: ConditionData | undefined): boolean {
  return data === undefined || edge.conditionExpr === undefined || holds(edge.conditionExpr, data);
}

/** The edges out of a node as the model is told of them; with data, also whether their conditions hold. */
export function allowedNext(
  graph: WorkflowGraph,
  nodeId: string,
  data?: ConditionData,
): readonly AllowedNext[] {
  return graph.edges
    .filter((edge) => edge.from === nodeId)
    .map((edge) => ({
      to: edge.to,
      label: edge.label,
      ...(edge.isDefault === undefined ? {} : { isDefault: edge.isDefault }),
      ...(edge.conditionText === undefined ? {} : { conditionText: edge.conditionText }),
      ...(data === undefined ? {} : { satisfied: isSatisfied(edge, data) }),
    }));
}

/** The nodes a walk from the entry can reach, the entry included. */
export function reachableNodes(graph: {
  readonly entryNodeId: string;
  readonly edges: readonly Pick<GraphEdge, "from" | "to">[];
}): ReadonlySet<string> {
  const successors = new Map<string, string[]>();
  for (const edge of graph.edges) {
    const targets = successors.get(edge.from);
    if (targets === undefined) successors.set(edge.from, [edge.to]);
    else targets.push(edge.to);
  }
  const reached = new Set([graph.entryNodeId]);
  for (const nodeId of reached) {
    for (const target of successors.get(nodeId) ?? []) reached.add(target);
  }
  return reached;
}
