import type { GraphPartInput, OpenRunInput } from "../contract/activities.js";
import type { OpenedRun } from "../core/run/opened-run.js";
import { type WorkflowGraph } from "../core/package/graph.js";
import { graphAround, nodeOnly, partAround } from "../core/package/graph-part.js";
import { effectiveNodeId } from "../core/state/transition-guard.js";
import { selectWorkflow } from "../store/packages/choose.js";
import type { RunFiles } from "../store/runs/run-files.js";
import type { Store } from "../store/store.js";
import { unwrap } from "./failures.js";
import { checkStore } from "./run-scope.js";

/** A part of a run's graph. An installed package is never modified: each part is of the same graph. */
export async function partOfGraph(
  store: Store,
  { run, nodeId, around }: GraphPartInput,
): Promise<WorkflowGraph> {
  checkStore(store, run.storeId);
  const { graph } = unwrap(selectWorkflow(unwrap(await store.packages.open(run.packageId)), run.workflowRef));
  return around ? partAround(graph, nodeId) : nodeOnly(graph, nodeId);
}

/**
 * The graph as the history gets it: of a large one the part around where the run stands. A run that carries a story decides by all
 * of it: whether a node is left behind is a question to the whole graph.
 */
export async function graphAtHand(
  { partOfGraph: asked, ...request }: OpenRunInput,
  { graph, graphState, resumed }: OpenedRun,
  files: RunFiles,
): Promise<WorkflowGraph> {
  if (request.kind === "bundle" || asked === undefined) return graph;
  if ((request.input.storyId ?? graphState ?? resumed?.story) !== undefined) return graph;
  const nodeId = asked.nodeId ?? unwrap(await files.state.read()).frontmatter.currentNodeId;
  return graphAround(graph, effectiveNodeId(nodeId, graph));
}
