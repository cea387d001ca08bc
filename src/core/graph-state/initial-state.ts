import { type Failed, type Result, fail, ok } from "../errors.js";
import { type SchemaError, schemaErrors } from "../schema-errors.js";
import { jsonBytes } from "../json.js";
import {
  type GraphState,
  GraphStateSchema,
  type InitialStateParams,
  InitialStateParamsSchema,
  type StateSnapshotState,
} from "./schemas.js";
import { safeValidateGraphState } from "./validate.js";
import { MAX_HISTORY_BYTES, withoutHistory } from "./walk.js";

/** The state before the first node. Throws ZodError on parameters that no valid state could have. */
export function createInitialState(params: InitialStateParams): GraphState {
  return GraphStateSchema.parse(InitialStateParamsSchema.parse(params));
}

/** The story a run carries, as it is started with. */
export interface GraphStateStart {
  /** Such as `wrkf-1010`. */
  readonly storyId?: string;
  /** Absent means the prefix of `storyId`. */
  readonly epicPrefix?: string;
  /** The state to begin with: that of an earlier run's snapshot. `storyId` and `epicPrefix`, if given too, must be its own. */
  readonly graphState?: StateSnapshotState;
}

/**
 * The state a run begins with; undefined for one that carries no story. Faults: `E_SCHEMA_VALIDATION` with
 * `details.errors[]`; `E_WRITE_LIMIT` for a state that no history could hold a snapshot of.
 */
export function openingState(start: GraphStateStart): Result<GraphState | undefined> {
  const { storyId, epicPrefix, graphState } = start;
  if (storyId === undefined && epicPrefix === undefined && graphState === undefined) return ok(undefined);
  const begun = safeValidateGraphState(
    graphState ?? { storyId, epicPrefix: epicPrefix ?? String(storyId).split("-")[0] },
  );
  if (!begun.success) return cannotCarry(schemaErrors(begun.error.issues));
  const state: GraphState = { ...begun.data, stateHistory: [] };
  const others = [
    ...differing("storyId", storyId, state.storyId),
    ...differing("epicPrefix", epicPrefix, state.epicPrefix),
  ];
  if (others.length > 0) return cannotCarry(others);
  if (jsonBytes(withoutHistory(state)) < MAX_HISTORY_BYTES) return ok(state);
  return fail(
    "E_WRITE_LIMIT",
    `A run cannot begin with a graph state of ${MAX_HISTORY_BYTES} bytes or more.`,
  );
}

function differing(path: string, given: string | undefined, carried: string): readonly SchemaError[] {
  if (given === undefined || given === carried) return [];
  return [{ path, message: "is not that of the graph state the run is to begin with: leave it out" }];
}

function cannotCarry(errors: readonly SchemaError[]): Failed {
  const first = errors[0];
  const sentence = `The run cannot carry this story: ${first?.path || "(root)"}: ${first?.message}. A story is named like wrkf-1010.`;
  return fail("E_SCHEMA_VALIDATION", sentence, { errors });
}
