import { patched } from "@temporalio/workflow";
import type { PlannedCall, ToolCallInput, ToolCallOutcome } from "../contract/activities.js";
import type { JsonObject } from "../core/json.js";
import { heldState, recordedState, replaceGraphState } from "../core/engine/run-graph-state.js";
import type { RunRecord } from "../core/engine/run-record.js";
import type { StateChange } from "../core/run/state-change.js";
import {
  adoptDocument,
  changedDocument,
  listsFault,
  nodeAfter,
  passedOver,
  takeArtifact,
  takeDocument,
  tellArtifact,
} from "../core/engine/state-changes.js";
import { externalActivities, localActivities, quickSaves, runActivities } from "./activity-options.js";
import { tellPlace } from "./change-phase.js";
import { noteRefusal } from "../core/engine/call-groups.js";
import { failureOf } from "./failures.js";
import { loadDocument } from "./load-document.js";
import { knowTarget } from "./graph-parts.js";
import { refuse } from "./run-calls.js";
import { shielded, tryLocally } from "./steps-by-node.js";
import { summary } from "./summary.js";

/**
 * Runs one call of a graph run: a change of the state document only after the guard has said yes. `done` is what it has come to,
 * where it was run along with the answer.
 */
export async function runGraphCall(
  record: RunRecord,
  call: PlannedCall,
  input: ToolCallInput,
  done?: ToolCallOutcome,
): Promise<ToolCallOutcome> {
  if (call.change !== undefined) {
    return done === undefined
      ? changeState(record, call, call.change, input)
      : takeChange(record, call.change, input, done);
  }
  if (call.record !== undefined) return recordState(record, call, call.record, input);
  if (call.external !== undefined) {
    const { timeoutMs } = call.external;
    if (record.pace.isPlaceOld) tellPlace(record);
    return externalActivities(timeoutMs)["tool.call"].executeWithOptions(summary(call.summary), [input]);
  }
  if (call.tool === undefined) throw new Error(`The call ${call.id} has neither a tool nor a fault.`);
  const activity = localActivities[call.tool];
  const outcome =
    done ?? (await shielded(record, () => activity.executeWithOptions(summary(call.summary), [input])));
  const { artifact, sha256 = "" } = outcome.state ?? {};
  if (artifact !== undefined) takeArtifact(record, { artifact, sha256 }, input.now);
  return outcome;
}

/** Takes over what a call has told: an artifact with a type, a document that was changed from outside. */
export async function afterGraphCall(
  record: RunRecord,
  nodeId: string,
  call: PlannedCall,
  outcome: ToolCallOutcome,
): Promise<void> {
  if (outcome.stateConflict === true) await readDocumentAgain(record);
  const isWrite = call.tool === "fs.write" || call.tool === "fs.edit";
  if (!isWrite || !outcome.ok || outcome.path === undefined) return;
  tellArtifact(record, nodeId, outcome.path);
}

/** Merges a record into the graph state; what does not fit changes nothing. */
async function recordState(
  record: RunRecord,
  call: PlannedCall,
  change: JsonObject,
  input: ToolCallInput,
): Promise<ToolCallOutcome> {
  const merged = recordedState(record, change);
  if (!merged.ok) return refuse(record, call, input, merged.error);
  const graph = heldState(record);
  const outcome = await shielded(record, () =>
    localActivities["state.record"].executeWithOptions(summary(call.summary), [
      { ...input, ...(graph === undefined ? {} : { graph }) },
    ]),
  );
  if (outcome.ok) replaceGraphState(record, merged.value);
  return outcome;
}

/** The guard says yes before anything is saved; the save runs it again on what is really on disk. */
async function changeState(
  record: RunRecord,
  call: PlannedCall,
  change: StateChange,
  input: ToolCallInput,
): Promise<ToolCallOutcome> {
  const early = passedOver(record, change);
  // A history of an earlier version may hold a move over a subworkflow: it is followed.
  if (early !== undefined && patched(PASSED_OVER_PATCH)) return refuse(record, call, input, early);
  await knowTarget(record, nodeAfter(record, change));
  const next = changedDocument(record, change, input.now);
  if (!next.ok) return refuse(record, call, input, next.error);
  const wrongList = listsFault(record, next.value);
  // A history of an earlier version may hold an update that lists anything: it is followed.
  if (wrongList !== undefined && patched(LISTED_NAMES_PATCH)) return refuse(record, call, input, wrongList);
  const outcome = await save(record, call, input);
  if (outcome.state !== undefined) takeDocument(record, next.value, outcome.state.sha256);
  return outcome;
}

/** Takes over what a change came to that was run along with the answer: the guard has judged it where it was saved. */
async function takeChange(
  record: RunRecord,
  change: StateChange,
  { now, nodeId }: ToolCallInput,
  done: ToolCallOutcome,
): Promise<ToolCallOutcome> {
  const { ok, code, message = "", state, stateConflict } = done;
  if (!ok && code !== undefined && stateConflict !== true) noteRefusal(record, nodeId, { code, message });
  if (state === undefined) return done;
  const next = changedDocument(record, change, now);
  if (next.ok) takeDocument(record, next.value, state.sha256);
  else await readDocumentAgain(record);
  return done;
}

async function save(record: RunRecord, call: PlannedCall, input: ToolCallInput): Promise<ToolCallOutcome> {
  const shown = summary(call.summary);
  const saved = record.stepsByNode
    ? await tryLocally(record, () => quickSaves["state.persist"].executeWithOptions(shown, [input]))
    : undefined;
  return saved ?? runActivities["state.persist"].executeWithOptions(shown, [input]);
}

const LISTED_NAMES_PATCH = "listed-names-are-checked";
const PASSED_OVER_PATCH = "subworkflows-are-not-passed-over";

/** The document was changed behind the run's back: go on from what it says, if that is legal. */
export async function readDocumentAgain(record: RunRecord): Promise<void> {
  const loaded = await shielded(record, () => loadDocument(record, "state document changed from outside"));
  await knowTarget(record, loaded.frontmatter.currentNodeId);
  const fault = adoptDocument(record, loaded);
  if (fault !== undefined) throw failureOf(fault);
}
