import { defined } from "../defined.js";
import { ERROR_CODES, type Fault } from "../errors.js";
import { withoutHistory } from "../graph-state/walk.js";
import { earlierArtifactsOf } from "../state/earlier-entries.js";
import type { RunRecord } from "./run-record.js";
import { type HandsUp, type RunResult, chosenOf } from "../run/run-result.js";

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
