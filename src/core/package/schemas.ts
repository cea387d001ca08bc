import { z } from "zod";
import { ArtifactTypeSchema } from "../graph-state/schemas.js";
import { STEP_SIZES } from "../step-size.js";

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

const NODE_TYPES = ["step", "decision", "merge", "end", "subworkflow"] as const;
const nodeTypeSchema = z.enum(NODE_TYPES);
export type NodeType = z.infer<typeof nodeTypeSchema>;

const manifestWorkflowSchema = z.strictObject({
  id: id.describe("What a run names to choose this workflow."),
  workflow: packagePath.describe("Its entry document, a workflow.md."),
  graph: packagePath.describe("Its graph, a workflow.graph.json."),
  displayName: text.optional().describe("Its name for people."),
  description: text.optional().describe("What it is for."),
  tags: z.array(text).optional().describe("Words to find it by. Not used otherwise."),
});

export const manifestSchema = z.strictObject({
  $schema: editorSchema,
  schemaVersion: schemaVersionSchema,
  name: nonEmpty.describe("The package's name, the first part of its id."),
  version: z
    .string()
    .regex(SEMVER_PATTERN, "must be a SemVer version such as 1.0.0")
    .describe("SemVer, such as 1.0.0."),
  description: text.optional().describe("What the package does, in a sentence."),
  author: text.optional().describe("Who made it. Not used otherwise."),
  createdAt: isoDateTime
    .optional()
    .describe("When it was made, such as 2026-01-31T09:30:00Z. Not used otherwise."),
  entry: z
    .strictObject({
      workflow: packagePath.describe("The entry document, usually workflow.md."),
      graph: packagePath.describe("Its graph, usually workflow.graph.json."),
      agents: packagePath.describe("Personas and tool policy, usually agents.json."),
      assetsDir: packagePath.optional().describe("The folder with templates and checklists, usually assets."),
    })
    .describe("The workflow that runs when the package lists no others."),
  workflows: z
    .array(manifestWorkflowSchema)
    .optional()
    .describe("When this is not empty, a run must name one of these ids."),
  runtime: z
    .strictObject({
      minRuntimeVersion: text
        .optional()
        .describe("The runtime it was made for. Kept, and not compared with anything."),
      requiresNetwork: z.boolean().default(false).describe("Kept, and not used: it grants nothing."),
      wholeRunConversation: z
        .boolean()
        .optional()
        .describe(
          "Nodes rely on what was said at earlier ones: runs keep one conversation from beginning to end.",
        ),
      steps: z
        .enum(STEP_SIZES)
        .optional()
        .describe("nodes: models answer within a second, and a node's work is one step of a run's history."),
    })
    .optional()
    .describe("What the package expects of what runs it."),
  integrity: z
    .strictObject({
      sha256: z
        .string()
        .regex(/^[0-9A-Fa-f]{64}$/, "must be 64 hex digits")
        .optional()
        .describe("Over all files of the package, with these digits read as zeros."),
    })
    .optional()
    .describe("A digest of the content; check warns where it does not match."),
});
export type Manifest = z.infer<typeof manifestSchema>;

const byteLimit = z.int().min(1).optional();

const agentToolsSchema = z.strictObject({
  fs: z
    .strictObject({
      enabled: z.boolean().default(true).describe("The agent has the file tools."),
      maxReadBytes: byteLimit.describe(
        "How much one fs.read may return, in bytes; more than 1,000,000 counts as that.",
      ),
      maxWriteBytes: byteLimit.describe(
        "How much one fs.write may write, in bytes; more than 4,000,000 counts as that.",
      ),
      edit: z.boolean().default(false).describe("Gives the agent fs.edit, which replaces parts of files."),
    })
    .optional()
    .describe("The file tools, and how much one call may move."),
  mcp: z
    .strictObject({
      enabled: z.boolean().default(false).describe("The agent may use tools of MCP servers."),
      allowedServers: z
        .array(text)
        .optional()
        .describe("Which of them, by the names that the operator gives them in the settings."),
    })
    .optional()
    .describe("Tools of MCP servers; the operator must allow them as well."),
});

