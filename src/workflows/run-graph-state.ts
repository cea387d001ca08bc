import { ApplicationFailure, TemporalFailure, log } from "@temporalio/workflow";
import type { NodeBoundary, GraphStateBrief } from "../contract/activities.js";
import type { HeldGraphState } from "../core/graph-state/held-state.js";
import type { GraphStateProgress } from "../core/run/carried-run.js";
import type { Fault } from "../core/errors.js";
import { type GraphStateStart, openingState } from "../core/graph-state/initial-state.js";
import type { GraphState } from "../core/graph-state/schemas.js";
import { safeValidateGraphState } from "../core/graph-state/validate.js";
import {
  type VisitEvent,
  nodeError,
  reduceVisit,
  withSnapshot,
  withoutHistory,
} from "../core/graph-state/walk.js";
import { leavesNodeBehind } from "../core/package/graph.js";
import { schemaErrors } from "../core/schema-errors.js";
import { localActivities } from "./activity-options.js";
import type { RunRecord } from "./run-record.js";
import { summary } from "./summary.js";

/**
 * The graph state of a run that carries a story (contracts §12). What is told here of a run that carries none is not
 * kept; its node boundaries are.
 */

const FAILURES_BEFORE_BLOCKED = 2;

/** Makes the state the run begins with, and keeps it. Throws `E_SCHEMA_VALIDATION`. */
export async function openGraphState(record: RunRecord, start: GraphStateStart): Promise<void> {
  if (record.carried.story !== undefined) return; // resumed
  const opening = openingState(start);
  if (!opening.ok) throw failure(opening.error);
  if (opening.value === undefined) return;
  record.update({ story: { state: opening.value, change: 0, unmetPreconditions: 0, visited: [] } });
  await keep(record);
}

/** Tells the graph state what happened in the visit. */
export function tellGraphState(record: RunRecord, event: VisitEvent): void {
  const { story } = record.carried;
  if (story !== undefined) changeGraphState(record, { state: reduceVisit(story.state, event) });
}

/** The state after `state.record`. */
export function replaceGraphState(record: RunRecord, state: GraphState): void {
  changeGraphState(record, { state });
}

function changeGraphState(record: RunRecord, change: Partial<GraphStateProgress>): void {
  const { story } = record.carried;
  if (story === undefined) return;
  record.update({ story: { ...story, change: story.change + 1, ...change } });
}

export function beginGraphStateVisit(record: RunRecord): void {
  const { story } = record.carried;
  if (story === undefined) return;
  const place = placeOf(record, record.nodeId);
  const again = story.visited.includes(place);
  tellGraphState(record, { kind: "begun", again });
  changeGraphState(record, {
    unmetPreconditions: 0,
    visited: again ? story.visited : [...story.visited, place],
  });
}

/** A call that failed becomes a recoverable error; one that keeps missing its precondition blocks the visit. */
export function tellFailedCall(
  record: RunRecord,
  nodeId: string,
  failed: { readonly code?: string; readonly message?: string; readonly unmet?: boolean },
): void {
  const { story } = record.carried;
  if (story === undefined) return;
  tellError(record, nodeId, { code: failed.code ?? "E_INTERNAL", message: failed.message ?? "" }, true);
  if (failed.unmet !== true) return;
  const unmetPreconditions = story.unmetPreconditions + 1;
  if (unmetPreconditions >= FAILURES_BEFORE_BLOCKED) tellGraphState(record, { kind: "blocked" });
  changeGraphState(record, { unmetPreconditions });
}

export function tellError(
  record: RunRecord,
  nodeId: string,
  fault: { readonly code: string; readonly message: string },
  recoverable: boolean,
): void {
  const error = nodeError(nodeId || "run", fault, recoverable, new Date().toISOString());
  tellGraphState(record, { kind: "error", error });
}

/**
 * The node boundary: what the run can be restored and forked from is kept on disk. Of a story, the visit's routing flag
 * is set, the state validated and a snapshot taken. Throws `E_SCHEMA_VALIDATION` should the state have become invalid.
 */
export async function closeVisit(record: RunRecord, nodeId: string): Promise<void> {
  const timestamp = new Date().toISOString();
  closeGraphStateVisit(record, nodeId, timestamp);
  const { visit, stateSha256: documentSha256 } = record.carried;
  await keep(record, { visit, nodeId, next: record.nodeId, timestamp, documentSha256 });
}

function closeGraphStateVisit(record: RunRecord, nodeId: string, timestamp: string): void {
  const before = record.carried.story;
  if (before === undefined) return;
  if (record.isComplete) tellGraphState(record, { kind: "completed" });
  else tellGraphState(record, { kind: "left", skipped: leavesBehind(record, nodeId, before) });
  const { story } = record.carried;
  if (story === undefined) return;
  const valid = safeValidateGraphState(story.state);
  if (!valid.success) {
    const errors = schemaErrors(valid.error.issues);
    const sentence = `The graph state is not valid after ${nodeId}: ${errors[0]?.path}: ${errors[0]?.message}`;
    throw failure({ code: "E_SCHEMA_VALIDATION", message: sentence, details: { errors } });
  }
  const state = withoutHistory(valid.data);
  record.update({ story: { ...story, state: withSnapshot(valid.data, { timestamp, state }) } });
}

/** Keeps the state a failed run ends with, if it can be kept: what made the run fail is what counts. */
export async function closeFailedGraphState(record: RunRecord, fault: Fault): Promise<void> {
  if (record.carried.story === undefined) return;
  tellError(record, record.nodeId, fault, false);
  try {
    await keep(record);
  } catch (error) {
    if (!(error instanceof TemporalFailure)) throw error;
    log.warn("The graph state of the failed run could not be kept.", { code: fault.code });
  }
}

async function keep(record: RunRecord, boundary?: NodeBoundary): Promise<void> {
  const graph = heldState(record);
  await localActivities["state.snapshot"].executeWithOptions(
    summary(boundary === undefined ? "graph state" : `boundary after ${boundary.nodeId}`),
    [
      {
        run: record.opened.run,
        ...(graph === undefined ? {} : { graph }),
        ...(boundary === undefined ? {} : { boundary }),
      },
    ],
  );
}

/** The current state as activities are given it. */
export function heldState(record: RunRecord): HeldGraphState | undefined {
  const { story } = record.carried;
  return story && { state: withoutHistory(story.state), change: story.change };
}

/** What a node is told of the state when it begins. */
export function graphStateBrief(record: RunRecord): GraphStateBrief | undefined {
  const state = record.carried.story?.state;
  return (
    state && {
      storyId: state.storyId,
      gateDecisions: state.gateDecisions,
      artifactPaths: state.artifactPaths,
    }
  );
}

function leavesBehind(record: RunRecord, nodeId: string, story: GraphStateProgress): boolean {
  const { graph } = record.opened;
  const visited = new Set(story.visited.map((place) => graph.nodes[place]?.id ?? ""));
  return leavesNodeBehind(graph, { from: nodeId, to: record.nodeId }, visited, record.conditionData);
}

function placeOf(record: RunRecord, nodeId: string): number {
  return record.opened.graph.nodes.findIndex(({ id }) => id === nodeId);
}

function failure(fault: Fault): ApplicationFailure {
  return ApplicationFailure.create({ type: fault.code, message: fault.message, nonRetryable: true });
}
