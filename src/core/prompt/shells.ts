import type { AllowedNext } from "../package/graph.js";
import type { JsonObject } from "../json.js";
import { cutText, oneLine } from "../text.js";
import { redactPathsIn } from "./redact.js";

/** Why a node's conversation begins: the run starts, moves on, or comes back after an interruption. */
export type Intent = "start" | "continue" | "resume";

export interface RunDirective {
  readonly intent: Intent;
  readonly workflowRef: string;
  /** Package-relative path of the workflow's graph file. */
  readonly graphFile: string;
  readonly currentNodeId: string;
  readonly effectiveAgentId: string;
  readonly autopilot: boolean;
  readonly variables: JsonObject;
  /** Of a run that carries a story. */
  readonly story?: {
    readonly storyId: string;
    readonly gateDecisions: JsonObject;
    readonly artifactPaths: JsonObject;
  };
}

const MAX_VARIABLES_CHARS = 4_000;

/** The `RUN_DIRECTIVE` shell: line-based, machine-readable (contracts §8). No text can add a line to it. */
export function renderRunDirective(directive: RunDirective): string {
  return [
    "RUN_DIRECTIVE",
    "- runType: bmad-micro",
    `- intent: ${directive.intent}`,
    `- workflow: ${oneLine(directive.workflowRef)}`,
    "- state: @state/workflow.md",
    `- graph: @pkg/${directive.graphFile}`,
    "- artifactsRoot: @project/artifacts/",
    `- currentNodeId: ${directive.currentNodeId}`,
    `- effectiveAgentId: ${directive.effectiveAgentId}`,
    `- autopilot: ${directive.autopilot}`,
    `- variables: ${summarizeVariables(directive.variables)}`,
    ...graphStateLines(directive.story),
  ].join("\n");
}

function graphStateLines(story: RunDirective["story"]): readonly string[] {
  if (story === undefined) return [];
  return [
    `- story: ${oneLine(story.storyId)}`,
    `- gateDecisions: ${summarizeVariables(story.gateDecisions)}`,
    `- artifactPaths: ${summarize(story.artifactPaths, "state.record answers with all")}`,
  ];
}

/** State variables as one line of JSON, absolute paths redacted, cut to a bound. */
export function summarizeVariables(variables: JsonObject): string {
  return summarize(variables, "read @state/workflow.md for all");
}

function summarize(values: JsonObject, remedy: string): string {
  const text = oneLine(JSON.stringify(redactPathsIn(values)));
  if (text.length <= MAX_VARIABLES_CHARS) return text;
  return `${cutText(text, MAX_VARIABLES_CHARS)} (cut; ${remedy})`;
}

export interface NodeBrief {
  readonly nodeId: string;
  readonly type: string;
  readonly file: string;
  readonly outputs: readonly string[];
  readonly allowedNext: readonly AllowedNext[];
}

/** The `NODE_BRIEF` shell (contracts §8). */
export function renderNodeBrief(brief: NodeBrief): string {
  return [
    "NODE_BRIEF",
    `- currentNodeId: ${brief.nodeId} (type=${brief.type})`,
    `- stepFile: @pkg/${brief.file}`,
    "- outputsMap:",
    ...brief.outputs.map((output) => `  - ${oneLine(output)} -> ${outputAlias(output)}`),
    "- allowedNext:",
    ...brief.allowedNext.map((edge) => `  - ${edge.to} (${edgeNotes(edge)})`),
  ].join("\n");
}

function edgeNotes(edge: AllowedNext): string {
  const notes = [`label=${oneLine(edge.label)}`, `default=${edge.isDefault === true}`];
  notes.push(`condition=${edge.conditionText === undefined ? "none" : oneLine(edge.conditionText)}`);
  if (edge.satisfied !== undefined) notes.push(`satisfied=${edge.satisfied}`);
  return notes.join(", ");
}

/** The alias path of a declared output: project-relative unless it names a mount itself. */
function outputAlias(output: string): string {
  const line = oneLine(output);
  return line.startsWith("@") ? line : `@project/${line}`;
}

/** The `USER_INPUT` shell: the user's words, unchanged, bound to a node. */
export function renderUserInput(nodeId: string, text: string): string {
  return `USER_INPUT\n- forNodeId: ${nodeId}\n${text}`;
}
