import type { ModelTurnResult } from "../contract/activities.js";
import type { Visiting } from "../core/run/carried-run.js";
import {
  type NextStep,
  afterCalls,
  decideNextStep,
  endTurn,
  isVisitOver,
  turnLimitReached,
} from "../core/engine/model-answers.js";
import type { RunRecord } from "../core/engine/run-record.js";
import { isAskedForWords } from "../core/engine/waits.js";
import { continueBetweenTurns } from "./continue-run-as-new.js";
import { failureOf } from "./failures.js";
import { runCalls } from "./run-calls.js";
import type { RunKind } from "./run-kind.js";
import { takeTurn } from "./take-turn.js";
import { askUser, waitForAnswer, waitUntilFree } from "./waiting.js";

/**
 * One visit of one node: model turns and the calls they ask for, until the run moves on or is complete. Between two
 * turns the run can be paused, continue as new, and wait for a budget. Fails the run with `ENGINE_MAX_TURNS_EXCEEDED` at
 * its limits (contracts §9).
 */
export async function visitNode(record: RunRecord, kind: RunKind): Promise<void> {
  const limits = { ...kind.limits, ...record.input.limits };
  // Not carried: what they would be asked again for is written down.
  const ahead: ModelTurnResult[] = [];
  for (;;) {
    const { visiting } = record.carried;
    if (visiting === undefined) return;
    if (isAskedForWords(record)) {
      // The turn that has asked was another execution's.
      await waitForAnswer(record, kind);
      endTurn(record, visiting);
      continue;
    }
    if (isVisitOver(record, visiting)) return;
    await waitUntilFree(record);
    if (record.isComplete) return;
    await continueBetweenTurns(record);
    const limit = turnLimitReached(record, visiting.nodeId, limits);
    if (limit !== undefined) throw failureOf({ code: "ENGINE_MAX_TURNS_EXCEEDED", message: limit });
    const answer = await takeTurn(record, kind, visiting, { limits, ahead });
    // Left to another worker, or to another model: the same turn begins again.
    if (answer === undefined) continue;
    const { visiting: asked = visiting } = record.carried;
    endTurn(record, asked, await act(record, kind, asked, answer));
  }
}

/** Does what an answer asks for. Returns the step that it came to. */
async function act(
  record: RunRecord,
  kind: RunKind,
  visiting: Visiting,
  answer: ModelTurnResult,
): Promise<NextStep> {
  let step = decideNextStep(record, visiting, answer, new Date().toISOString());
  if (step.kind === "calls") {
    const verdict = await runCalls(record, kind, visiting.nodeId, answer);
    step = afterCalls(record, visiting.nodeId, verdict);
  }
  if (step.kind === "ask") await askUser(record, kind, step.question);
  return step;
}
