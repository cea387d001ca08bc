import { observe } from "./call-groups.js";
import type { Visiting } from "../run/carried-run.js";
import type { EngineLimits } from "../run/limits.js";
import { ENDING_KEY, LOOP_CORRECTION, type LoopVerdict, REPEATED_CORRECTION } from "../run/loop-detection.js";
import type { ModelRefusal } from "../run/model-refusal.js";
import { HOW_TO_END, NO_QUESTION_ASKED, NUDGES, type NoQuestion, mostNudges } from "../run/no-question.js";
import type { Question } from "../run/question.js";
import { tellError } from "./run-graph-state.js";
import type { RunRecord } from "./run-record.js";
import { QUICK_TURNS_IN_A_ROW, TURNS_AHEAD } from "../step-size.js";

/** An answer of the model, as far as it decides what comes next. */
interface ModelAnswer {
  readonly calls: readonly unknown[];
  readonly text: string;
  /** The provider cut it off: none of its calls may run (contracts §16). */
  readonly cutOff: boolean;
  /** The model says that a bundle run is done: it is, or something is missing. */
  readonly ending?:
    | { readonly kind: "complete" }
    | { readonly kind: "incomplete"; readonly correction: string; readonly missing: string };
  /** Why an answer without calls asks nobody anything. */
  readonly noQuestion?: NoQuestion;
  readonly refusal?: ModelRefusal;
}

/** What comes after an answer: the model is told something, the user is asked, its calls run, or the visit goes on as it is. */
export type NextStep =
  | { readonly kind: "tell"; readonly correction: string; readonly nudges?: number }
  | { readonly kind: "ask"; readonly question: Question }
  | { readonly kind: "calls" }
  | { readonly kind: "go-on" };

const CUT_OFF =
  "Your answer was cut off at the provider's length limit, so none of its tool calls ran. Send less at once: write large files in smaller calls.";
const CUT_OFF_QUESTION =
  "The agent's answers are cut off at the provider's length limit again and again, so none of their tool calls runs. Tell it what to do differently.";
const LOOP_QUESTION =
  "The agent repeats the same failing tool call and cannot go on by itself. Tell it what to do differently.";
const REPEATED_QUESTION =
  "The agent makes the same tool call again and again, and nothing else. Tell it what to do differently.";
const GO_ON: NextStep = { kind: "go-on" };

/** The visit is over: the run is complete, or stands at another node. */
export function isVisitOver(record: RunRecord, { nodeId }: Visiting): boolean {
  return record.isComplete || record.nodeId !== nodeId;
}

/** Which limit of the engine the next turn would go beyond, in a sentence (contracts §9). */
export function turnLimitReached(
  record: RunRecord,
  nodeId: string,
  { maxTurnsPerNode, maxTurnsPerRun }: Pick<EngineLimits, "maxTurnsPerNode" | "maxTurnsPerRun">,
): string | undefined {
  const { turn } = record.carried;
  const over =
    turn >= maxTurnsPerNode
      ? `${maxTurnsPerNode} model turns in one visit of ${nodeId}`
      : record.ownTurns >= maxTurnsPerRun
        ? `${maxTurnsPerRun} model turns in the run`
        : undefined;
  return over && `The run reached its limit of ${over}.`;
}

/**
 * How many turns may follow the one at hand before anything has to be decided: up to the limits of the engine. None where a budget
 * may be used up between two of them.
 */
export function turnsAhead(
  record: RunRecord,
  { maxTurnsPerNode, maxTurnsPerRun }: Pick<EngineLimits, "maxTurnsPerNode" | "maxTurnsPerRun">,
): number {
  const { turn, budget } = record.carried;
  if (budget.run !== undefined || budget.node !== undefined) return 0;
  const upToRegular = QUICK_TURNS_IN_A_ROW - 1 - (turn % QUICK_TURNS_IN_A_ROW);
  const upToLimits = Math.min(maxTurnsPerNode - turn, maxTurnsPerRun - record.ownTurns - 1);
  return Math.max(0, Math.min(TURNS_AHEAD, upToRegular, upToLimits));
}

