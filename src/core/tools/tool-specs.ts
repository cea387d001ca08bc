import { z } from "zod";
import { HOST_MAX_WRITE_BYTES } from "../run/limits.js";
import { type Result, fail, ok } from "../errors.js";
import { StateRecordSchema } from "../graph-state/record.js";
import type { JsonObject } from "../json.js";
import { isStateDocument, parseAliasPath } from "./alias-path.js";
import {
  type ArgumentSpec,
  type FunctionTool,
  type ValueBudget,
  functionTool,
  parseToolArguments,
  wellFormed,
} from "./tool-arguments.js";

/** The canonical names of the five file tools (contracts §7). */
export const FILE_TOOLS = ["fs.list", "fs.read", "fs.search", "fs.write", "fs.apply_patch"] as const;
export type FileToolName = (typeof FILE_TOOLS)[number];

/** The file tool that an agent has besides where its policy says so: it replaces a part of a file. */
export const EDIT_TOOL = "fs.edit";
/** The tool that runs with a story have besides: it changes their graph state (contracts §12). */
export const STATE_TOOL = "state.record";
export type ToolName = FileToolName | typeof EDIT_TOOL | typeof STATE_TOOL;
const TOOLS: readonly ToolName[] = [...FILE_TOOLS, EDIT_TOOL, STATE_TOOL];

const aliasPath = z
  .string()
  .describe("A path on a mount: @project/…, @pkg/… or @state/…. Absolute paths and .. are refused.");
/** Any text: one that is no hash matches no file, which is a failed precondition and no wrong shape. */
const sha256 = z
  .string()
  .max(200)
  .toLowerCase()
  .describe("Only write if the file's current content has this SHA-256 (hex).");
const line = z.int().min(1);

const listArguments = z.strictObject({ path: aliasPath });
const readArguments = z.strictObject({
  path: aliasPath,
  startLine: line.optional().describe("First line to return, 1-based."),
  endLine: line.optional().describe("Last line to return, inclusive."),
});
const searchArguments = z.strictObject({
  path: aliasPath.describe("A directory to walk, or one file."),
  pattern: z
    .string()
    .min(1)
    .max(1000)
    .describe("A plain substring, or /expression/flags for a regular expression (RE2 syntax)."),
  before: z.int().min(0).max(20).optional().describe("Lines of context before a match. Default 1."),
  after: z.int().min(0).max(20).optional().describe("Lines of context after a match. Default 1."),
  maxMatches: z.int().min(1).max(500).optional().describe("Default 50."),
});
const writeArguments = z.strictObject({
  path: aliasPath,
  content: wellFormed.describe(
    "The whole new content, UTF-8; with append, what is to follow the content that is there.",
  ),
  ifMatchSha256: sha256.optional(),
  append: z
    .boolean()
    .optional()
    .describe(
      "Add the content to the end of the file instead of replacing it. A file that is not there is made.",
    ),
});

const editArguments = z.strictObject({
  path: aliasPath,
  oldText: wellFormed
    .min(1)
    .describe("The text that is there now, to the character, with enough around it to be found once."),
  newText: wellFormed.describe("What takes its place."),
  replaceAll: z.boolean().optional().describe("Replace each of several places. Default: one, or none."),
  ifMatchSha256: sha256.optional(),
});

const SHORT_ARGUMENTS = 64 * 1024;
/** Front matter has at most 128 KiB; JSON may spell each of its bytes in several characters. */
const PATCH_ARGUMENTS = 512 * 1024;
const WRITE_ARGUMENTS = 2 * HOST_MAX_WRITE_BYTES + SHORT_ARGUMENTS;

/** The one patch operation: a change of the state document's frontmatter. */
const frontmatterUpdateSchema = z.strictObject({
  stepsCompleted: z.strictObject({ append: z.array(z.string()) }).optional(),
  artifacts: z.strictObject({ append: z.array(z.string()) }).optional(),
  decisionLog: z
    .strictObject({
      append: z.array(
        z.strictObject({
          from: z.string(),
          to: z.string(),
          label: z.string(),
          reason: z.string().optional(),
          decidedAt: z.string().optional(),
        }),
      ),
    })
    .optional(),
  variables: z.strictObject({ set: z.record(z.string(), z.json()) }).optional(),
  currentNodeId: z.strictObject({ set: z.string() }).optional(),
  updatedAt: z.strictObject({ set: z.string() }).optional(),
});
export type FrontmatterUpdate = z.infer<typeof frontmatterUpdateSchema>;

const patchArguments = z.strictObject({
  path: aliasPath.describe("Always @state/workflow.md."),
  patch: z.strictObject({
    operation: z.literal("updateFrontmatter"),
    update: frontmatterUpdateSchema.refine(
      (update) => Object.keys(update).length > 0,
      "The update is empty.",
    ),
    ifMatchSha256: sha256.optional(),
  }),
});

export type ListArguments = z.infer<typeof listArguments>;
export type ReadArguments = z.infer<typeof readArguments>;
export type SearchArguments = z.infer<typeof searchArguments>;
export type WriteArguments = z.infer<typeof writeArguments>;
export type EditArguments = z.infer<typeof editArguments>;
export type PatchArguments = z.infer<typeof patchArguments>;

