import { boundsProblem } from "../json-bounds.js";
import { type JsonObject, type JsonValue, jsonBytes } from "../json.js";
import { type Result, fail, ok } from "../errors.js";
import { isPrintable, printableText } from "../printable.js";
import { cutText, excerpt } from "../text.js";
import { withSpelledNames } from "./argument-names.js";
import type { FunctionTool } from "./tool-arguments.js";
import type { ModelCall } from "./model-call.js";

/**
 * What a call of a tool changes. `none`: nothing, it may be made again and beside others. `idempotent`: something, but twice is
 * once. `once`: something; it is made at most once, and where nobody knows whether it was, the model is told so.
 */
export type ToolEffect = "none" | "idempotent" | "once";

/** A tool that is not the engine's own, as a model is offered it. */
export interface ExternalToolSpec {
  /** Such as `mcp.memory.read_graph`. */
  readonly name: string;
  readonly description: string;
  /** A JSON Schema of an object. */
  readonly parameters: JsonObject;
  readonly effect: ToolEffect;
  /** The longest wait for one call, in milliseconds. */
  readonly timeoutMs: number;
}

/** What is kept of an offered tool with each call of it. */
export interface OfferedTool extends Pick<ExternalToolSpec, "name" | "effect" | "timeoutMs"> {
  /** Of the definition that the model saw: a tool that has another one by now is another tool. */
  readonly sha256: string;
}

/** A call as a conversation keeps it. */
export interface RecordedModelCall extends ModelCall {
  /** Which of the external tools it is for; absent for the engine's own, and for names that no tool has. */
  readonly external?: OfferedTool;
}

/** Tools that an agent is offered beside the engine's own: providers take 128 in all. */
export const MAX_EXTERNAL_TOOLS = 100;
/** Of their definitions together: they are part of every request. */
export const MAX_DEFINITION_BYTES = 256 * 1024;
const MAX_TOOL_NAME_CHARS = 100;
const MAX_WIRE_CHARS = 64;
const MAX_DESCRIPTION_CHARS = 2_000;
const MAX_SCHEMA_BYTES = 16 * 1024;
const SCHEMA_BOUNDS = { maxDepth: 16, maxValues: 1_000 };
/** Of a name's hash, so many; more where a tool is called as another one would be spelled. */
const HASH_CHARS = [8, 32];

/**
 * A definition from outside as a model may be shown it: names, size and depth checked, texts printable and cut.
 * Fault: `E_SCHEMA_VALIDATION` with what is wrong.
 */
export function checkExternalTool(tool: ExternalToolSpec): Result<ExternalToolSpec> {
  const { name, parameters } = tool;
  const wrong = (what: string) => fail("E_SCHEMA_VALIDATION", `The tool ${excerpt(name, 60)}: ${what}.`);
  if (!/^[\w./:-]+$/.test(name) || name.length > MAX_TOOL_NAME_CHARS) {
    return wrong(`its name must have at most ${MAX_TOOL_NAME_CHARS} characters of A-Z a-z 0-9 _ - . / :`);
  }
  const bounds = boundsProblem(parameters, SCHEMA_BOUNDS);
  if (bounds !== undefined) return wrong(`its schema ${bounds.message}`);
  if (jsonBytes(parameters) > MAX_SCHEMA_BYTES) {
    return wrong(`its schema has more than ${MAX_SCHEMA_BYTES} bytes`);
  }
  if (parameters["type"] !== "object") return wrong("its schema must be one of an object");
  const problem = schemaProblem(parameters);
  if (problem !== undefined) return wrong(problem);
  return ok({
    ...tool,
    description: shownText(tool.description),
    parameters: shownSchema(parameters) as JsonObject, // an object stays one
  });
}

function shownText(text: string): string {
  return printableText(cutText(text, MAX_DESCRIPTION_CHARS));
}

/** Texts for a reader; whatever else a schema holds must be as it is. */
const READ_BY_MODELS: ReadonlySet<string> = new Set(["description", "title", "$comment"]);

/** A text, of one line or several, or a name that hides something, or a reference to another document. */
function schemaProblem(value: JsonValue, key = ""): string | undefined {
  if (typeof value === "string") {
    if (key === "$ref" && !value.startsWith("#")) return "its schema refers to another document";
    return READ_BY_MODELS.has(key) || isPrintable(value.replaceAll(/[\t\r\n]/g, ""))
      ? undefined
      : "its schema holds a text that is not printable";
  }
  if (value === null || typeof value !== "object") return undefined;
  for (const [name, child] of Object.entries(value)) {
    if (!isPrintable(name)) return "its schema holds a name that is not printable";
    const problem = schemaProblem(child, name);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function shownSchema(value: JsonValue, key = ""): JsonValue {
  if (typeof value === "string") return READ_BY_MODELS.has(key) ? shownText(value) : value;
  if (value === null || typeof value !== "object") return value;
  if (Array.isArray(value)) return value.map((item: JsonValue) => shownSchema(item));
  return Object.fromEntries(Object.entries(value).map(([name, child]) => [name, shownSchema(child, name)]));
}

/**
 * The spellings that every provider accepts, `[A-Za-z0-9_-]`, at most 64 characters: one for each name, in their order. Names
 * that would be spelled alike get a part of their hash at the end.
 */
export function wireNames(names: readonly string[], hashOf: (name: string) => string): readonly string[] {
  const plain = names.map((name) => name.replaceAll(/[^\w-]/g, "_"));
  const counts = new Map<string, number>();
  for (const wire of plain) counts.set(wire, (counts.get(wire) ?? 0) + 1);
  const isOwn = (wire: string): boolean => wire.length <= MAX_WIRE_CHARS && counts.get(wire) === 1;
  const taken = new Set(plain.filter(isOwn));
  return plain.map((wire, index) => {
    if (isOwn(wire)) return wire;
    const hash = hashOf(names[index] ?? "");
    const spelled = HASH_CHARS.map(
      (chars) => `${wire.slice(0, MAX_WIRE_CHARS - chars - 1)}_${hash.slice(0, chars)}`,
    );
    const free = spelled.find((one) => !taken.has(one)) ?? hash;
    taken.add(free);
    return free;
  });
}

/** A tool as an OpenAI function tool. */
export function externalFunctionTool(wireName: string, spec: ExternalToolSpec): FunctionTool {
  const { description, parameters } = spec;
  return {
    type: "function",
    function: { name: wireName, description, parameters: withSpelledNames(parameters) },
  };
}
