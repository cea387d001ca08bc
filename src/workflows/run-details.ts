import { modelLabel } from "../core/run/run-model.js";
import type { WorkflowGraph } from "../core/package/graph.js";
import { asksForBudget } from "../core/run/question.js";
import type { RunState } from "../core/run/run-state.js";
import { about, costInWords } from "../core/run/usage.js";
import { codeBlock, codeCell, codeSpan } from "../core/markdown.js";
import { utf8Length } from "../core/text.js";

/** Temporal keeps 20,000 bytes of details. */
const MAX_BYTES = 16_000;
const MAX_QUESTION_CHARS = 4_000;
const MAX_FAILURE_CHARS = 2_000;
const MAX_ROWS = 24;
/** Rows before the node at hand, in a graph of more nodes than are shown. */
const ROWS_BEFORE = 8;
const MAX_CELL_CHARS = 60;
const MAX_LISTED = 40;

/**
 * The run as Markdown for Temporal's Web UI: where it stands, what it asks or failed with and the command that goes on, and its
 * graph. What packages, models and users have said stands in it as code: no link, image
 * or HTML of theirs is live.
 */
export function renderDetails(state: RunState, graph?: WorkflowGraph): string {
  const { usage } = state;
  const { cachedPromptTokens = 0 } = usage;
  const cached = cachedPromptTokens > 0 ? ` (${cachedPromptTokens} cached)` : "";
  const parts = [
    [
      `**${state.paused ? `${state.phase}, paused` : state.phase}**${placeOf(state)}`,
      "",
      ...whatOf(state),
      ...belowOf(state),
      `Steps completed: ${listOf(state.stepsCompleted).join(", ") || "none"}`,
      "",
      ...modelOf(state),
      `Model turns ${usage.modelTurns}, tool calls ${usage.toolCalls}, tokens ${about(usage)}${usage.promptTokens} in${cached} and ${usage.completionTokens} out${costInWords(usage)}.`,
    ],
    state.failure === undefined ? [] : failureOf(state.runId, state.failure),
    state.question === undefined ? [] : questionOf(state.runId, state.question),
    state.paused ? ["", "It goes on with:", "", ...codeBlock(`interlock resume ${state.runId}`)] : [],
    graph === undefined || graph.nodes.length < 2 ? [] : tableOf(state, graph),
    [
      "",
      "Latest:",
      ...state.progress.slice(-8).map((line) => `- ${codeSpan(line.nodeId)} ${codeSpan(line.text, 300)}`),
    ],
    state.artifacts.length === 0
      ? []
      : ["", "Artifacts:", ...listOf(state.artifacts, state.earlierArtifacts).map((name) => `- ${name}`)],
  ];
  return withinLimit(parts.map((part) => part.join("\n"))).join("\n");
}

function placeOf({ currentNodeId, visit, turn }: RunState): string {
  return currentNodeId === "" ? "" : ` at ${codeSpan(currentNodeId)}, visit ${visit}, turn ${turn}`;
}

function whatOf({ packageId, workflowRef, projectId }: RunState): readonly string[] {
  if (packageId === "" && workflowRef === "") return []; // it is not open yet
  const named = [packageId, workflowRef].filter((name) => name !== "").map((name) => codeSpan(name));
  return [`${named.join(", workflow ")}, project ${codeSpan(projectId)}`, ""];
}

/** Which runs are above and below this one. */
function belowOf({ below, parentRunId }: RunState): readonly string[] {
  return [
    ...(parentRunId === undefined ? [] : [`A subworkflow of run ${codeSpan(parentRunId)}.`, ""]),
    ...(below === undefined
      ? []
      : [`Waits for run ${codeSpan(below.runId)} of workflow ${codeSpan(below.workflowRef)}.`, ""]),
  ];
}

function failureOf(runId: string, { code, message }: NonNullable<RunState["failure"]>): readonly string[] {
  return [
    "",
    `**Failed: ${codeSpan(code)}**`,
    "",
    ...codeBlock(message, MAX_FAILURE_CHARS),
    "",
    "Once that is mended, it goes on with:",
    "",
    ...codeBlock(`interlock retry ${runId}`),
  ];
}

/** The graph, node by node; of a large one the part around the node at hand. */
function tableOf(state: RunState, { nodes }: WorkflowGraph): readonly string[] {
  const here = nodes.findIndex(({ id }) => id === state.currentNodeId);
  const first = Math.max(0, Math.min(here - ROWS_BEFORE, nodes.length - MAX_ROWS));
  const shown = nodes.slice(first, first + MAX_ROWS);
  const done = new Set(state.stepsCompleted);
  const next = new Set(state.allowedNext.map(({ to }) => to));
  const rows = shown.map(({ id, title = "" }) => {
    const said = [
      ...(id === state.currentNodeId ? [standingOf(state)] : []),
      ...(done.has(id) ? ["✔ visited"] : []),
      ...(next.has(id) && state.phase !== "completed" ? ["→ next"] : []),
    ];
    return `| ${codeCell(id, MAX_CELL_CHARS)} | ${codeCell(title, MAX_CELL_CHARS)} | ${said.join(", ")} |`;
  });
  const left = nodes.length - shown.length;
  const more = left === 0 ? [] : ["", `${left} more of ${nodes.length} nodes are not shown.`];
  return ["", "| node | title | state |", "| --- | --- | --- |", ...rows, ...more];
}

/** Of the node at hand. */
function standingOf({ phase, paused }: RunState): string {
  if (phase === "failed") return "✘ failed";
  if (phase === "completed") return "✔ last";
  if (phase === "waiting-user") return "▶ waits";
  return paused ? "▶ paused" : "▶ current";
}

function questionOf(
  runId: string,
  { nodeId, text, code }: NonNullable<RunState["question"]>,
): readonly string[] {
  const command = asksForBudget({ code }) ? "budget" : "answer";
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

/** The newest names, as code; `earlier` are so many before them. */
function listOf(names: readonly string[], earlier = 0): readonly string[] {
  const shown = names.slice(-MAX_LISTED).map((name) => codeSpan(name));
  const left = earlier + names.length - shown.length;
  return left > 0 ? [`${left} more`, ...shown] : shown;
}

/** Whole parts, for code that is cut off would be none. */
function withinLimit(parts: readonly string[]): readonly string[] {
  let bytes = 0;
  return parts.filter((part) => {
    const length = utf8Length(part);
    if (bytes + length >= MAX_BYTES) return false;
    bytes += length + 1;
    return true;
  });
}
