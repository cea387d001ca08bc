import { z } from "zod";
import { type Result, fail, ok } from "../errors.js";
import {
  type ArgumentSpec,
  type FunctionTool,
  type ValueBudget,
  functionTool,
  parseToolArguments,
  wellFormed,
} from "../tools/tool-arguments.js";

/** The tools of a bundle run (contracts §13). Their names are as existing instructions spell them. */
export const BUNDLE_TOOLS = ["read_file", "save_output", "preload_workflow"] as const;
export type BundleToolName = (typeof BUNDLE_TOOLS)[number];

/** Bytes of one text file, read or saved. */
export const MAX_BUNDLE_FILE_BYTES = 1024 * 1024;

const SHORT_ARGUMENTS = 64 * 1024;
/** JSON may spell a byte in several characters. */
const SAVE_ARGUMENTS = 4 * MAX_BUNDLE_FILE_BYTES + SHORT_ARGUMENTS;

const readArguments = z.strictObject({
  file_path: z
    .string()
    .min(1)
    .describe(
      "Begins with {bundle-root}/, {core-root}/, {project-root}/ or {session-folder}/; without one it lies in the session folder.",
    ),
});
const saveArguments = z.strictObject({
  file_path: z.string().min(1).describe("{session-folder}/name, or just the name. Directories are made."),
  content: wellFormed.describe("The whole new content, UTF-8."),
});
const preloadArguments = z.strictObject({
  workflow_path: z.string().min(1).describe("The workflow.yaml, as RUN_DIRECTIVE or a command names it."),
});

/** A call whose arguments have the right shape. */
export type BundleToolCall =
  | { readonly tool: "read_file"; readonly arguments: z.infer<typeof readArguments> }
  | { readonly tool: "save_output"; readonly arguments: z.infer<typeof saveArguments> }
  | { readonly tool: "preload_workflow"; readonly arguments: z.infer<typeof preloadArguments> };

interface BundleToolSpec extends ArgumentSpec {
  readonly name: BundleToolName;
  readonly description: string;
}

const SPECS: readonly BundleToolSpec[] = [
  {
    name: "read_file",
    description: "Read one text file of the bundle, the core, the project or the session folder.",
    maxArgumentChars: SHORT_ARGUMENTS,
    parameters: readArguments,
  },
  {
    name: "save_output",
    description: "Write one whole text file in the session folder, atomically.",
    maxArgumentChars: SAVE_ARGUMENTS,
    parameters: saveArguments,
  },
  {
    name: "preload_workflow",
    description:
      "Load everything a workflow needs at once: its YAML with its variables resolved, config, instructions, template, workflow engine and the workflows it invokes.",
    maxArgumentChars: SHORT_ARGUMENTS,
    parameters: preloadArguments,
  },
];

/** The tools as OpenAI function tools. */
export const BUNDLE_FUNCTION_TOOLS: readonly FunctionTool[] = SPECS.map(({ name, description, parameters }) =>
  functionTool(name, description, parameters),
);

/** Undefined when there is no such tool. */
export function bundleToolName(name: string): BundleToolName | undefined {
  return BUNDLE_TOOLS.find((tool) => tool === name);
}

/**
 * Parses the arguments a model sent. Faults: `TOOL_NOT_AVAILABLE`, `TOOL_ARGS_INVALID_JSON`, `TOOL_ARGS_INVALID` with what
 * was expected; `E_WRITE_LIMIT` for a text that is too long to be looked at.
 */
export function parseBundleCall(
  name: string,
  argumentsJson: string,
  values?: ValueBudget,
): Result<BundleToolCall> {
  const spec = SPECS.find((candidate) => candidate.name === name);
  if (spec === undefined) {
    return fail("TOOL_NOT_AVAILABLE", `There is no such tool. Available: ${BUNDLE_TOOLS.join(", ")}.`);
  }
  const tooLongCode = spec.name === "save_output" ? "E_WRITE_LIMIT" : "TOOL_ARGS_INVALID";
  const parsed = parseToolArguments(spec, argumentsJson, tooLongCode, values);
  if (!parsed.ok) return parsed;
  return ok({ tool: spec.name, arguments: parsed.value } as BundleToolCall); // the spec's schema made it so
}
