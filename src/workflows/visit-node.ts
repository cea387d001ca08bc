import { ApplicationFailure } from "@temporalio/workflow";
import type { ModelTurnResult } from "../contract/activities.js";
import type { Visiting } from "../core/run/carried-run.js";
import type { Question } from "../core/run/question.js";
import type { EngineLimits } from "../core/run/limits.js";
import { ENDING_KEY, LOOP_CORRECTION, type LoopVerdict, observeCall } from "../core/run/loop-detection.js";
import { NO_QUESTION_ASKED, NUDGES, mostNudges } from "../core/run/no-question.js";
import { modelActivities } from "./activity-options.js";
import { continueRunAsNew } from "./continue-run-as-new.js";
import { runCalls } from "./run-calls.js";
import type { RunKind } from "./run-kind.js";
import { type RunRecord, effectiveAgentId } from "./run-record.js";
import { tellError } from "./run-graph-state.js";
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
    await continueRunAsNew(record);
    checkLimits(record, visiting.nodeId, limits);
    const answer = await takeTurn(record, kind, visiting, limits);
    const { correction: _, nudges, ...rest } = visiting;
    const nudge = nextNudge(record, answer, nudges ?? 0);
    const correction =
      nudge === undefined ? await act(record, kind, visiting.nodeId, answer) : nudge.correction;
    record.update({
      visiting: {
        ...rest,
        ...(correction === undefined ? {} : { correction }),
        ...(nudge === undefined ? {} : { nudges: nudge.nudges }),
      },
    });
  }
}

/** What the model is told of an answer that asks nothing, before a person is asked. */
function nextNudge(
  record: RunRecord,
  { noQuestion }: ModelTurnResult,
  nudges: number,
): { readonly correction: string; readonly nudges: number } | undefined {
  if (noQuestion === undefined || record.isComplete) return undefined;
  if (nudges >= mostNudges(record.input.autopilot ?? false)) return undefined;
  return { correction: NUDGES[noQuestion], nudges: nudges + 1 };
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
  if (answer.refusal !== undefined) {
    const { code, words } = answer.refusal;
    const message = words === "" ? "The provider gave no reason." : words;
    tellError(record, nodeId, { code, message }, true);
    await askUser(record, kind, { nodeId, text: `${REFUSED[code]}\n\n${message}`, code });
    return undefined;
  }
  if (answer.calls.length === 0) {
    await askUser(record, kind, questionOf(nodeId, answer));
    return undefined;
  }
  const verdict = await runCalls(record, kind, nodeId, answer.calls);
  if (verdict === "correct") return LOOP_CORRECTION;
  if (verdict === "ask-user" && record.nodeId === nodeId) {
    await askUser(record, kind, { nodeId, text: LOOP_QUESTION, code: "ENGINE_LOOP_DETECTED" });
  }
  return undefined;
}

const REFUSED = {
  LLM_REFUSED: "The model refuses to answer. Tell it what to do differently. Its words:",
  LLM_CONTENT_FILTERED:
    "The provider's content filter has stopped the model's answer. Tell it what to do differently. The words:",
} as const;

/** The model's words; where they are no question after all, what is to be known about them. */
function questionOf(nodeId: string, { text, noQuestion }: ModelTurnResult): Question {
  const asked = noQuestion === undefined ? "" : NO_QUESTION_ASKED[noQuestion];
  if (asked === "") return { nodeId, text };
  const shown = text.trim() === "" ? asked : `${asked}\n\n${text}`;
  return { nodeId, text: shown, code: "LLM_BAD_RESPONSE" };
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
