import { twoNodePackage } from "./two-node-package.js";
import type { ChatRequestBody, ScriptedAnswer } from "./scripted-model.js";
import { patch } from "./scripted-model.js";
import { nodeOf, step } from "./walk.js";

/** A node as a test writes it: its type, the text of its step file and what else its graph says of it. */
export interface TinyNode {
  readonly type?: string;
  readonly text?: string;
  readonly workflow?: string;
  readonly inputs?: readonly string[];
  /** The variables that its step file sets. */
  readonly sets?: readonly string[];
}

/** A graph: its nodes in their order, each with one way to the next, unless there are edges. */
export interface TinyGraph {
  readonly nodes: Readonly<Record<string, TinyNode>>;
  readonly edges?: readonly (readonly [from: string, to: string])[];
}

/** A package of several workflows, each in a folder of its own. */
export function nestedPackage(workflows: Readonly<Record<string, TinyGraph>>): Record<string, string> {
  const { "agents.json": agents = "" } = twoNodePackage();
  const listed = Object.keys(workflows).map((id) => ({
    id,
    workflow: `${id}/workflow.md`,
    graph: `${id}/graph.json`,
  }));
  const [first] = listed;
  return {
    "agents.json": agents,
    "bmad.json": JSON.stringify({
      schemaVersion: "1.1",
      name: "nested",
      version: "1.0.0",
      entry: { workflow: first?.workflow, graph: first?.graph, agents: "agents.json" },
      workflows: listed,
    }),
    ...Object.assign({}, ...Object.entries(workflows).map(([id, graph]) => filesOf(id, graph))),
  };
}

function filesOf(workflow: string, { nodes, edges }: TinyGraph): Record<string, string> {
  const ids = Object.keys(nodes);
  const inLine = ids.slice(1).map((to, index) => [ids[index], to]);
  const steps = Object.entries(nodes).map(([id, { type = "step", text = `Do ${id}.`, sets = [] }]) => [
    `${workflow}/${id}.md`,
    `---\nschemaVersion: "1.1"\nnodeId: ${id}\ntype: ${type}\nsetsVariables: ${JSON.stringify(sets)}\n---\n${text}\n`,
  ]);
  return {
    ...Object.fromEntries(steps),
    [`${workflow}/workflow.md`]: `---\nschemaVersion: "1.1"\nworkflowType: ${workflow}\ncurrentNodeId: ""\nstepsCompleted: []\n---\nIt is ${workflow}.\n`,
    [`${workflow}/graph.json`]: JSON.stringify({
      schemaVersion: "1.1",
      entryNodeId: ids[0],
      nodes: Object.entries(nodes).map(([id, { type = "step", workflow: runs, inputs = [] }]) => ({
        id,
        type,
        file: `${workflow}/${id}.md`,
        inputs,
        ...(runs === undefined ? {} : { workflow: runs }),
      })),
      edges: (edges ?? inLine).map(([from, to]) => ({ from, to, label: `${from}-${to}` })),
    }),
  };
}

/** A workflow with a part that is a workflow of its own, and a merge behind it. */
export function mergedPackage(): Record<string, string> {
  return nestedPackage({
    main: {
      nodes: {
        plan: {},
        parts: { type: "subworkflow", workflow: "part" },
        both: { type: "merge", text: "" },
        done: { type: "end" },
      },
    },
    part: { nodes: { draft: {}, ready: { type: "end" } } },
  });
}

/** The first way on from where a request stands; at an end, the end. */
export function firstWay(request: ChatRequestBody): ScriptedAnswer {
  const nodeId = nodeOf(request);
  const brief = request.messages.findLast(({ content }) => content?.startsWith("NODE_BRIEF"))?.content ?? "";
  const next = /- allowedNext:\n {2}- (\S+) \(/.exec(brief)?.[1];
  return {
    calls: [next === undefined ? patch({ stepsCompleted: { append: [nodeId] } }) : step(nodeId, next)],
  };
}

/** The nodes that a model was asked at, in order. */
export function nodesAsked(requests: readonly ChatRequestBody[]): readonly string[] {
  return requests.map(nodeOf);
}
