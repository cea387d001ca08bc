import { z } from "zod";
import type { JsonObject } from "../../core/json.js";
import { type ToolEffect, checkExternalTool } from "../../core/tools/external-tool.js";
import { functionTool } from "../../core/tools/tool-arguments.js";
import { canonicalToolName } from "../../core/tools/tool-specs.js";
import { redactAbsolutePaths } from "../../core/prompt/redact.js";
import { excerpt } from "../../core/text.js";
import { type ExternalTool, type ToolCallScope, type ToolSource, WrongArguments } from "./tool-source.js";
import { answerText, thrownWords } from "./tool-words.js";

/** An object of any zod 4, the program's own: zod's types tell its minor versions apart. */
export interface ToolInput {
  readonly _zod: { readonly output: unknown; readonly def: { readonly type: "object" } };
}

/** A tool that a program gives its worker. */
export interface ToolDefinition<Input extends ToolInput> {
  /** Words of `a-z 0-9 _`, with dots between them: `tickets.find`. Not `mcp.…`, and none of the engine's own. */
  readonly name: string;
  /** For the model: what it does, and when it is to be used. */
  readonly description: string;
  /** What it takes. What a model sends is parsed with it before `run` is called. */
  readonly input: Input;
  /**
   * `none`: it changes nothing. `idempotent`: twice is once. `once`: it is never run a second time for the same call, whatever
   * happens; where a crash leaves open whether it has taken effect, the model is told so.
   */
  readonly effect: ToolEffect;
  /** The longest wait for one call, in milliseconds. Default 60,000; at most an hour. */
  readonly timeoutMs?: number;
  /** The ids of the agents that have it. Absent: all. */
  readonly agents?: readonly string[];
  /**
   * Does it. What it returns is for the model: a text as it is, anything else as JSON, where a large integer is a text, a map an object
   * and a set a list; of what cannot be JSON the model is told that the tool has run. What it throws is a failure that the model is
   * told of, by the error's message: put no key into it. What blocks the process blocks its worker: no time is over for it.
   */
  readonly run: (input: Input["_zod"]["output"], scope: ToolCallScope) => unknown;
}

/** A tool that a worker can be given: what `defineTool` returns. */
export interface DefinedTool extends ExternalTool {
  readonly agents?: readonly string[];
}

const EFFECTS: readonly ToolEffect[] = ["none", "idempotent", "once"];
const DEFAULT_TIMEOUT_MS = 60_000;
const MAX_TIMEOUT_MS = 3_600_000;

/** A tool in code. Throws a `TypeError` that says what is wrong with its definition: its name, its input's schema, its timeout. */
export function defineTool<Input extends ToolInput>(definition: ToolDefinition<Input>): DefinedTool {
  const { name, description, effect, timeoutMs = DEFAULT_TIMEOUT_MS, agents, run } = definition;
  if (typeof name !== "string")
    throw new TypeError(`The tool ${excerpt(String(name), 80)} needs another name: a text.`);
  const isOurs = canonicalToolName(name) !== undefined || name.startsWith("mcp.");
  if (!/^[a-z][a-z0-9_]*(?:\.[a-z0-9_]+)*$/.test(name) || name.length > 64 || isOurs) {
    throw new TypeError(
      `The tool "${excerpt(name, 80)}" needs another name: at most 64 characters, words of a-z 0-9 _ with dots between them, not beginning with "mcp.", and none of the engine's own.`,
    );
  }
  if (!Number.isInteger(timeoutMs) || timeoutMs < 1 || timeoutMs > MAX_TIMEOUT_MS) {
    throw new TypeError(`The tool "${name}": timeoutMs must be a whole number from 1 to ${MAX_TIMEOUT_MS}.`);
  }
  const wrong = wrongPart(definition);
  if (wrong !== undefined) throw new TypeError(`The tool "${name}": ${wrong}.`);
  const input = definition.input as object as z.core.$ZodObject; // as wrongPart has seen
  const parameters = schemaOf(name, description, input);
  const checked = checkExternalTool({ name, description, parameters, effect, timeoutMs });
  if (!checked.ok) throw new TypeError(checked.error.message);
  return {
    name,
    family: name.slice(0, name.lastIndexOf(".") + 1),
    description,
    parameters,
    effect,
    timeoutMs,
    ...(agents === undefined ? {} : { agents }),
    async run(args, scope) {
      // Its own copy: what a tool changes in its input must not be there when the call is made again.
      const parsed = await z.safeParseAsync(input, structuredClone(args));
      if (!parsed.success) {
        const said = parsed.error.issues.slice(0, 10).map(({ path, message }) => {
          return `${excerpt(path.map(String).join(".")) || "(root)"}: ${excerpt(redactAbsolutePaths(message), 200)}`;
        });
        throw new WrongArguments(said.join("; "));
      }
      const answer = await run(parsed.data, scope);
      return { content: answerText(answer) };
    },
  };
}

/** What a program without types may have got wrong. */
function wrongPart<Input extends ToolInput>({
  description,
  input,
  effect,
  agents,
  run,
}: ToolDefinition<Input>): string | undefined {
  if (typeof description !== "string") return "description must be a text";
  if (!(input instanceof z.core.$ZodObject))
    return `input must be an object of zod 4, such as z.strictObject({ … })${isOfZod3(input) ? '; this one is of zod 3: take z from "zod/v4", or install zod 4' : ""}`;
  if (!EFFECTS.includes(effect)) return 'effect must be "none", "idempotent" or "once"';
  if (typeof run !== "function") return "run must be a function";
  const isList =
    agents === undefined || (Array.isArray(agents) && agents.every((id) => typeof id === "string"));
  return isList ? undefined : "agents must be a list of ids";
}

function isOfZod3(input: unknown): boolean {
  return typeof input === "object" && input !== null && "_def" in input && !("_zod" in input);
}

function schemaOf(name: string, description: string, input: z.core.$ZodObject): JsonObject {
  try {
    return functionTool(name, description, input).function.parameters as JsonObject; // a JSON Schema is JSON
  } catch (error) {
    const words = excerpt(thrownWords(error), 200);
    throw new TypeError(`The tool "${name}": its input cannot be shown to a model: ${words}`, {
      cause: error,
    });
  }
}

/** The tools of a program as a source. Throws where two have one name. */
export function toolsInCode(tools: readonly DefinedTool[]): ToolSource {
  const names = tools.map(({ name }) => name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw new TypeError(`Two tools are called "${twice}". Rename one.`);
  return {
    tools: ({ agentId }) =>
      Promise.resolve(tools.filter(({ agents }) => agents === undefined || agents.includes(agentId))),
    close: () => Promise.resolve(),
  };
}