/** What an answer leads to. What it has told is taken over: an end, an error, a repetition. `now` is an ISO time. */
export function decideNextStep(
  record: RunRecord,
  { nodeId, nudges = 0 }: Visiting,
  answer: ModelAnswer,
  now: string,
): NextStep {
  const { noQuestion, ending, refusal } = answer;
  const mayNudge = !record.isComplete && nudges < mostNudges(record.input.autopilot ?? false);
  // The model is told of an answer that asks nothing, before a person is asked.
  if (noQuestion !== undefined && mayNudge) {
    const endsByWord = noQuestion === "asks-nothing" && record.open?.run.kind === "bundle";
    const correction = `${NUDGES[noQuestion]}${endsByWord ? HOW_TO_END : ""}`;
    return { kind: "tell", correction, nudges: nudges + 1 };
  }
  if (answer.cutOff) {
    const cutOff = { code: "LLM_BAD_RESPONSE", message: "The answer was cut off." };
    tellError(record, nodeId, cutOff, { recoverable: true, now });
    return tellOrAsk(record, "cut-off", CUT_OFF, {
      nodeId,
      text: CUT_OFF_QUESTION,
      code: "ENGINE_LOOP_DETECTED",
    });
  }
  // Ended by the user while the model was answering.
  if (record.isComplete && answer.calls.length === 0) return GO_ON;
  if (ending?.kind === "complete") {
    record.update({ ended: true });
    return GO_ON;
  }
  if (ending?.kind === "incomplete") {
    return tellOrAsk(record, ENDING_KEY, ending.correction, {
      nodeId,
      text: `${answer.text}\n\nThe agent says that it is done, but ${ending.missing} was not saved, or with nothing in it. Tell it what to do, or end the run as it is.`,
      code: "ENGINE_LOOP_DETECTED",
    });
  }
  if (refusal !== undefined) {
    const { code, words } = refusal;
    const message = words === "" ? "The provider gave no reason." : words;
    tellError(record, nodeId, { code, message }, { recoverable: true, now });
    return { kind: "ask", question: { nodeId, text: `${REFUSED[code]}\n\n${message}`, code } };
  }
  return answer.calls.length > 0 ? { kind: "calls" } : { kind: "ask", question: questionOf(nodeId, answer) };
}

/** The model is told a few times; then the user is asked. */
function tellOrAsk(record: RunRecord, key: string, correction: string, question: Question): NextStep {
  return observe(record, key, false) === "ask-user"
    ? { kind: "ask", question }
    : { kind: "tell", correction };
}

/** What comes after the calls of an answer that were made for a node. */
export function afterCalls(record: RunRecord, nodeId: string, verdict: LoopVerdict): NextStep {
  if (verdict === "correct") return { kind: "tell", correction: LOOP_CORRECTION };
  if (verdict === "correct-repeated") return { kind: "tell", correction: REPEATED_CORRECTION };
  if (verdict === "go-on" || record.nodeId !== nodeId) return GO_ON;
  const text = verdict === "ask-user" ? LOOP_QUESTION : REPEATED_QUESTION;
  return { kind: "ask", question: { nodeId, text, code: "ENGINE_LOOP_DETECTED" } };
}

const REFUSED = {
  LLM_REFUSED: "The model refuses to answer. Tell it what to do differently. Its words:",
  LLM_CONTENT_FILTERED:
    "The provider's content filter has stopped the model's answer. Tell it what to do differently. The words:",
} as const;

/** The model's words; where they are no question after all, what is to be known about them. */
function questionOf(nodeId: string, { text, noQuestion }: ModelAnswer): Question {
  const asked = noQuestion === undefined ? "" : NO_QUESTION_ASKED[noQuestion];
  if (asked === "") return { nodeId, text };
  const shown = text.trim() === "" ? asked : `${asked}\n\n${text}`;
  return { nodeId, text: shown, code: "LLM_BAD_RESPONSE" };
}

/** What the visit knows after an answer: a correction is said once. */
export function endTurn(record: RunRecord, visiting: Visiting, step?: NextStep): void {
  const { correction: _, nudges: _nudges, ...rest } = visiting;
  const told = step?.kind === "tell" ? step : undefined;
  record.update({
    visiting: {
      ...rest,
      ...(told === undefined ? {} : { correction: told.correction }),
      ...(told?.nudges === undefined ? {} : { nudges: told.nudges }),
    },
  });
}
