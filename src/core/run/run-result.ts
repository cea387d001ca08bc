import type { Fault } from "../errors.js";
import type { StateSnapshotState } from "../graph-state/schemas.js";
import type { JsonObject } from "../json.js";
import type { Usage } from "./usage.js";

/** What a run ends with that was cancelled. */
export const CANCELLED: Fault = { code: "ENGINE_ABORTED", message: "The run was cancelled." };

/** What a completed run returns. */
export interface RunResult {
  readonly runId: string;
  readonly phase: "completed";
  readonly currentNodeId: string;
  readonly stepsCompleted: readonly string[];
  /** The newest ones: those that the state document holds. */
  readonly artifacts: readonly string[];
  /** How many there are before them; absent where there are none. */
  readonly earlierArtifacts?: number;
  readonly usage: Usage;
  /** Of a subworkflow's run: what the run above takes over. */
  readonly handsUp?: HandsUp;
}

export interface HandsUp {
  /** Those that the node above names, as far as the run has them. */
  readonly variables: JsonObject;
  readonly graphState?: StateSnapshotState;
}

/** The fields of these names, where there are any. */
export function chosenOf(fields: JsonObject, names: readonly string[]): JsonObject {
  const wanted = new Set(names);
  return Object.fromEntries(Object.entries(fields).filter(([name]) => wanted.has(name)));
}
