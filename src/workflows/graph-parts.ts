import { patched } from "@temporalio/workflow";
import type { OpenRunInput, OpenRunResult } from "../contract/activities.js";
import type { OpenedRun } from "../core/run/opened-run.js";
import { findNode } from "../core/package/graph.js";
import { knowsWaysOut } from "../core/package/graph-part.js";
import { effectiveNodeId } from "../core/state/transition-guard.js";
import type { RunRecord } from "../core/engine/run-record.js";
import { jsonBytes } from "../core/json.js";
import { localActivities } from "./activity-options.js";
import { shielded } from "./steps-by-node.js";
import { summary } from "./summary.js";

/** Of a large graph a run knows a part, and asks for more before it decides about what lies beyond (`core/package/graph-part.ts`). */

/** What the opening of a run is told: a part is enough. A run that carries a story decides by the whole graph. */
export function askedPart({ carried, input }: RunRecord): Pick<OpenRunInput, "partOfGraph"> {
  if (carried.story !== undefined) return {};
  const isKnown = input.carried !== undefined;
  return { partOfGraph: isKnown ? { nodeId: carried.frontmatter.currentNodeId } : {} };
}

/** The opened run, with what there is of its graph. */
export function withGraphAtHand(result: OpenRunResult): OpenedRun {
  if ("graph" in result) return result;
  const { graphPart, ...opened } = result;
  return { ...opened, graph: graphPart };
}

/** The run is about to stand at this node, or stands there: its ways out are known from now on. */
export async function knowWaysOut(record: RunRecord, currentNodeId: string): Promise<void> {
  const { graph } = record.opened;
  const nodeId = effectiveNodeId(currentNodeId, graph);
  if (!knowsWaysOut(graph, nodeId)) await ask(record, nodeId, true);
}

/**
 * Somebody wants the run to stand at this node: where it can be gone to, its ways out are known; else, whether it is there. A quick
 * turn's call may have led the run out of the part that it knows.
 */
export async function knowTarget(record: RunRecord, currentNodeId: string): Promise<void> {
  const isBeyond = !knowsWaysOut(record.opened.graph, record.nodeId);
  if (isBeyond && patched(BEYOND_PATCH)) await ask(record, record.nodeId, true);
  const { graph } = record.opened;
  const nodeId = effectiveNodeId(currentNodeId, graph);
  if (graph.edges.some(({ from, to }) => from === record.nodeId && to === nodeId)) {
    await knowWaysOut(record, nodeId);
  } else if (graph.partOf !== undefined && findNode(graph, nodeId) === undefined) {
    await ask(record, nodeId, false);
  }
}

const BEYOND_PATCH = "a-move-from-beyond-the-known-part-is-judged-there";

async function ask(record: RunRecord, nodeId: string, around: boolean): Promise<void> {
  const { run } = record.opened;
  const part = await shielded(record, () =>
    localActivities["graph.part"].executeWithOptions(summary(around ? `graph around ${nodeId}` : nodeId), [
      { run, nodeId, around },
    ]),
  );
  record.pace.taskLoad.noteSaid(jsonBytes(part));
  record.addPart(part);
}
