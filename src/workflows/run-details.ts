import { modelLabel } from "../core/run/run-model.js";
import type { RunState } from "../core/run/run-state.js";
import { about } from "../core/run/usage.js";
import { codeBlock, codeSpan } from "../core/markdown.js";

/** Temporal keeps 20,000 bytes of details, and most characters of an escape are one. */
const MAX_CHARS = 16_000;
const MAX_QUESTION_CHARS = 4_000;
const MAX_LISTED = 40;

/**
 * The run as Markdown for Temporal's Web UI. What packages, models and users have said stands in it as code: no link, image
 * or HTML of theirs is live.
 */
export function renderDetails(state: RunState): string {
  const { usage } = state;
  const cost = usage.cost > 0 ? `, cost ${about(usage)}${usage.cost.toFixed(4)}` : "";
  const { cachedPromptTokens = 0 } = usage;
  const cached = cachedPromptTokens > 0 ? ` (${cachedPromptTokens} cached)` : "";
  const parts = [
    [
      `**${state.paused ? `${state.phase}, paused` : state.phase}** at ${codeSpan(state.currentNodeId)}, visit ${state.visit}, turn ${state.turn}`,
      "",
      `Steps completed: ${listOf(state.stepsCompleted).join(", ") || "none"}`,
      "",
      ...modelOf(state),
      `Model turns ${usage.modelTurns}, tool calls ${usage.toolCalls}, tokens ${about(usage)}${usage.promptTokens} in${cached} and ${usage.completionTokens} out${cost}.`,
    ],
    state.question === undefined ? [] : questionOf(state.runId, state.question),
    [
      "",
      "Latest:",
      ...state.progress.slice(-8).map((line) => `- ${codeSpan(line.nodeId)} ${codeSpan(line.text, 300)}`),
    ],
    state.artifacts.length === 0
      ? []
      : ["", "Artifacts:", ...listOf(state.artifacts).map((name) => `- ${name}`)],
  ];
  return withinLimit(parts.map((part) => part.join("\n"))).join("\n");
}

function questionOf(
  runId: string,
  { nodeId, text, code }: NonNullable<RunState["question"]>,
): readonly string[] {
  const command = code === "BUDGET_EXCEEDED" ? "budget" : "answer";
  return [
    "",
    `**Question at ${codeSpan(nodeId)}:**`,
    "",
    ...codeBlock(text, MAX_QUESTION_CHARS),
    "",
    ...codeBlock(`interlock ${command} ${runId} …`),
  ];
}

function modelOf({ model }: RunState): readonly string[] {
  if (model === undefined) return [];
  const { chain, answeredBy, missing } = model;
  const asked = chain.map((ref) => codeSpan(modelLabel(ref))).join(", else ");
  const last = answeredBy === undefined ? "" : `; the last answer is of ${codeSpan(modelLabel(answeredBy))}`;
  const waits = missing === undefined ? [] : [`Waits: ${codeSpan(missing, 1_000)}`, ""];
  return [`Model: ${asked || "each agent's own"}${last}.`, "", ...waits];
}

/** The newest names, as code. */
function listOf(names: readonly string[]): readonly string[] {
  const shown = names.slice(-MAX_LISTED).map((name) => codeSpan(name));
  return names.length > shown.length ? [`${names.length - shown.length} more`, ...shown] : shown;
}

/** Whole parts, for code that is cut off would be none. */
function withinLimit(parts: readonly string[]): readonly string[] {
  let chars = 0;
  return parts.filter((part) => {
    if (chars + part.length >= MAX_CHARS) return false;
    chars += part.length + 1;
    return true;
  });
}
