import { type Fault, type Result, fail, ok } from "../errors.js";
import type { JsonObject } from "../json.js";
import { artifactTypeOf, findNode } from "../package/graph.js";
import { type MovedEntries, withEarlier } from "../state/earlier-entries.js";
import { listedNamesFault } from "../state/listed-names.js";
import { STALE_VERSION } from "../state/stale-version.js";
import { type Frontmatter, parseFrontmatter } from "../state/state-frontmatter.js";
import { effectiveNodeId, validateWorkflowStateUpdate } from "../state/transition-guard.js";
import { recordArtifact, updateFrontmatter } from "../state/update-frontmatter.js";
import { excerpt } from "../text.js";
import { tellGraphState } from "./run-graph-state.js";
import type { RunRecord } from "./run-record.js";
import type { StateChange } from "../run/state-change.js";

/**
 * The document after a change, or why there is none: it is of another version than the run holds, or the guard says no. What its lists
 * gain is `listsFault`'s: the two are the workflow's halves of `updateFault`. `now` is an ISO time.
 */
export function changedDocument(record: RunRecord, change: StateChange, now: string): Result<JsonObject> {
  const { frontmatter, conditions, opened, carried } = record;
  if (change.ifMatchSha256 !== undefined && change.ifMatchSha256 !== carried.stateSha256) {
    return STALE_VERSION;
  }
  const next: JsonObject =
    change.kind === "patch" ? updateFrontmatter(frontmatter, change.update, now) : change.frontmatter;
  const verdict = validateWorkflowStateUpdate(frontmatter, next, opened.graph, conditions);
  return verdict.ok ? ok(next) : verdict;
}

/** Where the document wants to stand after a change; empty for the graph's entry, and where it is no text. */
export function nodeAfter({ frontmatter }: RunRecord, change: StateChange): string {
  const { currentNodeId } = frontmatter;
  if (change.kind === "patch") return change.update.currentNodeId?.set ?? currentNodeId;
  const wanted = change.frontmatter["currentNodeId"];
  return typeof wanted === "string" ? wanted : "";
}

/**
 * Why a change may not lead on from where the run stands: that is a subworkflow, to which an earlier call of the same answer has led, and
 * which has not run. No model is asked at one: the run goes on by itself when it has.
 */
export function passedOver(record: RunRecord, change: StateChange): Fault | undefined {
  const { nodeId, opened } = record;
  const node = findNode(opened.graph, nodeId);
  const to = effectiveNodeId(nodeAfter(record, change), opened.graph);
  if (node?.workflow === undefined || to === nodeId) return undefined;
  const sentence = `${excerpt(nodeId)} → ${excerpt(to)}: ${excerpt(nodeId)} is a subworkflow and has not run yet. It is run when the calls of this answer are done, and the run goes on from there by itself.`;
  return fail("E_INVALID_TRANSITION", sentence, { from: nodeId, to: excerpt(to), allowedNext: [] }).error;
}

/** What the lists of a document may not gain. */
export function listsFault({ frontmatter }: RunRecord, next: JsonObject): Fault | undefined {
  return listedNamesFault(frontmatter, next);
}

/** The document was saved in this version. */
export function takeDocument(record: RunRecord, next: JsonObject, sha256: string): void {
  const parsed = parseFrontmatter(next);
  if (parsed.ok) record.update({ frontmatter: parsed.value, stateSha256: sha256 });
}

/** Entries of its lists that were too many for the document were moved to files, and it was saved in this version. */
export function takeMoved(record: RunRecord, { earlier, sha256 }: MovedEntries): void {
  record.update({ frontmatter: withEarlier(record.frontmatter, earlier), stateSha256: sha256 });
}

/** A file that was written is one of the run's artifacts, and the document says so in this version. `now` is an ISO time. */
export function takeArtifact(
  record: RunRecord,
  saved: { readonly artifact: string; readonly sha256: string },
  now: string,
): void {
  takeDocument(record, recordArtifact(record.frontmatter, saved.artifact, now), saved.sha256);
}

/** A file that a node declares is an artifact of its type in the graph state. */
export function tellArtifact(record: RunRecord, nodeId: string, path: string): void {
  const artifact = artifactTypeOf(record.opened.graph, nodeId, path);
  if (artifact !== undefined) tellGraphState(record, { kind: "artifact", ...artifact });
}

/** Goes on from a document that was changed behind the run's back, if that is legal. */
export function adoptDocument(
  record: RunRecord,
  loaded: { readonly frontmatter: Frontmatter; readonly sha256: string },
): Fault | undefined {
  const { frontmatter, conditions, opened } = record;
  const verdict = validateWorkflowStateUpdate(frontmatter, loaded.frontmatter, opened.graph, conditions);
  if (!verdict.ok) {
    const message = `The state document was changed from outside in a way the graph does not allow: ${verdict.error.message}`;
    return { code: verdict.error.code, message };
  }
  record.update({ frontmatter: loaded.frontmatter, stateSha256: loaded.sha256 });
  record.note("the state document was changed from outside; going on from it");
  return undefined;
}
