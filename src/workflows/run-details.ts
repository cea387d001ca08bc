import type { RunState } from "../contract/run.js";

/** The run as Markdown for Temporal's Web UI. */
export function renderDetails(state: RunState): string {
  const { usage } = state;
  const cost = usage.cost > 0 ? `, cost ${usage.cost.toFixed(4)}` : "";
  const lines = [
    `**${state.paused ? `${state.phase}, paused` : state.phase}** at \`${state.currentNodeId}\`, visit ${state.visit}, turn ${state.turn}`,
    "",
    `Steps completed: ${state.stepsCompleted.map((step) => `\`${step}\``).join(", ") || "none"}`,
    "",
    `Model turns ${usage.modelTurns}, tool calls ${usage.toolCalls}, tokens ${usage.promptTokens} in and ${usage.completionTokens} out${cost}.`,
  ];
  if (state.question !== undefined) {
    const { nodeId, text, code } = state.question;
    lines.push("", `**Question at \`${nodeId}\`:**`, "", text);
    const command = code === "BUDGET_EXCEEDED" ? "budget" : "answer";
    lines.push("", "```", `interlock ${command} ${state.runId} …`, "```");
  }
  if (state.artifacts.length > 0)
    lines.push("", "Artifacts:", ...state.artifacts.map((path) => `- \`${path}\``));
  lines.push("", "Latest:", ...state.progress.slice(-8).map((line) => `- ${line.nodeId}: ${line.text}`));
  return lines.join("\n").slice(0, 16_000);
}
