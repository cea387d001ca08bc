import { type WorkflowGraph, findNode } from "../package/graph.js";
import type { Frontmatter } from "./state-frontmatter.js";
import { effectiveNodeId } from "./transition-guard.js";

/** Whether a run is complete (contracts §9): it says so, or its current node is a finished `end` node. */
export function isComplete(state: Frontmatter, graph: WorkflowGraph): boolean {
  if (Object.hasOwn(state.variables, "workflowStatus") && state.variables["workflowStatus"] === "complete")
    return true;
  const nodeId = effectiveNodeId(state.currentNodeId, graph);
  return findNode(graph, nodeId)?.type === "end" && state.stepsCompleted.includes(nodeId);
}
