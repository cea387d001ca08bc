import { addToList } from "../add-to-list.js";
import { defined } from "../defined.js";
import type { JsonObject } from "../json.js";
import { holds } from "./json-logic.js";
import { type ArtifactTypeOfPath, artifactTypesOf } from "./artifact-types.js";
import { isPassed } from "./engine-nodes.js";
import { type HandedVariables, handedVariables } from "./handed-variables.js";
import type { GraphFile, NodeType, StepFrontmatter } from "./schemas.js";

/** The part of a graph that a run needs: small enough to enter the history once, and plain JSON. */
export interface WorkflowGraph {
  readonly entryNodeId: string;
  readonly nodes: readonly GraphNode[];
  readonly edges: readonly GraphEdge[];
  /** How many nodes the graph has that this is a part of (`graph-part.ts`); absent for a whole one. */
  readonly partOf?: number;
}

export interface GraphNode extends HandedVariables {
  readonly id: string;
  readonly type: NodeType;
  readonly file: string;
  readonly title?: string;
  readonly agentId?: string;
  readonly outputs?: readonly string[];
  /** Which workflow of the package a subworkflow runs. */
  readonly workflow?: string;
  /** A merge without work: runs go through it without asking a model. */
  readonly passes?: true;
  /** Types of artifacts of a story, by project-relative path. A list: the paths are texts of a package. */
  readonly artifactTypes?: readonly ArtifactTypeOfPath[];
  /** In a part of a graph: its edges out are in another part. */
  readonly isBorder?: true;
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

/**
 * Reduces a graph file and its steps to what a run needs; absent and default values are left out. `blank`: the nodes whose step
 * files say nothing below their front matter.
 */
export function toWorkflowGraph(
  file: GraphFile,
  steps: ReadonlyMap<string, StepFrontmatter> = new Map(),
  blank: ReadonlySet<string> = new Set(),
): WorkflowGraph {
  return {
    entryNodeId: file.entryNodeId,
    nodes: file.nodes.map((node) => ({
      id: node.id,
      type: node.type,
      file: node.file,
      ...defined({
        title: node.title,
        agentId: node.agentId,
        outputs: node.outputs,
        workflow: node.workflow,
      }),
      ...(isPassed(node, file, { isBlank: blank.has(node.id), ...defined({ step: steps.get(node.id) }) })
        ? { passes: true as const }
        : {}),
      ...handedVariables(node, steps.get(node.id)),
      ...typedArtifacts(steps.get(node.id)),
    })),
    edges: file.edges.map((edge) => ({
      from: edge.from,
      to: edge.to,
      label: edge.label,
      ...(edge.isDefault ? { isDefault: true } : {}),
      ...defined({ conditionText: edge.conditionText, conditionExpr: edge.conditionExpr }),
    })),
  };
}

function typedArtifacts(step: StepFrontmatter | undefined): Pick<GraphNode, "artifactTypes"> {
  const artifactTypes = artifactTypesOf(step);
  return artifactTypes.length === 0 ? {} : { artifactTypes };
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

/**
 * Whether a move leaves behind a node that it could have gone to: one not visited that can no longer be reached. With
 * data, an edge whose condition does not hold is no way it could have gone.
 */
export function leavesNodeBehind(
  graph: WorkflowGraph,
  { from, to }: { readonly from: string; readonly to: string },
  visited: ReadonlySet<string>,
  data: ConditionData | undefined,
): boolean {
  const share = conditionsOutOf(graph, from);
  const others = graph.edges.filter(
    (edge) => edge.from === from && !visited.has(edge.to) && isSatisfied(edge, data, share),
  );
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

/** How many edges out of a node have a condition: so many share the work that judging a move may be. */
export function conditionsOutOf(graph: Pick<WorkflowGraph, "edges">, nodeId: string): number {
  return graph.edges.filter((edge) => edge.from === nodeId && edge.conditionExpr !== undefined).length;
}

/**
 * Whether an edge may be taken. Without data, conditions are guidance only and every edge may. `share` is what
 * `conditionsOutOf` says of its node.
 */
export function isSatisfied(edge: GraphEdge, data: ConditionData | undefined, share: number): boolean {
  return data === undefined || edge.conditionExpr === undefined || holds(edge.conditionExpr, data, share);
}

/** The edges out of a node as the model is told of them; with data, also whether their conditions hold. */
export function allowedNext(
  graph: WorkflowGraph,
  nodeId: string,
  data?: ConditionData,
): readonly AllowedNext[] {
  const share = conditionsOutOf(graph, nodeId);
  return graph.edges
    .filter((edge) => edge.from === nodeId)
    .map((edge) => ({
      to: edge.to,
      label: edge.label,
      ...defined({ isDefault: edge.isDefault, conditionText: edge.conditionText }),
      ...(data === undefined ? {} : { satisfied: isSatisfied(edge, data, share) }),
    }));
}

/** The nodes a walk from the entry can reach, the entry included. */
export function reachableNodes(graph: {
  readonly entryNodeId: string;
  readonly edges: readonly Pick<GraphEdge, "from" | "to">[];
}): ReadonlySet<string> {
  const successors = new Map<string, string[]>();
  for (const { from, to } of graph.edges) addToList(successors, from, to);
  const reached = new Set([graph.entryNodeId]);
  for (const nodeId of reached) {
    for (const target of successors.get(nodeId) ?? []) reached.add(target);
  }
  return reached;
}
