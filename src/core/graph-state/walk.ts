import type { ErrorCode, Fault } from "../errors.js";
import { newest } from "../newest.js";
import { cutText } from "../text.js";
import type {
  ArtifactType,
  GraphState,
  NodeError,
  RoutingFlag,
  StateSnapshot,
  StateSnapshotState,
} from "./schemas.js";
import { jsonBytes } from "../json.js";

/**
 * How a run makes its graph state: each visit of a node is a reduction of what happened in it.
 *
 * G1. Routing flags are those of the visit: it begins with none but `retry`, and what the node records itself lies on top.
 * G2. `complete` takes the place of `retry` and `blocked`; `proceed` of `blocked` and `complete`; `blocked` of `complete`,
 *     which a node may have recorded. So whatever happens, a valid state stays valid.
 * G3. The newest errors are kept, within {@link MAX_ERRORS} and {@link MAX_ERROR_BYTES}; all of them are in the audit log.
 * G4. The newest snapshots are kept, within {@link MAX_SNAPSHOTS} and {@link MAX_HISTORY_BYTES}; the run folder has all.
 */
export type VisitEvent =
  /** `again`: the node was visited before. */
  | { readonly kind: "begun"; readonly again: boolean }
  | { readonly kind: "artifact"; readonly type: ArtifactType; readonly path: string }
  | { readonly kind: "error"; readonly error: NodeError }
  /** A precondition has failed repeatedly: see `unmetPrecondition`. */
  | { readonly kind: "blocked" }
  | { readonly kind: "asked" }
  /** A run below has completed, which began with this state: what it has recorded. */
  | { readonly kind: "below"; readonly state: StateSnapshotState }
  /** The run moved on. `skipped`: a node that it could have gone to can no longer be reached. */
  | { readonly kind: "left"; readonly skipped: boolean }
  | { readonly kind: "completed" };

export const MAX_ERRORS = 50;
export const MAX_ERROR_BYTES = 12 * 1024;
export const MAX_SNAPSHOTS = 20;
export const MAX_HISTORY_BYTES = 64 * 1024;
const MOST_ERRORS = { count: MAX_ERRORS, size: MAX_ERROR_BYTES };
const MOST_SNAPSHOTS = { count: MAX_SNAPSHOTS, size: MAX_HISTORY_BYTES };
const MAX_MESSAGE_CHARS = 300;
const MAX_ID_CHARS = 200;

/** The state after one more event of a visit. */
export function reduceVisit(state: GraphState, event: VisitEvent): GraphState {
  switch (event.kind) {
    case "begun":
      return { ...state, routingFlags: event.again ? { retry: true } : {} };
    case "artifact":
      return { ...state, artifactPaths: { ...state.artifactPaths, [event.type]: event.path } };
    case "error":
      return { ...state, errors: newest([...state.errors, event.error], MOST_ERRORS, itemBytes) };
    case "blocked":
      return {
        ...state,
        routingFlags: { ...without(state.routingFlags, ["complete"]), blocked: true },
      };
    case "asked":
      return { ...state, routingFlags: { ...state.routingFlags, escalate: true } };
    case "below": {
      const { artifactPaths, gateDecisions, evidenceRefs, errors } = event.state;
      return { ...state, artifactPaths, gateDecisions, evidenceRefs, errors };
    }
    case "left": {
      const flags = without(state.routingFlags, ["blocked", "complete"]);
      return {
        ...state,
        routingFlags: { ...flags, proceed: true, ...(event.skipped ? { skip: true } : {}) },
      };
    }
    case "completed":
      return {
        ...state,
        routingFlags: { ...without(state.routingFlags, ["retry", "blocked"]), complete: true },
      };
  }
}

/** An error as the state keeps it: short, with a time. */
export function nodeError(
  nodeId: string,
  fault: Pick<Fault, "message"> & { readonly code: string },
  recoverable: boolean,
  timestamp: string,
): NodeError {
  return {
    nodeId: cutText(nodeId, MAX_ID_CHARS),
    message: cutText(fault.message, MAX_MESSAGE_CHARS),
    code: fault.code,
    timestamp,
    recoverable,
  };
}

/** Whether a call failed for something that has to become true first: a version, or the condition of an edge. */
export function isUnmetPrecondition(code: ErrorCode | undefined, details: Fault["details"]): boolean {
  if (code === "E_PRECONDITION_FAILED") return true;
  if (code !== "E_INVALID_TRANSITION" || details === undefined) return false;
  const { to, allowedNext } = details;
  return Array.isArray(allowedNext) && allowedNext.some((edge) => edge.to === to && edge.satisfied === false);
}

/** A state as snapshots hold it. */
export function withoutHistory(state: GraphState): StateSnapshotState {
  const { stateHistory: _, ...rest } = state;
  return rest;
}

/** The state with one snapshot more at the end of its history; none is left while the newest is too large alone. */
export function withSnapshot(state: GraphState, snapshot: StateSnapshot): GraphState {
  const history = [...state.stateHistory, snapshot];
  return { ...state, stateHistory: newest(history, MOST_SNAPSHOTS, itemBytes) };
}

/** What an item takes in a list. */
function itemBytes(item: object): number {
  return jsonBytes(item) + 1;
}

function without(
  flags: GraphState["routingFlags"],
  names: readonly RoutingFlag[],
): GraphState["routingFlags"] {
  return Object.fromEntries(
    Object.entries(flags).filter(([name]) => !names.some((dropped) => dropped === name)),
  );
}
