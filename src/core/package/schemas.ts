import { z } from "zod";
import { ArtifactTypeSchema } from "../graph-state/schemas.js";

/**
 * The schemas of package format 1.1 (contracts §2). Closed objects refuse unknown keys, open ones keep them.
 * Descriptions end up in `schemas/*.schema.json`, where editors show them.
 */

const ID_PATTERN = /^[A-Za-z0-9][A-Za-z0-9._:-]*$/;
/** Whether a text is an id: of a node, an agent or a workflow. */
export function isId(text: string): boolean {
  return ID_PATTERN.test(text);
}

/** semver.org: no leading zeros in numbers, not even in those of a pre-release. */
const SEMVER_PATTERN =
  /^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-(0|[1-9]\d*|\d*[A-Za-z-][0-9A-Za-z-]*)(\.(0|[1-9]\d*|\d*[A-Za-z-][0-9A-Za-z-]*))*)?(\+[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?$/;

/** Ids name things in histories, timelines and search attributes, which all have bounds. */
const MAX_ID_CHARS = 200;

const id = z
  .string()
  .regex(ID_PATTERN, "must start with a letter or digit and go on with letters, digits and . _ : -")
  .max(MAX_ID_CHARS, `must have at most ${MAX_ID_CHARS} characters`);
const text = z.string();
const nonEmpty = z.string().min(1);
const json = z.json();
const packagePath = nonEmpty.describe("A path relative to the package's root, with / between names.");
const isoDateTime = z.iso.datetime({ offset: true });
export const schemaVersionSchema = z
  .string()
  .regex(/^1\.1(\.\d+)?$/, 'must be "1.1" or "1.1.<patch>"')
  .describe('The format\'s version: "1.1" or "1.1.<patch>".');
const editorSchema = z.string().optional().describe("Where an editor finds this schema. Not used otherwise.");

export const NODE_TYPES = ["step", "decision", "merge", "end", "subworkflow"] as const;
export const nodeTypeSchema = z.enum(NODE_TYPES);
export type NodeType = z.infer<typeof nodeTypeSchema>;

const manifestWorkflowSchema = z.strictObject({
  id: id.describe("What a run names to choose this workflow."),
  workflow: packagePath,
  graph: packagePath,
  displayName: text.optional(),
  description: text.optional(),
  tags: z.array(text).optional(),
});

export const manifestSchema = z.strictObject({
  $schema: editorSchema,
  schemaVersion: schemaVersionSchema,
  name: nonEmpty,
  version: z
    .string()
    .regex(SEMVER_PATTERN, "must be a SemVer version such as 1.0.0")
    .describe("SemVer, such as 1.0.0."),
  description: text.optional(),
  author: text.optional(),
  createdAt: isoDateTime.optional(),
  entry: z
    .strictObject({
      workflow: packagePath.describe("The entry document, usually workflow.md."),
      graph: packagePath.describe("Its graph, usually workflow.graph.json."),
      agents: packagePath.describe("Personas and tool policy, usually agents.json."),
      assetsDir: packagePath.optional(),
    })
    .describe("The workflow that runs when the package lists no others."),
  workflows: z
    .array(manifestWorkflowSchema)
    .optional()
    .describe("When this is not empty, a run must name one of these ids."),
  runtime: z
    .strictObject({
      minRuntimeVersion: text.optional(),
      requiresNetwork: z.boolean().default(false),
      wholeRunConversation: z
        .boolean()
        .optional()
        .describe(
          "Nodes rely on what was said at earlier ones: runs keep one conversation from beginning to end.",
        ),
    })
    .optional(),
  integrity: z
    .strictObject({
      sha256: z
        .string()
        .regex(/^[0-9A-Fa-f]{64}$/, "must be 64 hex digits")
        .optional()
        .describe("Over all files of the package, with these digits read as zeros."),
    })
    .optional(),
});
export type Manifest = z.infer<typeof manifestSchema>;

const byteLimit = z.int().min(1).optional();

const agentToolsSchema = z.strictObject({
  fs: z
    .strictObject({
      enabled: z.boolean().default(true),
      maxReadBytes: byteLimit.describe("How much one fs.read may return."),
      maxWriteBytes: byteLimit.describe("How much one fs.write may write."),
      edit: z.boolean().default(false).describe("Gives the agent fs.edit, which replaces parts of files."),
    })
    .optional(),
  mcp: z
    .strictObject({
      enabled: z.boolean().default(false).describe("The agent may use tools of MCP servers."),
      allowedServers: z
        .array(text)
        .optional()
        .describe("Which of them, by the names that the operator gives them in the settings."),
    })
    .optional(),
});

export const agentSchema = z.strictObject({
  id,
  metadata: z.strictObject({
    name: text,
    title: text,
    icon: text,
    module: text.optional(),
    description: text.optional(),
    sourceId: text.optional(),
  }),
  persona: z.strictObject({
    role: text,
    identity: text,
    communication_style: text,
    principles: z.union([text, z.array(text).min(1)], "must be a text or a list of at least one text"),
  }),
  critical_actions: z.array(text).optional(),
  prompts: z.array(z.strictObject({ id, content: text, description: text.optional() })).optional(),
  menu: z.array(z.looseObject({ description: text })).optional(),
  systemPrompt: text.optional().describe("Replaces the rendered persona."),
  userPromptTemplate: text.optional(),
  discussion: z.boolean().optional(),
  webskip: z.boolean().optional(),
  conversational_knowledge: z.array(json).optional(),
  tools: agentToolsSchema.optional(),
});
export type Agent = z.infer<typeof agentSchema>;

export const agentsFileSchema = z.strictObject({
  $schema: editorSchema,
  schemaVersion: schemaVersionSchema,
  agents: z.array(agentSchema).min(1),
});
export type AgentsFile = z.infer<typeof agentsFileSchema>;

const graphNodeSchema = z.strictObject({
  id,
  type: nodeTypeSchema,
  file: packagePath.describe("The node's step file."),
  title: text.optional(),
  description: text.optional(),
  agentId: id.optional().describe("An agent of agents.json; without it, the run's active agent works here."),
  inputs: z.array(text).optional(),
  outputs: z.array(text).optional(),
});

const graphEdgeSchema = z.strictObject({
  id: id.optional(),
  from: id,
  to: id,
  label: nonEmpty,
  isDefault: z.boolean().default(false).describe("At most one edge out of a node."),
  conditionText: text.optional().describe("Guidance for the model; not evaluated."),
  conditionExpr: z.record(text, json).optional().describe("JSONLogic over variables and graph state."),
});

export const graphSchema = z.strictObject({
  $schema: editorSchema,
  schemaVersion: schemaVersionSchema,
  entryNodeId: id,
  nodes: z.array(graphNodeSchema).min(1),
  edges: z.array(graphEdgeSchema),
  metadata: z.looseObject({}).optional(),
});
export type GraphFile = z.infer<typeof graphSchema>;

export const stepFrontmatterSchema = z.looseObject({
  schemaVersion: schemaVersionSchema,
  nodeId: id.describe("The id of the node that names this file."),
  type: nodeTypeSchema.describe("The type of the node that names this file."),
  title: text.optional(),
  agentId: id.optional(),
  inputs: z.array(text).optional(),
  outputs: z.array(text).optional(),
  setsVariables: z.array(text).optional(),
  artifactTypes: z
    .record(text, ArtifactTypeSchema)
    .optional()
    .describe("Which artifact of the graph state a file is, by its path in the project."),
  transitions: z
    .array(
      z.looseObject({
        to: id,
        label: nonEmpty,
        isDefault: z.boolean().optional(),
        conditionText: text.optional(),
      }),
    )
    .optional(),
});
export type StepFrontmatter = z.infer<typeof stepFrontmatterSchema>;
