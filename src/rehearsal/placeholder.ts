import { stringify } from "yaml";
import { type JsonObject, type JsonValue, jsonFile } from "../core/json.js";
import type { OutputTarget } from "./outputs.js";
import { type Scalar, type StepDeclaration, type VariableDeclaration, oneLine } from "./step-declaration.js";

/** Stands at the very top of everything the rehearsal writes, and is how it knows its own files again. */
const MARK = "Rehearsal: no model wrote this file.";
const MARK_WITHIN_CHARS = 200;
const QUOTE_CHARS = 500;

/** What a placeholder can honestly tell. */
export interface PlaceholderFacts {
  readonly nodeId: string;
  readonly workflow: string;
  readonly step: StepDeclaration;
  readonly inputs: readonly string[];
  readonly said: readonly string[];
}

/** True for a file that a rehearsal wrote: only such a file is written over. */
export function isRehearsalText(text: string): boolean {
  return text.slice(0, MARK_WITHIN_CHARS).includes(MARK);
}

/** Honest placeholder text in the format that the file's name promises. */
export function placeholder(target: OutputTarget, facts: PlaceholderFacts): string {
  switch (formatOf(target.path)) {
    case "json":
      return jsonFile(asData(target, facts));
    case "jsonl":
      return `${JSON.stringify(asData(target, facts))}\n`;
    case "yaml":
      return `# ${MARK}\n${stringify(asData(target, facts))}`;
    case "text":
      return asMarkdown(target, facts);
  }
}

/** The least that is still honest, for a node whose writes are limited. */
export function shortPlaceholder(target: OutputTarget): string {
  switch (formatOf(target.path)) {
    case "json":
    case "jsonl":
      return `${JSON.stringify({ rehearsal: MARK })}\n`;
    case "yaml":
      return `rehearsal: "${MARK}"\n`;
    case "text":
      return `> ${MARK}\n`;
  }
}

/** Formats that are JSON by another name. */
const JSON_EXTENSIONS: readonly (string | undefined)[] = [
  "json",
  "json5",
  "excalidraw",
  "canvas",
  "geojson",
  "ipynb",
  "webmanifest",
];

type Format = "json" | "jsonl" | "yaml" | "text";

function formatOf(path: string): Format {
  const extension = /\.([A-Za-z0-9]+)$/.exec(path)?.[1]?.toLowerCase();
  if (JSON_EXTENSIONS.includes(extension)) return "json";
  if (extension === "jsonl" || extension === "ndjson") return "jsonl";
  return extension === "yaml" || extension === "yml" ? "yaml" : "text";
}

function asData(target: OutputTarget, facts: PlaceholderFacts): JsonObject {
  return {
    rehearsal: MARK,
    node: facts.nodeId,
    step: titleOf(facts),
    workflow: facts.workflow,
    output: target.declared,
    outline: facts.step.headings.map((heading) => heading.text),
    inputs: facts.inputs,
    userInput: facts.said.map((words) => oneLine(words, QUOTE_CHARS)),
  };
}

function asMarkdown(target: OutputTarget, facts: PlaceholderFacts): string {
  const { headings } = facts.step;
  const top = Math.min(...headings.map((heading) => heading.level));
  const outline = headings.map((heading) => `${"  ".repeat(heading.level - top)}- ${quoted(heading.text)}`);
  const lines = [
    `> **${MARK}**`,
    "> A rehearsal walks a workflow without a model: it does what the graph and the step files say, and",
    "> writes a placeholder like this one wherever a model would write a result.",
    "",
    `# Placeholder for ${quoted(oneLine(target.declared, QUOTE_CHARS))}`,
    "",
    `- workflow: ${quoted(facts.workflow)}`,
    `- node: ${quoted(facts.nodeId)}`,
    `- step: ${quoted(titleOf(facts))}`,
    ...section("What the step asks for", outline),
    ...section(
      "What it was to read",
      facts.inputs.map((input) => `- ${quoted(input)}`),
    ),
    ...section(
      "What the user said",
      facts.said.map((words) => `> ${quoted(oneLine(words, QUOTE_CHARS))}`),
    ),
  ];
  return `${lines.join("\n")}\n`;
}

function section(heading: string, lines: readonly string[]): string[] {
  return lines.length === 0 ? [] : ["", `## ${heading}`, "", ...lines];
}

/** Quoted text stays text: no markup of its own. */
function quoted(text: string): string {
  return text.replace(/[<>&]/g, (char) => (char === "<" ? "&lt;" : char === ">" ? "&gt;" : "&amp;"));
}

function titleOf(facts: PlaceholderFacts): string {
  return oneLine(facts.step.title ?? facts.step.headings[0]?.text ?? facts.nodeId, QUOTE_CHARS);
}

/**
 * A value for each variable that the step declares, of the declared type. On later visits of the node the next
 * of the possible values is taken, so that a loop which waits for another value ends.
 */
export function variableValues(
  variables: readonly VariableDeclaration[],
  nodeId: string,
  earlierVisits: number,
): JsonObject {
  return Object.fromEntries(
    variables
      // Setting it to "complete" ends the run: that is decided by the graph, not by a step's list of variables.
      .filter((variable) => variable.name !== "workflowStatus")
      .map((variable) => [variable.name, valueOf(variable, nodeId, earlierVisits)]),
  );
}

function valueOf(variable: VariableDeclaration, nodeId: string, earlierVisits: number): JsonValue {
  const declared = variable.type ?? typeof variable.suggested[0];
  const type = declared.endsWith("[]") || declared.startsWith("array") ? "array" : declared;
  const fitting = variable.suggested.filter((value) => fits(value, type));
  const values: readonly Scalar[] =
    type === "boolean" || type === "bool" ? [...new Set([...fitting, true, false])] : fitting;
  const chosen = values[earlierVisits % Math.max(values.length, 1)];
  if (chosen !== undefined) return chosen;
  const text = `rehearsal: ${variable.name}, set at ${nodeId}`;
  switch (type) {
    case "number":
    case "integer":
    case "int":
    case "float":
      return 1;
    case "array":
    case "list":
      return [text];
    case "object":
    case "map":
      return { rehearsal: text };
    default:
      return text;
  }
}

function fits(value: Scalar, type: string): boolean {
  switch (type) {
    case "boolean":
    case "bool":
      return typeof value === "boolean";
    case "integer":
    case "int":
      return Number.isInteger(value);
    case "number":
    case "float":
      return typeof value === "number";
    case "array":
    case "list":
    case "object":
    case "map":
      return false;
    default:
      return typeof value === "string";
  }
}
