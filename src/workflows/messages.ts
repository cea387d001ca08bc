import { ApplicationFailure, currentUpdateInfo, defineQuery, defineUpdate } from "@temporalio/workflow";
import { ANSWER_UPDATE, GRAPH_STATE_QUERY, RUN_STATE_QUERY } from "../contract/names.js";
import type { Answer, RunState } from "../contract/run.js";
import { MAX_USER_INPUT_BYTES } from "../core/engine/limits.js";
import type { GraphState } from "../core/graph-state/schemas.js";
import { utf8Length } from "../core/text.js";
import type { RunRecord } from "./run-record.js";

export const runStateQuery = defineQuery<RunState>(RUN_STATE_QUERY);
/** The typed graph state of a run that carries a story; null for a run that carries none. */
export const graphStateQuery = defineQuery<GraphState | null>(GRAPH_STATE_QUERY);
export const answerUpdate = defineUpdate<{ readonly accepted: true }, [Answer]>(ANSWER_UPDATE);

/** Refuses an answer that the run does not wait for. Synchronous: a refused answer leaves no trace. */
export function checkAnswer(record: RunRecord, answer: unknown): void {
  const { nodeId, text } = (answer ?? {}) as Partial<Record<keyof Answer, unknown>>;
  if (typeof nodeId !== "string" || typeof text !== "string" || text.trim() === "") {
    throw refusal("An answer is { nodeId, text }, and its text is not empty.");
  }
  if (utf8Length(text) > MAX_USER_INPUT_BYTES) {
    throw refusal(
      `An answer has at most ${MAX_USER_INPUT_BYTES} bytes. Put longer texts into a project file.`,
    );
  }
  if (record.question === undefined || record.answer !== undefined) {
    throw refusal(`The run does not wait for an answer; it is ${record.carried.phase} at ${record.nodeId}.`);
  }
  if (record.question.nodeId !== nodeId) {
    throw refusal(`The run waits for an answer at ${record.question.nodeId}, not at ${nodeId}.`);
  }
}

/** Takes an answer that passed {@link checkAnswer}. Temporal runs an update of one id once. */
export function acceptAnswer(record: RunRecord, answer: Answer): { readonly accepted: true } {
  record.answer = { id: currentUpdateInfo()?.id ?? "answer", text: answer.text };
  return { accepted: true };
}

function refusal(message: string): ApplicationFailure {
  return ApplicationFailure.create({ type: "E_PRECONDITION_FAILED", message, nonRetryable: true });
}
