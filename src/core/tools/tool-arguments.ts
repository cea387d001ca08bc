import { z } from "zod";
import { type ErrorCode, type Result, fail, ok } from "../errors.js";
import { redactAbsolutePaths } from "../prompt/redact.js";
import { excerpt } from "../text.js";

const MAX_ARGUMENT_DEPTH = 100;
/** As many as a state document holds: of all calls of an answer together, since each costs far more to look at than to say (contracts §16). */
export const MAX_ARGUMENT_VALUES = 50_000;
/** Of what is said about wrong arguments, looked at: it repeats their keys. */
const MAX_ISSUE_CHARS = 1000;

/** How the arguments of one tool are read. */
export interface ArgumentSpec {
  readonly name: string;
  /** Longer argument texts are refused before they are parsed (contracts §16). */
  readonly maxArgumentChars: number;
  readonly parameters: z.ZodType;
}

/** A text that UTF-8 can hold. */
export const wellFormed = z
  .string()
  .refine((text) => text.isWellFormed(), "holds half a surrogate pair: UTF-8 cannot hold it");

/** How many values may still be looked at. */
export interface ValueBudget {
  left: number;
}

/** An OpenAI function tool. */
export interface FunctionTool {
  readonly type: "function";
  readonly function: {
    readonly name: string;
    readonly description: string;
    readonly parameters: Record<string, unknown>;
  };
}

export function functionTool(name: string, description: string, parameters: z.core.$ZodType): FunctionTool {
  const { $schema: _, ...schema } = z.toJSONSchema(parameters, { io: "input" });
  return { type: "function", function: { name, description, parameters: schema } };
}

/**
 * Parses the arguments a model sent for a tool (contracts §7, §9, §16).
 * Faults: `TOOL_ARGS_INVALID_JSON`, `TOOL_ARGS_INVALID` with what was expected; `tooLongCode` for what is too long to be
 * looked at.
 */
export function parseToolArguments(
  spec: ArgumentSpec,
  argumentsJson: string,
  tooLongCode: ErrorCode,
  values: ValueBudget = { left: MAX_ARGUMENT_VALUES },
): Result<unknown> {
  if (argumentsJson.length > spec.maxArgumentChars) {
    const sentence = `The arguments of ${spec.name} are longer than ${spec.maxArgumentChars} characters. Send less at once.`;
    return fail(tooLongCode, sentence);
  }
  const extent = extentOf(argumentsJson);
  if (extent.depth > MAX_ARGUMENT_DEPTH) {
    return fail("TOOL_ARGS_INVALID", `The arguments are nested deeper than ${MAX_ARGUMENT_DEPTH} levels.`);
  }
  if (extent.values > values.left) {
    const sentence = `The arguments of ${spec.name} hold more values than can be looked at, with those of the calls before it. Send less at once, and keep long lists in files.`;
    return fail(tooLongCode, sentence);
  }
  values.left -= extent.values;
  let value: unknown;
  try {
    value = parseArguments(argumentsJson);
  } catch (error) {
    if (error instanceof PrototypeKeyError) {
      return fail("TOOL_ARGS_INVALID", "A key named __proto__ is not allowed.");
    }
    return fail(
      "TOOL_ARGS_INVALID_JSON",
      `The arguments of ${spec.name} are not valid JSON. Send one JSON object.`,
    );
  }
  const parsed = spec.parameters.safeParse(value);
  if (!parsed.success) {
    const errors = parsed.error.issues.slice(0, 10).map((issue) => ({
      path: excerpt(redactAbsolutePaths(issue.path.map(String).join(".").slice(0, MAX_ISSUE_CHARS))),
      message: excerpt(redactAbsolutePaths(issue.message.slice(0, MAX_ISSUE_CHARS)), 200),
    }));
    const first = errors[0];
    const where = first === undefined ? "" : ` ${first.path || "(root)"}: ${first.message}`;
    return fail("TOOL_ARGS_INVALID", `The arguments of ${spec.name} have the wrong shape.${where}`, {
      errors,
      expected: expectedShape(spec, parsed.error.issues[0]?.path ?? []),
    });
  }
  return ok(parsed.data);
}

type JsonSchema = z.core.JSONSchema.BaseSchema;

/** What the arguments hold, and what the object in them holds in which something is wrong. */
function expectedShape(spec: ArgumentSpec, path: readonly PropertyKey[]): string {
  const schema = z.toJSONSchema(spec.parameters, { io: "input" });
  let inner: JsonSchema = schema;
  let depth = 0;
  for (const key of path.map(String)) {
    const below = inner.properties?.[key];
    if (typeof below !== "object" || below.properties === undefined) break;
    inner = below;
    depth += 1;
  }
  const place = path.slice(0, depth).map(String).join(".");
  return [keysOf(schema), ...(depth === 0 ? [] : [`${place}: ${keysOf(inner)}`])].join("; ");
}

function keysOf({ properties = {}, required = [] }: JsonSchema): string {
  return Object.keys(properties)
    .map((key) => (required.includes(key) ? key : `${key}?`))
    .join(", ");
}

class PrototypeKeyError extends Error {}

/** A reviver is slow on large arguments: it runs only where a key may be `__proto__`, escaped or not. */
function parseArguments(text: string): unknown {
  return /__proto__|\\u/.test(text) ? JSON.parse(text, refusePrototypeKey) : JSON.parse(text);
}

function refusePrototypeKey(key: string, value: unknown): unknown {
  if (key === "__proto__") throw new PrototypeKeyError();
  return value;
}

/** The deepest nesting of brackets outside strings: a bound on what a parser would have to recurse into. */
export function nestingDepth(text: string): number {
  return extentOf(text).depth;
}

/** What a JSON text comes to before it is parsed: its deepest nesting, and no fewer values than it holds. */
function extentOf(text: string): { readonly depth: number; readonly values: number } {
  let depth = 0;
  let deepest = 0;
  let values = 1;
  let inString = false;
  for (let index = 0; index < text.length; index += 1) {
    const char = text[index];
    if (inString) {
      if (char === "\\") index += 1;
      else if (char === '"') inString = false;
    } else if (char === '"') inString = true;
    else if (char === ",") values += 1;
    else if (char === "{" || char === "[") {
      values += 1;
      depth += 1;
      if (depth > deepest) deepest = depth;
    } else if (char === "}" || char === "]") depth -= 1;
  }
  return { depth: deepest, values };
}
