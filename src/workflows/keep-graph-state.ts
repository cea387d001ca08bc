import { TemporalFailure, log } from "@temporalio/workflow";
import type { NodeBoundary } from "../contract/activities.js";
import type { Fault } from "../core/errors.js";
import { type GraphStateStart, openingState } from "../core/graph-state/initial-state.js";
import { isKept } from "../core/run/kept-boundary.js";
import {
  beginGraphState,
  closeGraphStateVisit,
  heldState,
  tellError,
} from "../core/engine/run-graph-state.js";
import type { RunRecord } from "../core/engine/run-record.js";
import { takeMoved } from "../core/engine/state-changes.js";
import type { MovedEntries } from "../core/state/earlier-entries.js";
import { localActivities, quickSaves, runActivities } from "./activity-options.js";
import { failureOf } from "./failures.js";
import { barsOver, showBar } from "./node-bars.js";
import { shielded, tryLocally } from "./steps-by-node.js";
import { summary } from "./summary.js";
import { defined } from "../core/defined.js";

/** When the graph state of a run is kept on disk. Of a run that carries no story, its node boundaries are. */

/** Makes the state the run begins with, and keeps it. Throws `E_SCHEMA_VALIDATION`. */
export async function openGraphState(record: RunRecord, start: GraphStateStart): Promise<void> {
  if (record.carried.story !== undefined) return; // resumed
  const opening = openingState(start);
  if (!opening.ok) throw failureOf(opening.error);
  if (opening.value === undefined) return;
  beginGraphState(record, opening.value);
  await keep(record);
}

/** The node boundary: what the run can be restored and forked from is kept. Throws `E_SCHEMA_VALIDATION`. */
export async function closeVisit(record: RunRecord, nodeId: string): Promise<void> {
  const timestamp = new Date().toISOString();
  const fault = closeGraphStateVisit(record, nodeId, timestamp);
  if (fault !== undefined) throw failureOf(fault);
  const { visit, stateSha256: documentSha256 } = record.carried;
  const moved = await keep(record, { visit, nodeId, next: record.nodeId, timestamp, documentSha256 });
  if (moved) takeMoved(record, moved); // workers of earlier versions move nothing
}

/** Keeps the state a failed run ends with, if it can be kept: what made the run fail is what counts. */
export async function closeFailedGraphState(record: RunRecord, fault: Fault): Promise<void> {
  if (record.carried.story === undefined) return;
  tellError(record, record.nodeId, fault, { recoverable: false, now: new Date().toISOString() });
  try {
    await keep(record);
  } catch (error) {
    if (!(error instanceof TemporalFailure)) throw error;
    log.warn("The graph state of the failed run could not be kept.", { code: fault.code });
  }
}

async function keep(record: RunRecord, boundary?: NodeBoundary): Promise<MovedEntries | undefined> {
  const graph = heldState(record);
  const input = {
    ...record.scope,
    ...defined({ graph, boundary }),
  };
  // Of a run whose steps are nodes it is the node's bar in the timeline.
  const isStep = boundary !== undefined && record.stepsByNode;
  const shown = summary(
    boundary === undefined
      ? "graph state"
      : `boundary after ${boundary.nodeId}${isStep ? workOf(record) : ""}`,
  );
  if (!isStep) {
    return shielded(record, () => localActivities["state.snapshot"].executeWithOptions(shown, [input]));
  }
  if (record.pace.isQuickBoundary) {
    // By the turn that has led the run on.
    const kept = isKept(record.pace.kept, boundary)
      ? { moved: undefined }
      : await tryLocally(record, async () => ({
          moved: await quickSaves["state.snapshot"].executeWithOptions(shown, [input]),
        }));
    if (kept !== undefined) {
      record.pace.taskLoad.noteBoundary();
      showBar(record, shown);
      return kept.moved;
    }
  }
  record.pace.taskLoad.clear();
  const moved = await runActivities["state.snapshot"].executeWithOptions(shown, [input]);
  await barsOver(record);
  return moved;
}

function workOf({ carried }: RunRecord): string {
  const { modelTurns, toolCalls } = carried.visitUsage;
  return ` · ${modelTurns} ${modelTurns === 1 ? "turn" : "turns"}, ${toolCalls} ${toolCalls === 1 ? "call" : "calls"}`;
}
