import { ApplicationFailure, condition } from "@temporalio/workflow";
import type { ModelTurnResult } from "../contract/activities.js";
import type { Question } from "../contract/run.js";
import { DEFAULT_ENGINE_LIMITS, type EngineLimits } from "../core/engine/limits.js";
import { LOOP_CORRECTION, NO_LOOP } from "../core/engine/loop-detection.js";
import type { Intent } from "../core/prompt/shells.js";
import { isComplete } from "../core/state/completion.js";
import { localActivities, modelActivities } from "./activity-options.js";
import { changePhase } from "./change-phase.js";
import { runCalls } from "./run-calls.js";
import { type RunRecord, effectiveAgentId } from "./run-record.js";
import { storyBrief, tellError, tellStory } from "./story.js";

const CUT_OFF =
  "Your answer was cut off at the provider's length limit, so none of its tool calls ran. Send less at once: write large files in smaller calls.";

/**
 * One visit of one node: model turns and the calls they ask for, until the state document moves on or the run is
 * complete. Fails the run with `ENGINE_MAX_TURNS_EXCEEDED` at its limits (contracts §9).
 */
export async function visitNode(record: RunRecord, intent: Intent): Promise<void> {
  const nodeId = record.nodeId;
  const { graph } = record.opened;
  const limits = { ...DEFAULT_ENGINE_LIMITS, ...record.input.limits };
  let correction: string | undefined;
  while (record.nodeId === nodeId && !isComplete(record.frontmatter, graph)) {
    checkLimits(record, nodeId, limits);
    const answer = await takeTurn(record, nodeId, intent, limits, correction);
    correction = undefined;
    if (answer.cutOff) {
      correction = CUT_OFF;
      tellError(record, nodeId, { code: "LLM_BAD_RESPONSE", message: "The answer was cut off." }, true);
    } else if (answer.calls.length === 0) {
      await askUser(record, { nodeId, text: answer.text });
    } else {
      const verdict = await runCalls(record, conversationName(record), nodeId, answer.calls);
      if (verdict === "correct") correction = LOOP_CORRECTION;
      if (verdict === "ask-user" && record.nodeId === nodeId) {
        await askUser(record, { nodeId, text: LOOP_QUESTION, code: "ENGINE_LOOP_DETECTED" });
      }
    }
  }
}

const LOOP_QUESTION =
  "The agent repeats the same failing tool call and cannot go on by itself. Tell it what to do differently.";

function conversationName(record: RunRecord): string {
  return record.input.wholeRunConversation === true ? "run" : `visit-${record.carried.visit}`;
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
  nodeId: string,
  intent: Intent,
  limits: EngineLimits,
  correction: string | undefined,
): Promise<ModelTurnResult> {
  const turn = record.carried.turn + 1;
  record.update({ turn });
  const { conditions } = record;
  const story = storyBrief(record);
  const answer = await modelActivities(limits.maxModelAttempts)["model.turn"].executeWithOptions(
    { summary: `model turn ${turn} · ${nodeId}`.slice(0, 200) },
    [
      {
        run: record.opened.run,
        visit: record.carried.visit,
        turn,
        nodeId,
        agentId: effectiveAgentId(record.opened, nodeId),
        intent,
        autopilot: record.input.autopilot ?? false,
        conversation: conversationName(record),
        ...(conditions === undefined ? {} : { conditions }),
        ...(story === undefined ? {} : { recordsState: true, ...(turn === 1 ? { story } : {}) }),
        ...(correction === undefined ? {} : { correction }),
      },
    ],
  );
  const { usage } = record.carried;
  record.update({
    usage: {
      ...usage,
      modelTurns: usage.modelTurns + 1,
      promptTokens: usage.promptTokens + answer.usage.promptTokens,
      completionTokens: usage.completionTokens + answer.usage.completionTokens,
    },
  });
  record.noteAudit(answer.audit);
  record.note(`model turn ${turn}`);
  return answer;
}

/** Asks the user and waits, for months if need be; the answer is written down before the next turn. */
async function askUser(record: RunRecord, question: Question): Promise<void> {
  record.question = question;
  tellStory(record, { kind: "asked" });
  await changePhase(record, "waiting-user");
  await condition(() => record.answer !== undefined);
  const answer = record.answer;
  if (answer === undefined) throw new Error("The wait for an answer ended without one.");
  await writeUserInput(record, answer.id, answer.text);
  record.question = undefined;
  record.answer = undefined;
  record.update({ loop: NO_LOOP });
  await changePhase(record, "running");
}

/** Puts the user's words into the conversation of the visit, once. */
export async function writeUserInput(record: RunRecord, inputId: string, text: string): Promise<void> {
  const audit = await localActivities["user.input"].executeWithOptions(
    { summary: `input for ${record.nodeId}` },
    [
      {
        run: record.opened.run,
        conversation: conversationName(record),
        inputId,
        nodeId: record.nodeId,
        text,
      },
    ],
  );
  record.noteAudit(audit);
  record.note("user input received");
}
