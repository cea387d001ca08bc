import type { RunBelow, RunBelowInput } from "../contract/activities.js";
import { GRAPH_RUN_WORKFLOW } from "../contract/names.js";
import type { GraphRunInput, Identified } from "../contract/run.js";
import { startStatement } from "../contract/signed.js";
import { defined } from "../core/defined.js";
import { type Fault, fail } from "../core/errors.js";
import type { StateSnapshotState } from "../core/graph-state/schemas.js";
import { MAX_SUBWORKFLOW_DEPTH } from "../core/package/engine-nodes.js";
import { findNode } from "../core/package/graph.js";
import { chosenOf } from "../core/run/run-result.js";
import { workflowIdOf } from "../core/run/run-id.js";
import { sha256 } from "../store/disk/sha256.js";
import { selectWorkflow } from "../store/packages/choose.js";
import { toApplicationFailure, unwrap } from "./failures.js";
import { openFiles } from "./run-scope.js";
import type { SigningDeps } from "./signed-run.js";

/**
 * What the run below a subworkflow's node is started with. All of it comes from what the run above was itself admitted with, as its folder
 * keeps it, and from its package: who asks for this starts nothing that the run above would not. On a worker that takes signed
 * starts only it is signed, for that run alone. A run that was begun before goes on.
 */
export async function runBelow(deps: SigningDeps, asked: RunBelowInput): Promise<RunBelow> {
  const { store, signatures } = deps;
  const { run, nodeId, agentId, budget } = asked;
  const files = await openFiles(store, run);
  const kept = await files.request.read();
  if (kept === undefined) throw refusal(`Run ${run.runId} has lost its run.json: restore it from a backup.`);
  const above = kept.input as unknown as GraphRunInput; // its door has taken it
  const depth = (above.parent?.depth ?? 0) + 1;
  if (depth > MAX_SUBWORKFLOW_DEPTH) {
    throw refusal(
      `${nodeId} would be run ${depth} below the first one: at most ${MAX_SUBWORKFLOW_DEPTH} may be. Call fewer subworkflows inside one another.`,
    );
  }
  const loaded = unwrap(await store.packages.open(run.packageId));
  const { graph } = unwrap(selectWorkflow(loaded, run.workflowRef));
  const { workflow: name, variablesIn = [], variablesOut = [] } = findNode(graph, nodeId) ?? {};
  if (name === undefined) throw refusal(`${nodeId} runs no workflow.`);
  const boundaries = await files.boundaries.all();
  const runId = runIdBelow(run.runId, boundaries.at(-1)?.visit ?? 0, nodeId);
  const document = unwrap(await files.state.read());
  const story = (await files.graphState.current())?.state;
  const isKnown = (await store.runs.findPlaced(runId)) !== undefined;
  const input: Identified<GraphRunInput> = {
    ...inherited(above),
    runId,
    packageId: run.packageId,
    workflowRef: unwrap(selectWorkflow(loaded, name)).id,
    activeAgentId: agentId,
    ...storyOf(story),
    parent: {
      runId: run.runId,
      depth,
      variables: chosenOf(document.frontmatter.variables, variablesIn),
      ...defined({ graphState: story }),
      returns: variablesOut,
    },
    ...defined({ budget }),
    ...(isKnown ? { resume: true } : {}),
  };
  const workflowId = workflowIdOf(runId);
  if (signatures === undefined) return { workflowId, input };
  const statement = startStatement({ workflow: GRAPH_RUN_WORKFLOW, workflowId, input });
  return { workflowId, input: { ...input, signature: await signatures.sign(statement) } };
}

/** A run below carries the story of the run above, and begins with its state. */
function storyOf(state: StateSnapshotState | undefined): Pick<GraphRunInput, "storyId" | "epicPrefix"> {
  return state === undefined ? {} : { storyId: state.storyId, epicPrefix: state.epicPrefix };
}

/** What of a run's input holds for the runs below it as well. */
function inherited(above: GraphRunInput) {
  const { projectRoot, input, autopilot, storeId, limits, rehearsal, model, searchAttributes } = above;
  const { wholeRunConversation, evaluateConditions, steps } = above;
  const own = { input, autopilot, storeId, limits, rehearsal, model, searchAttributes };
  return { projectRoot, ...defined({ ...own, wholeRunConversation, evaluateConditions, steps }) };
}

/**
 * The same for as long as a run stands at the node: whoever asks again, after a crash, a retry or a reset, means the same run below.
 * Only the end of the visit is a boundary.
 */
function runIdBelow(runId: string, lastBoundary: number, nodeId: string): string {
  const digits = sha256(`interlock run below\n${runId}\n${lastBoundary}\n${nodeId}`);
  const at = (from: number, to: number) => digits.slice(from, to);
  return `${at(0, 8)}-${at(8, 12)}-8${at(13, 16)}-a${at(17, 20)}-${at(20, 32)}`;
}

function refusal(message: string) {
  const fault: Fault = fail("E_PRECONDITION_FAILED", message).error;
  return toApplicationFailure(fault);
}