export const agentSchema = z.strictObject({
  id: id.describe("What nodes and runs name the agent by."),
  metadata: z
    .strictObject({
      name: text.describe("The agent's name, as the model and people see it."),
      title: text.describe("What the agent is, in a few words; the model sees it behind the name."),
      icon: text.describe("A character or two. Not shown to the model."),
      module: text.optional().describe("The module it comes from. Not used otherwise."),
      description: text.optional().describe("What it is for. Not shown to the model."),
      sourceId: text.optional().describe("Its id where it was taken from. Not used otherwise."),
    })
    .describe("Who the agent is."),
  persona: z
    .strictObject({
      role: text.describe("What the agent does."),
      identity: text.describe("Who it is: experience, point of view."),
      communication_style: text.describe("How it writes."),
      principles: z
        .union([text, z.array(text).min(1)], "must be a text or a list of at least one text")
        .describe("What it holds to, one sentence each."),
    })
    .describe("Rendered into the system prompt at each node where the agent works."),
  critical_actions: z
    .array(text)
    .optional()
    .describe("What it must always do; the model sees them below the persona."),
  prompts: z
    .array(
      z.strictObject({
        id: id.describe("The prompt's name."),
        content: text.describe("Its text."),
        description: text.optional().describe("What it is for."),
      }),
    )
    .optional()
    .describe("Prompts of the agent in its original form. Kept, and not shown to the model."),
  menu: z
    .array(z.looseObject({ description: text.describe("What the item does.") }))
    .optional()
    .describe("The agent's menu in its original form. Kept, and not shown to the model."),
  systemPrompt: text.optional().describe("Replaces the rendered persona."),
  userPromptTemplate: text.optional().describe("Kept, and not used."),
  discussion: z.boolean().optional().describe("Kept, and not used."),
  webskip: z.boolean().optional().describe("Kept, and not used."),
  conversational_knowledge: z.array(json).optional().describe("Kept, and not used."),
  tools: agentToolsSchema.optional().describe("Which tools the agent has; without it, the file tools."),
});
export type Agent = z.infer<typeof agentSchema>;

export const agentsFileSchema = z.strictObject({
  $schema: editorSchema,
  schemaVersion: schemaVersionSchema,
  agents: z
    .array(agentSchema)
    .min(1)
    .describe("The first one works at nodes that name none, unless a run says otherwise."),
});
export type AgentsFile = z.infer<typeof agentsFileSchema>;

const graphNodeSchema = z.strictObject({
  id: id.describe("What edges and the state document name the node by."),
  type: nodeTypeSchema.describe(
    "step: work; decision: work with several ways on; end: the run completes here; merge: ways come together, and with an empty step file no model is asked; subworkflow: runs the workflow that it names, else as step.",
  ),
  file: packagePath.describe("The node's step file."),
  title: text.optional().describe("Its name for people."),
  description: text.optional().describe("What happens here, for readers. The model reads the step file."),
  agentId: id.optional().describe("An agent of agents.json; without it, the run's active agent works here."),
  inputs: z
    .array(text)
    .optional()
    .describe(
      "Files of the project that the node reads; of a subworkflow also variables.<name>: variables that its run begins with.",
    ),
  outputs: z
    .array(text)
    .optional()
    .describe("Files of the project that the node writes, usually in artifacts/."),
  workflow: id
    .optional()
    .describe("Of a subworkflow: the workflow of bmad.json that it runs, as a run of its own."),
});

const graphEdgeSchema = z.strictObject({
  id: id.optional().describe("A name for the edge. Not used otherwise."),
  from: id.describe("The node it leads out of."),
  to: id.describe("The node it leads to."),
  label: nonEmpty.describe("What has happened when it is taken; the model sees it."),
  isDefault: z.boolean().default(false).describe("At most one edge out of a node."),
  conditionText: text.optional().describe("Guidance for the model; not evaluated."),
  conditionExpr: z.record(text, json).optional().describe("JSONLogic over variables and graph state."),
});

export const graphSchema = z.strictObject({
  $schema: editorSchema,
  schemaVersion: schemaVersionSchema,
  entryNodeId: id.describe("The node where runs begin."),
  nodes: z.array(graphNodeSchema).min(1).describe("What is done, a step file each."),
  edges: z.array(graphEdgeSchema).describe("The legal transitions: a run can take no others."),
  metadata: z.looseObject({}).optional().describe("For editors, such as a layout. Not used otherwise."),
});
export type GraphFile = z.infer<typeof graphSchema>;

export const stepFrontmatterSchema = z.looseObject({
  schemaVersion: schemaVersionSchema,
  nodeId: id.describe("The id of the node that names this file."),
  type: nodeTypeSchema.describe("The type of the node that names this file."),
  title: text.optional().describe("As in the graph."),
  agentId: id.optional().describe("As in the graph, which decides."),
  inputs: z.array(text).optional().describe("As in the graph."),
  outputs: z.array(text).optional().describe("As in the graph."),
  setsVariables: z
    .array(text)
    .optional()
    .describe(
      "Variables of the state document that the step sets; of a subworkflow those that its run hands up.",
    ),
  artifactTypes: z
    .record(text, ArtifactTypeSchema)
    .optional()
    .describe("Which artifact of the graph state a file is, by its path in the project."),
  transitions: z
    .array(
      z.looseObject({
        to: id.describe("The node it leads to."),
        label: nonEmpty.describe("The edge's label."),
        isDefault: z.boolean().optional().describe("As of the edge."),
        conditionText: text.optional().describe("As of the edge."),
      }),
    )
    .optional()
    .describe("A copy of the edges out of the node, for readers: the graph alone is the authority."),
});
export type StepFrontmatter = z.infer<typeof stepFrontmatterSchema>;
