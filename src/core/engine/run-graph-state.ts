import { type Fault, type Result, fail, ok } from "../errors.js";
import type { HeldGraphState } from "../graph-state/held-state.js";
import { mergeRecord } from "../graph-state/record.js";
import type { GraphState } from "../graph-state/schemas.js";
import { safeValidateGraphState } from "../graph-state/validate.js";
import {
  type VisitEvent,
  nodeError,
  reduceVisit,
  withSnapshot,
  withoutHistory,
} from "../graph-state/walk.js";
import type { JsonObject } from "../json.js";
import { leavesNodeBehind } from "../package/graph.js";
import { schemaErrors } from "../schema-errors.js";
import type { GraphStateProgress } from "../run/carried-run.js";
import type { RunRecord } from "./run-record.js";

/**
 * The graph state of a run that carries a story (contracts §12). What is told here of a run that carries none is not
 * kept.
 */

const FAILURES_BEFORE_BLOCKED = 2;

/** What happened to the run or to one of its calls. */
interface Failed {
  readonly code: string;
  readonly message: string;
}

export function beginGraphState(record: RunRecord, state: GraphState): void {
  record.update({ story: { state, change: 0, unmetPreconditions: 0, visited: [] } });
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

/** The state that `state.record` asks for. What does not fit changes nothing. */
export function recordedState(record: RunRecord, change: JsonObject): Result<GraphState> {
  const { story } = record.carried;
  if (story !== undefined) return mergeRecord(story.state, change);
  return fail("TOOL_NOT_AVAILABLE", "This run carries no story, so there is no graph state to record in.");
}

export function beginGraphStateVisit(record: RunRecord): void {
  const { story } = record.carried;
  if (story === undefined) return;
  const place = record.opened.graph.nodes.findIndex(({ id }) => id === record.nodeId);
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
  failed: Partial<Failed> & { readonly unmet?: boolean },
  now: string,
): void {
  const { story } = record.carried;
  if (story === undefined) return;
  const { code = "E_INTERNAL", message = "", unmet = false } = failed;
  tellError(record, nodeId, { code, message }, { recoverable: true, now });
  if (!unmet) return;
  const unmetPreconditions = story.unmetPreconditions + 1;
  if (unmetPreconditions >= FAILURES_BEFORE_BLOCKED) tellGraphState(record, { kind: "blocked" });
  changeGraphState(record, { unmetPreconditions });
}

/** `now` is an ISO time. */
export function tellError(
  record: RunRecord,
  nodeId: string,
  failed: Failed,
  { recoverable, now }: { readonly recoverable: boolean; readonly now: string },
): void {
  tellGraphState(record, { kind: "error", error: nodeError(nodeId || "run", failed, recoverable, now) });
}

/**
 * The node boundary: the visit's routing flag is set, the state validated and a snapshot taken. Fault: `E_SCHEMA_VALIDATION`
 * should the state have become invalid. `now` is an ISO time.
 */
export function closeGraphStateVisit(record: RunRecord, nodeId: string, now: string): Fault | undefined {
  const before = record.carried.story;
  if (before === undefined) return undefined;
  const event: VisitEvent = record.isComplete
    ? { kind: "completed" }
    : { kind: "left", skipped: leavesBehind(record, nodeId, before) };
  const story = { ...before, state: reduceVisit(before.state, event), change: before.change + 1 };
  record.update({ story });
  const closed = closedState(nodeId, story.state, now);
  if (!closed.ok) return closed.error;
  record.update({ story: { ...story, state: closed.value } });
  return undefined;
}

function closedState(nodeId: string, state: GraphState, timestamp: string): Result<GraphState> {
  const valid = safeValidateGraphState(state);
  if (valid.success) {
    return ok(withSnapshot(valid.data, { timestamp, state: withoutHistory(valid.data) }));
  }
  const errors = schemaErrors(valid.error.issues);
  const sentence = `The graph state is not valid after ${nodeId}: ${errors[0]?.path}: ${errors[0]?.message}`;
  return fail("E_SCHEMA_VALIDATION", sentence, { errors });
}

function leavesBehind(record: RunRecord, nodeId: string, story: GraphStateProgress): boolean {
  const { graph } = record.opened;
  const visited = new Set(story.visited.map((place) => graph.nodes[place]?.id ?? ""));
  return leavesNodeBehind(graph, { from: nodeId, to: record.nodeId }, visited, record.conditionData);
}

/** The current state as activities are given it. */
export function heldState(record: RunRecord): HeldGraphState | undefined {
  const { story } = record.carried;
  return story && { state: withoutHistory(story.state), change: story.change };
}

/** What a node is told of the state when it begins. */
export function graphStateBrief(
  record: RunRecord,
): Pick<GraphState, "storyId" | "gateDecisions" | "artifactPaths"> | undefined {
  const state = record.carried.story?.state;
  return (
    state && {
      storyId: state.storyId,
      gateDecisions: state.gateDecisions,
      artifactPaths: state.artifactPaths,
    }
  );
}