/** A call whose arguments have the right shape. */
export type ToolCall =
  | { readonly tool: "fs.list"; readonly arguments: ListArguments }
  | { readonly tool: "fs.read"; readonly arguments: ReadArguments }
  | { readonly tool: "fs.search"; readonly arguments: SearchArguments }
  | { readonly tool: "fs.write"; readonly arguments: WriteArguments }
  | { readonly tool: typeof EDIT_TOOL; readonly arguments: EditArguments }
  | { readonly tool: "fs.apply_patch"; readonly arguments: PatchArguments }
  /** What is recorded is judged against the state it is merged into, not here. */
  | { readonly tool: typeof STATE_TOOL; readonly arguments: JsonObject };

interface ToolSpec extends ArgumentSpec {
  readonly name: ToolName;
  readonly description: string;
}

const FILE_SPECS: readonly ToolSpec[] = [
  {
    name: "fs.list",
    description: "List the direct children of a directory. Directories end in /.",
    maxArgumentChars: SHORT_ARGUMENTS,
    parameters: listArguments,
  },
  {
    name: "fs.read",
    description: "Read a text file, whole or a window of lines. Returns its size and SHA-256.",
    maxArgumentChars: SHORT_ARGUMENTS,
    parameters: readArguments,
  },
  {
    name: "fs.search",
    description: "Search a directory tree or a file for a text or a regular expression.",
    maxArgumentChars: SHORT_ARGUMENTS,
    parameters: searchArguments,
  },
  {
    name: "fs.write",
    description: "Write a whole text file, or append to one, atomically. Missing directories are made.",
    maxArgumentChars: WRITE_ARGUMENTS,
    parameters: writeArguments,
  },
  {
    name: "fs.apply_patch",
    description:
      "Update the frontmatter of @state/workflow.md: finish a step, set variables, log a decision, move to the next node.",
    maxArgumentChars: PATCH_ARGUMENTS,
    parameters: patchArguments,
  },
];

const EDIT_SPEC: ToolSpec = {
  name: EDIT_TOOL,
  description:
    "Replace a text in a file by another, atomically. The old text has to be there exactly once, unless replaceAll is true.",
  maxArgumentChars: WRITE_ARGUMENTS,
  parameters: editArguments,
};

const STATE_SPEC: ToolSpec = {
  name: STATE_TOOL,
  description:
    "Record what this node decided in the story's graph state: gate decisions, evidence, artifact paths, routing flags. Conditions of edges may depend on them.",
  maxArgumentChars: SHORT_ARGUMENTS,
  parameters: z.record(z.string(), z.json()),
};

const SPECS = [...FILE_SPECS, EDIT_SPEC, STATE_SPEC];

/** The file tools as OpenAI function tools; the wire name has `_` where the canonical one has `.`. */
export const FILE_FUNCTION_TOOLS: readonly FunctionTool[] = FILE_SPECS.map((spec) =>
  functionTool(wireToolName(spec.name), spec.description, spec.parameters),
);

/** `fs.edit` as an OpenAI function tool. */
export const EDIT_FUNCTION_TOOL: FunctionTool = functionTool(
  wireToolName(EDIT_TOOL),
  EDIT_SPEC.description,
  EDIT_SPEC.parameters,
);

/** `state.record` as an OpenAI function tool. The model is shown what a record may hold; its merging checks that. */
export const STATE_FUNCTION_TOOL: FunctionTool = functionTool(
  wireToolName(STATE_TOOL),
  STATE_SPEC.description,
  StateRecordSchema,
);

/** The spelling that every provider accepts: `[A-Za-z0-9_-]` only. */
export function wireToolName(name: ToolName): string {
  return name.replace(".", "_");
}

/** Understands a tool name in its canonical or its wire spelling; undefined when there is no such tool. */
export function canonicalToolName(name: string): ToolName | undefined {
  return TOOLS.find((tool) => tool === name || wireToolName(tool) === name);
}

/** The tools whose arguments may be long. */
const WRITES: ReadonlySet<ToolName> = new Set(["fs.write", EDIT_TOOL, "fs.apply_patch"]);

function isOfState(path: string): boolean {
  const parsed = parseAliasPath(path);
  return parsed.ok && isStateDocument(parsed.value);
}

/**
 * Parses the arguments a model sent for a tool (contracts §7, §9, §16).
 * Faults: `TOOL_NOT_AVAILABLE`, `TOOL_ARGS_INVALID_JSON`, `TOOL_ARGS_INVALID` with what was expected;
 * `E_WRITE_LIMIT` for a write that is too long to be looked at. `values` is what the calls of an answer share.
 */
export function parseToolCall(name: string, argumentsJson: string, values?: ValueBudget): Result<ToolCall> {
  const tool = canonicalToolName(name);
  const spec = SPECS.find((candidate) => candidate.name === tool);
  if (spec === undefined) {
    return fail(
      "TOOL_NOT_AVAILABLE",
      `There is no such tool. Available: ${FILE_TOOLS.join(", ")}, and the others that you were offered.`,
    );
  }
  const tooLongCode = WRITES.has(spec.name) ? "E_WRITE_LIMIT" : "TOOL_ARGS_INVALID";
  const parsed = parseToolArguments(spec, argumentsJson, tooLongCode, values);
  if (!parsed.ok) return parsed;
  const call = { tool: spec.name, arguments: parsed.value } as ToolCall; // the spec's schema made it so
  const isPart = call.tool === EDIT_TOOL || (call.tool === "fs.write" && call.arguments.append === true);
  if (isPart && isOfState(call.arguments.path)) {
    const how = call.tool === EDIT_TOOL ? "edited" : "appended to";
    return fail("TOOL_ARGS_INVALID", `@state/workflow.md is never ${how}: change it with fs.apply_patch.`);
  }
  return ok(call);
}
