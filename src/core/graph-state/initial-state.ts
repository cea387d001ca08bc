import { type Result, fail, ok } from "../errors.js";
import { schemaErrors } from "../schema-errors.js";
import {
  type GraphState,
  GraphStateSchema,
  type InitialStateParams,
  InitialStateParamsSchema,
  type StateSnapshotState,
} from "./schemas.js";
import { safeValidateGraphState } from "./validate.js";

/** The state before the first node. Throws ZodError on parameters that no valid state could have. */
export function createInitialState(params: InitialStateParams): GraphState {
  return GraphStateSchema.parse(InitialStateParamsSchema.parse(params));
}

/** The story a run carries, as it is started with. */
export interface StoryStart {
  /** Such as `wrkf-1010`. */
  readonly storyId?: string;
  /** Absent means the prefix of `storyId`. */
  readonly epicPrefix?: string;
  /** The state to begin with: that of an earlier run's snapshot. */
  readonly graphState?: StateSnapshotState;
}

/**
 * The state a run begins with; undefined for one that carries no story. Fault: `E_SCHEMA_VALIDATION` with
 * `details.errors[]`.
 */
export function openingState(start: StoryStart): Result<GraphState | undefined> {
  const { storyId, epicPrefix, graphState } = start;
  if (storyId === undefined && epicPrefix === undefined && graphState === undefined) return ok(undefined);
  const begun = safeValidateGraphState(
    graphState ?? { storyId, epicPrefix: epicPrefix ?? String(storyId).split("-")[0] },
  );
  if (begun.success) return ok({ ...begun.data, stateHistory: [] });
  const errors = schemaErrors(begun.error.issues);
  const first = errors[0];
  const sentence = `The run cannot carry this story: ${first?.path || "(root)"}: ${first?.message}. A story is named like wrkf-1010.`;
  return fail("E_SCHEMA_VALIDATION", sentence, { errors });
}
