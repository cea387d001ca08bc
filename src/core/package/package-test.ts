import { z } from "zod";
import { RUN_PHASES } from "../run/phase.js";
import { sha256Schema } from "../sha256.js";

/**
 * A test of a package: `tests/*.yaml` (docs/testing-packages.md). Descriptions end up in `schemas/package-test.schema.json`.
 */

/** Where a package has its tests. */
export const TESTS_FOLDER = "tests";

const text = z.string();
const nonEmpty = z.string().min(1);
const projectPath = nonEmpty.describe("A path relative to the project, such as artifacts/story.md.");

const callSchema = z.strictObject({
  tool: nonEmpty.describe("The tool's name, such as fs.write."),
  arguments: z
    .union([z.record(z.string(), z.json()), z.string()], "must be an object, or a text that is sent as it is")
    .default({})
    .describe("What it is called with; a text is sent as it is, for arguments that are no JSON."),
});

const answerSchema = z.strictObject({
  text: text.optional().describe("What the model says. Without calls it is a question to the user."),
  calls: z.array(callSchema).optional().describe("The tools that it calls."),
});
const answersSchema = z.array(answerSchema).max(10_000);

const toolAnswerSchema = z.strictObject({
  arguments: z
    .record(z.string(), z.json())
    .optional()
    .describe("What a call's arguments must have to be answered so; without it, any call is."),
  result: z
    .json()
    .optional()
    .describe("What the tool answers, where it does not fail: a text as it is, anything else as JSON."),
  error: nonEmpty.optional().describe("What the tool says of why it has failed."),
  wrongArguments: nonEmpty
    .optional()
    .describe("What a tool in code says of arguments that it does not take: the call is refused."),
});

const artifactSchema = z.strictObject({
  path: projectPath,
  contains: z
    .union([nonEmpty, z.array(nonEmpty)], "must be a text or a list of texts")
    .optional()
    .describe("A text that it holds, or several."),
  matches: nonEmpty.max(1_000).optional().describe("A regular expression (RE2) that is found in it."),
  sha256: sha256Schema.optional().describe("The SHA-256 of its bytes."),
});

const expectSchema = z.strictObject({
  phase: z.enum(RUN_PHASES).default("completed").describe("Where the run ends."),
  path: z.array(nonEmpty).optional().describe("The nodes that it enters, in order, the last one included."),
  artifacts: z.array(artifactSchema).optional().describe("Files that it leaves. It may leave others, too."),
  refusals: z
    .array(nonEmpty)
    .optional()
    .describe("The codes of all tool calls that are refused, in order; [] for none."),
  questions: z
    .array(text)
    .optional()
    .describe("All that the run asks its user, in order; each is a text that the question holds."),
});

export const packageTestSchema = z.strictObject({
  $schema: text.optional().describe("Where an editor finds this schema. Not used otherwise."),
  name: nonEmpty.max(200).optional().describe("What the test is called; without it, as its file."),
  workflow: nonEmpty.optional().describe("Which workflow of the package; without it, its entry."),
  agent: nonEmpty.optional().describe("The agent for nodes that name none; without it, the first one."),
  input: nonEmpty.optional().describe("The user's first words."),
  story: nonEmpty.optional().describe("The story that the run carries, such as wrkf-1010."),
  conditions: z.boolean().optional().describe("Whether conditionExpr of edges is binding."),
  autopilot: z.boolean().optional().describe("Tell agents to decide what they can without asking."),
  wholeRunConversation: z
    .boolean()
    .optional()
    .describe("Whether nodes see what was said at earlier ones; without it, as the package says."),
  project: nonEmpty
    .optional()
    .describe("A folder in tests/ that is copied: the project at the beginning. Without it, an empty one."),
  files: z
    .record(projectPath, z.string())
    .optional()
    .describe("Files of the project at the beginning, by path, with their texts."),
  answers: z
    .union(
      [answersSchema, z.record(nonEmpty, answersSchema)],
      "must be a list of answers, or for each node its own",
    )
    .optional()
    .describe(
      "What the model answers: a list for the whole run, or for each node its own. Without it, the stand-in of rehearsals answers.",
    ),
  tools: z
    .record(nonEmpty, z.array(toolAnswerSchema).min(1).max(10_000))
    .optional()
    .describe(
      "What tools of MCP servers, such as mcp.tickets.find, and tools in code answer, by their names: a call takes the first answer that fits.",
    ),
  replies: z.array(nonEmpty).optional().describe("What the user answers to the run's questions, in order."),
  expect: expectSchema
    .default({ phase: "completed" })
    .describe("What is to come of it; without it, a run that completes."),
});

/** A test as its file has it. */
export type PackageTest = z.infer<typeof packageTestSchema>;
export type ScriptedAnswer = z.infer<typeof answerSchema>;
export type ScriptedCall = z.infer<typeof callSchema>;
export type ToolAnswer = z.infer<typeof toolAnswerSchema>;
export type ExpectedArtifact = z.infer<typeof artifactSchema>;
