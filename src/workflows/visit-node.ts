import { ApplicationFailure } from "@temporalio/workflow";
import type { ModelTurnResult } from "../contract/activities.js";
import type { Visiting } from "../contract/run.js";
import type { EngineLimits } from "../core/engine/limits.js";
import { ENDING_KEY, LOOP_CORRECTION, type LoopVerdict, observeCall } from "../core/engine/loop-detection.js";
import { modelActivities } from "./activity-options.js";
import { carryOn } from "./carry-on.js";
import { runCalls } from "./run-calls.js";
import type { RunKind } from "./run-kind.js";
import { type RunRecord, effectiveAgentId } from "./run-record.js";
import { tellError } from "./story.js";
import { askUser, waitUntilFree } from "./waiting.js";
import { summary } from "./summary.js";

const CUT_OFF =
  "Your answer was cut off at the provider's length limit, so none of its tool calls ran. Send less at once: write large files in smaller calls.";
const CUT_OFF_QUESTION =
  "The agent's answers are cut off at the provider's length limit again and again, so none of their tool calls runs. Tell it what to do differently.";
const LOOP_QUESTION =
  "The agent repeats the same failing tool call and cannot go on by itself. Tell it what to do differently.";

/**
 * One visit of one node: model turns and the calls they ask for, until the run moves on or is complete. Between two
 * turns the run can be paused, continue as new, and wait for a budget. Fails the run with `ENGINE_MAX_TURNS_EXCEEDED` at
 * its limits (contracts §9).
 */
export async function visitNode(record: RunRecord, kind: RunKind): Promise<void> {
  const limits = { ...kind.limits, ...record.input.limits };
  for (;;) {
    const { visiting } = record.carried;
    if (visiting === undefined || record.isComplete || record.nodeId !== visiting.nodeId) return;
    await waitUntilFree(record);
    if (record.isComplete) return;
    await carryOn(record);
    checkLimits(record, visiting.nodeId, limits);
    const answer = await takeTurn(record, kind, visiting, limits);
    const correction = await act(record, kind, visiting.nodeId, answer);
    const { correction: _, ...rest } = visiting;
    record.update({ visiting: correction === undefined ? rest : { ...rest, correction } });
  }
}

/** Does what an answer asks for. Returns what the model is to be told before its next turn. */
async function act(
  record: RunRecord,
  kind: RunKind,
  nodeId: string,
  answer: ModelTurnResult,
): Promise<string | undefined> {
  if (answer.cutOff) {
    tellError(record, nodeId, { code: "LLM_BAD_RESPONSE", message: "The answer was cut off." }, true);
    if (observe(record, "cut-off", false) !== "ask-user") return CUT_OFF;
    await askUser(record, kind, { nodeId, text: CUT_OFF_QUESTION, code: "ENGINE_LOOP_DETECTED" });
    return undefined;
  }
  // Ended by the user while the model was answering.
  if (record.isComplete && answer.calls.length === 0) return undefined;
  if (answer.ending?.kind === "complete") {
    record.update({ ended: true });
    return undefined;
  }
  if (answer.ending?.kind === "incomplete") {
    const { correction, missing } = answer.ending;
    if (observe(record, ENDING_KEY, false) !== "ask-user") return correction;
    await askUser(record, kind, {
      nodeId,
      text: `${answer.text}\n\nThe agent says that it is done, but ${missing} was not saved. Tell it what to do, or end the run as it is.`,
      code: "ENGINE_LOOP_DETECTED",
    });
    return undefined;
  }
  if (answer.calls.length === 0) {
    await askUser(record, kind, { nodeId, text: answer.text });
    return undefined;
  }
  const verdict = await runCalls(record, kind, nodeId, answer.calls);
  if (verdict === "correct") return LOOP_CORRECTION;
  if (verdict === "ask-user" && record.nodeId === nodeId) {
    await askUser(record, kind, { nodeId, text: LOOP_QUESTION, code: "ENGINE_LOOP_DETECTED" });
  }
  return undefined;
}

/** Notices repetition; see `observeCall`. */
export function observe(record: RunRecord, key: string, ok: boolean): LoopVerdict {
  const observed = observeCall(record.carried.loop, { key, ok });
  record.update({ loop: observed.state });
  return observed.verdict;
}

function checkLimits(record: RunRecord, nodeId: string, limits: EngineLimits): void {
  const { turn, usage } = record.carried;
  const over =
    turn >= limits.maxTurnsPerNode
      ? `${limits.maxTurnsPerNode} model turns in one visit of ${nodeId}`
      : usage.modelTurns >= limits.maxTurnsPerRun
        ? `${limits.maxTurnsPerRun} model turns in the run`
        : undefined;
  if (over === undefined) return;
  throw ApplicationFailure.create({
    type: "ENGINE_MAX_TURNS_EXCEEDED",
    message: `The run reached its limit of ${over}.`,
    nonRetryable: true,
  });
}

async function takeTurn(
  record: RunRecord,
  kind: RunKind,
  visiting: Visiting,
  limits: EngineLimits,
): Promise<ModelTurnResult> {
  const { nodeId, intent, resumes, correction } = visiting;
  const turn = record.carried.turn + 1;
  record.update({ turn });
  const { conditions } = record;
  const { budget } = record.carried;
  const activities = modelActivities(limits.maxModelAttempts, record.opened.modelTimeoutMs);
  const answer = await activities["model.turn"].executeWithOptions(
    summary(`model turn ${turn} · ${nodeId}`),
    [
      {
        run: record.opened.run,
        visit: record.carried.visit,
        turn,
        nodeId,
        agentId: effectiveAgentId(record.opened, nodeId),
        intent,
        autopilot: record.input.autopilot ?? false,
        conversation: kind.conversation(record),
        ...(conditions === undefined ? {} : { conditions }),
        ...kind.turnDetails(record),
        ...(resumes === undefined || turn > 1 ? {} : { resumes }),
        ...(budget.run?.cost === undefined && budget.node?.cost === undefined ? {} : { needsPrice: true }),
        ...(correction === undefined ? {} : { correction }),
      },
    ],
  );
  record.use({ modelTurns: 1, ...answer.usage });
  record.noteAudit(answer.audit);
  record.note(`model turn ${turn}`);
  return answer;
}
