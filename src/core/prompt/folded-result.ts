import { type JsonObject, type JsonValue, jsonIn, objectOf } from "../json.js";
import { excerpt, utf8Length } from "../text.js";
import { bundleToolName } from "../bundle/bundle-tools.js";
import type { ModelCall } from "../tools/model-call.js";
import type { RecordedModelCall } from "../tools/external-tool.js";
import { READS } from "../tools/reads.js";
import { canonicalToolName } from "../tools/tool-specs.js";

/** Where texts lie that tell a model what to do. */
const INSTRUCTIONS = /^(?:@pkg\/|\{(?:bundle|core)[-_]root\})/;
const MAX_SUBJECT_CHARS = 160;
/** Longer arguments are those of writes, whose results are short. */
const MAX_ARGUMENT_CHARS = 64 * 1024;

/** Whether the call's result tells the model what to do: the step, the workflow, what the runtime has read for it. */
export function isInstruction(call: ModelCall, turn: number): boolean {
  if (turn === 0 || call.name === "preload_workflow") return true;
  return INSTRUCTIONS.test(pathOf(argumentsOf(call)));
}

/**
 * What stands in the place of a call's result that is left out: JSON that says what was there and how to have it again.
 * Undefined for what stays: failures, which are short, and results of calls that change something.
 */
export function foldedResult(call: RecordedModelCall, result: JsonObject): string | undefined {
  const success = result["ok"] === true ? "ok" : result["success"] === true ? "success" : undefined;
  const tool = canonicalToolName(call.name) ?? bundleToolName(call.name);
  const isRead = READS.has(tool ?? "") || call.external?.effect === "none";
  if (success === undefined || !isRead) return undefined;
  const what = subjectOf(call);
  const omitted = `${what}: ${sizeOf(result)} bytes, left out to save room. Call it again if you need them.`;
  return JSON.stringify({ [success]: true, omitted });
}

/** Of the text that was read; of any other result, as JSON. */
function sizeOf(result: JsonObject): number {
  const text = result["content"] ?? result["contentPreview"];
  return utf8Length(typeof text === "string" ? text : JSON.stringify(result));
}

function subjectOf(call: ModelCall): string {
  const args = argumentsOf(call);
  const pattern = args["pattern"];
  const parts = [
    call.name,
    pathOf(args),
    linesOf(args),
    typeof pattern === "string" ? `for ${JSON.stringify(excerpt(pattern, 60))}` : "",
  ];
  return excerpt(parts.filter((part) => part !== "").join(" "), MAX_SUBJECT_CHARS);
}

function pathOf(args: JsonObject): string {
  const named = args["path"] ?? args["file_path"] ?? args["workflow_path"];
  return typeof named === "string" ? named : "";
}

function linesOf(args: JsonObject): string {
  const { startLine, endLine } = args;
  if (typeof startLine !== "number" && typeof endLine !== "number") return "";
  return `lines ${lineOf(startLine, "1")} to ${lineOf(endLine, "the end")}`;
}

function lineOf(value: JsonValue | undefined, otherwise: string): string {
  return typeof value === "number" ? String(value) : otherwise;
}

function argumentsOf({ argumentsJson }: ModelCall): JsonObject {
  return argumentsJson.length > MAX_ARGUMENT_CHARS ? {} : objectOf(jsonIn(argumentsJson));
}
