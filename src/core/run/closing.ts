import { defined } from "../defined.js";
import { ERROR_CODES, type Fault } from "../errors.js";
import type { StateSnapshotState } from "../graph-state/schemas.js";
import { withoutHistory } from "../graph-state/walk.js";
import type { JsonObject } from "../json.js";
import { earlierArtifactsOf } from "../state/earlier-entries.js";
import type { RunRecord } from "./run-record.js";
import type { Usage } from "./usage.js";

/** What a run ends with. */

export const CANCELLED: Fault = { code: "ENGINE_ABORTED", message: "The run was cancelled." };

/** What somebody has thrown under a code; one that is not of ours is `E_INTERNAL`. */
export function thrownFault(type: string | null | undefined, message: string): Fault {
  return { code: ERROR_CODES.find((known) => known === type) ?? "E_INTERNAL", message };
}

/** An activity has not answered, for this reason. */
export function silentFault(activity: string, reason: string): Fault {
  const code = activity === "model.turn" ? "LLM_TIMEOUT" : "E_INTERNAL";
  return { code, message: `${activity} gave no answer in time: ${reason}` };
}

/** A failure that cannot be recorded stays the failure: what hindered that is added to it. */
export function addUnrecorded(record: RunRecord, fault: Fault, { code, message }: Fault): void {
  record.failure = { ...fault, details: { ...fault.details, unrecorded: { code, message } } };
  record.note(`not recorded: ${code}`);
}

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

export function toResult(record: RunRecord): RunResult {
  return {
    runId: record.input.runId,
    phase: "completed",
    currentNodeId: record.nodeId,
    stepsCompleted: record.frontmatter.stepsCompleted,
    artifacts: record.frontmatter.artifacts,
    ...earlierArtifactsOf(record.frontmatter),
    usage: record.carried.usage,
    ...defined({ handsUp: handedUp(record) }),
  };
}

function handedUp({ input, frontmatter, carried }: RunRecord): HandsUp | undefined {
  const { returns } = input.parent ?? {};
  if (returns === undefined) return undefined;
  const { story } = carried;
  return {
    variables: chosenOf(frontmatter.variables, returns),
    ...(story === undefined ? {} : { graphState: withoutHistory(story.state) }),
  };
}

/** The fields of these names, where there are any. */
export function chosenOf(fields: JsonObject, names: readonly string[]): JsonObject {
  const wanted = new Set(names);
  return Object.fromEntries(Object.entries(fields).filter(([name]) => wanted.has(name)));
}
