import { type JsonObject, jsonFile } from "../../json.js";
import { renderYaml } from "../../documents/yaml-to-json.js";
import { excerpt } from "../../text.js";
import { type SourceText, withoutMarks } from "../source/source-text.js";

/** A node of the package that is made. */
export interface MadeNode {
  readonly id: string;
  readonly type: "step" | "decision" | "end";
  readonly file: string;
  readonly title: string;
  readonly outputs: readonly string[];
}

export interface MadeEdge {
  readonly from: string;
  readonly to: string;
  readonly label: string;
  readonly conditionText?: string;
  readonly isDefault: boolean;
}

/** Keys of a step's front matter that mean something else in a package; the source's stand under `source_…`. */
const OURS = new Set([
  "schemaVersion",
  "nodeId",
  "type",
  "title",
  "agentId",
  "inputs",
  "outputs",
  "setsVariables",
  "artifactTypes",
  "transitions",
]);

/** A step file: the node's front matter and what of the source's stays, then the body, line for line. */
export function renderStep(node: MadeNode, frontmatter: JsonObject, body: readonly string[]): string {
  const kept = Object.entries(frontmatter).map(
    ([key, value]) => [OURS.has(key) ? `source_${key}` : key, value] as const,
  );
  const head: JsonObject = {
    schemaVersion: "1.1",
    nodeId: node.id,
    type: node.type,
    title: node.title,
    ...(node.outputs.length === 0 ? {} : { outputs: node.outputs }),
    ...Object.fromEntries(kept),
  };
  return `---\n${renderYaml(head)}---\n${body.join("\n")}`;
}

/** The entry document: the run's first state, and the text of the workflow's own document below it. */
export function renderWorkflow(name: string, body: readonly string[]): string {
  const state: JsonObject = {
    schemaVersion: "1.1",
    workflowType: name,
    currentNodeId: "",
    stepsCompleted: [],
    decisionLog: [],
    artifacts: [],
    variables: {},
  };
  return `---\n${renderYaml(state)}---\n${body.join("\n")}`;
}

export function renderGraph(
  entryNodeId: string,
  nodes: readonly MadeNode[],
  edges: readonly MadeEdge[],
): string {
  const graph = {
    schemaVersion: "1.1",
    entryNodeId,
    nodes: nodes.map(({ id, type, file, title, outputs }) => ({
      id,
      type,
      file,
      title,
      ...(outputs.length === 0 ? {} : { outputs }),
    })),
    edges,
  };
  return jsonFile(graph);
}

export function renderManifest(
  name: string,
  version: string,
  description: string,
  wholeRunConversation: boolean,
): string {
  return jsonFile({
    schemaVersion: "1.1",
    name,
    version,
    ...(description === "" ? {} : { description }),
    entry: { workflow: "workflow.md", graph: "workflow.graph.json", agents: "agents.json" },
    ...(wholeRunConversation ? { runtime: { wholeRunConversation } } : {}),
  });
}

/** Where the workflow's own document is. */
const DOCUMENT =
  "The body of @state/workflow.md is the workflow's own document, with its goal and your role. Read it at the first node, greet and set up as it says, and load no step because of it.";
const DOCUMENT_ALONE =
  "The step file of the one node is the workflow's own document, with its goal and your role: greet and set up as it says.";

/** What an agent is told of workflows that were written for an editor. */
const PRINCIPLES = [
  "To load the next step means to finish this node and to set currentNodeId to that step's node. Never read another node's step file.",
  "To halt, to wait, to show a menu or to ask, also by a tool for questions, means to answer in plain text, without a tool call. The run then waits for the user.",
  "[C] goes on to the next step. Any other menu item, such as [A] or [P], is work within this node, after which you show the menu again.",
  "A skill that a step calls lies in @pkg/skills/: read its SKILL.md or workflow.md, do what it says within this node, and come back. Without it, do the same by your own means and say so.",
  "Where a step names a subagent, do its work yourself, one after the other. Where it asks for a command, for git or for the web, say that this run has none and ask for what you need.",
  "Where a step appends to a document, send only its own part: fs.write with append. Write the document as a whole only to change what is there already.",
  "stepsCompleted in a document's own front matter is part of that document. The run's progress is kept in @state/workflow.md alone.",
  "Interlock goes on with interrupted runs by itself: begin afresh, unless the user asks to continue a document that is there.",
  "A {name} that is still in braces is filled by you, from the conversation or from what a step has set. {date} is today's.",
];

const CUSTOMIZED =
  "What a script for customisation or configuration would print was worked out at import: {workflow.name} and {agent.name} are in @pkg/customization.json. Read it instead of running the script.";

const WITH_ARGUMENTS =
  "$ARGUMENTS, {{args}}, $1 and ${input:name} in a text stand for the user's words to this run, all of them, or the one that is meant. Ask for what they leave open and the text gives no other value for.";

/** What an agent has to be told of its package. */
export interface AgentTold {
  /** The document is the only node. */
  readonly isAlone: boolean;
  readonly isCustomized: boolean;
  readonly hasArguments: boolean;
  readonly ofMaterial: readonly string[];
}

/** One agent, made of the words with which the workflow's document describes its role. */
export function renderAgents(
  name: string,
  source: SourceText,
  { isAlone, isCustomized, hasArguments, ofMaterial }: AgentTold,
): string {
  const said = roleOf(source);
  const agent = {
    id: "facilitator",
    metadata: { name: "Facilitator", title: `facilitator of ${name}`, icon: "•" },
    persona: {
      role: said.role || `You lead the user through the workflow ${name}.`,
      identity: said.goal || "An expert in what the workflow is about, and a partner to the user.",
      communication_style: "As the workflow's document says; clear and brief where it says nothing.",
      principles: [
        isAlone ? DOCUMENT_ALONE : DOCUMENT,
        ...PRINCIPLES,
        ...ofMaterial,
        ...(isCustomized ? [CUSTOMIZED] : []),
        ...(hasArguments ? [WITH_ARGUMENTS] : []),
      ],
    },
    tools: { fs: { enabled: true, maxReadBytes: 400_000, maxWriteBytes: 1_000_000 } },
  };
  return jsonFile({ schemaVersion: "1.1", agents: [agent] });
}

function roleOf(source: SourceText): { readonly role: string; readonly goal: string } {
  let role = "";
  let goal = "";
  for (const { text } of source.body.slice(0, 80)) {
    const line = withoutMarks(text.slice(0, 2_000));
    if (role === "" && /^your role:/i.test(line))
      role = excerpt(line.slice("your role:".length).trim(), 1_500);
    if (goal === "" && /^goal:/i.test(line)) goal = excerpt(line.slice("goal:".length).trim(), 1_500);
  }
  return { role, goal };
}

/** The title of a step: its first heading. One that stands in a quotation is read without its mark, and is none of the step's. */
export function titleOf(source: SourceText, otherwise: string): string {
  const last = source.body.at(-1)?.number ?? 0;
  const heading = source.body.find(
    ({ text, isCode, number }) =>
      !isCode && /^#{1,3}\s/.test(text) && source.written.at(number - last - 1)?.startsWith("#") === true,
  );
  return excerpt(withoutMarks(heading?.text ?? ""), 120) || otherwise;
}
