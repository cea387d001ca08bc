import type { z } from "zod";
import type { JsonObject } from "../../core/json.js";
import type { ToolEffect } from "../../core/tools/external-tool.js";
import { functionTool } from "../../core/tools/tool-arguments.js";
import { canonicalToolName } from "../../core/tools/tool-specs.js";
import { redactAbsolutePaths } from "../../core/prompt/redact.js";
import { excerpt } from "../../core/text.js";
import { type ExternalTool, type ToolCallScope, type ToolSource, WrongArguments } from "./tool-source.js";

/** A tool that a program gives its worker. */
export interface ToolDefinition<Input extends z.ZodObject> {
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
   * Does it. What it returns is for the model: a text as it is, anything else as JSON. What it throws is a failure that the model
   * is told of, by the error's message: put no key into it.
   */
  readonly run: (input: z.output<Input>, scope: ToolCallScope) => unknown;
}

/** A tool that a worker can be given: what `defineTool` returns. */
export interface DefinedTool extends ExternalTool {
  readonly agents?: readonly string[];
}

const DEFAULT_TIMEOUT_MS = 60_000;
const MAX_TIMEOUT_MS = 3_600_000;

/** A tool in code. Throws where its name or its timeout cannot be used. */
export function defineTool<Input extends z.ZodObject>(definition: ToolDefinition<Input>): DefinedTool {
  const { name, description, input, effect, timeoutMs = DEFAULT_TIMEOUT_MS, agents, run } = definition;
  const isOurs = canonicalToolName(name) !== undefined || name.startsWith("mcp.");
  if (!/^[a-z][a-z0-9_]*(?:\.[a-z0-9_]+)*$/.test(name) || name.length > 64 || isOurs) {
    throw new TypeError(
      `The tool "${excerpt(name, 80)}" needs another name: at most 64 characters, words of a-z 0-9 _ with dots between them, not beginning with "mcp.", and none of the engine's own.`,
    );
  }
  if (!Number.isInteger(timeoutMs) || timeoutMs < 1 || timeoutMs > MAX_TIMEOUT_MS) {
    throw new TypeError(`The tool "${name}": timeoutMs must be a whole number from 1 to ${MAX_TIMEOUT_MS}.`);
  }
  return {
    name,
    family: name.slice(0, name.lastIndexOf(".") + 1),
    description,
    parameters: functionTool(name, description, input).function.parameters as JsonObject, // a JSON Schema is JSON
    effect,
    timeoutMs,
    ...(agents === undefined ? {} : { agents }),
    async run(args, scope) {
      const parsed = input.safeParse(args);
      if (!parsed.success) {
        const said = parsed.error.issues.slice(0, 10).map(({ path, message }) => {
          return `${excerpt(path.map(String).join(".")) || "(root)"}: ${excerpt(redactAbsolutePaths(message), 200)}`;
        });
        throw new WrongArguments(said.join("; "));
      }
      const answer = await run(parsed.data, scope);
      return { content: typeof answer === "string" ? answer : (JSON.stringify(answer) ?? "") };
    },
  };
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
