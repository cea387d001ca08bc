import { type JsonObject, jsonFile } from "../json.js";
import { CHOICE, END, GATE, MEND, RESULT, type WantedPackage } from "./wanted-package.js";

/** The files of a package by path. Ask `wantedProblem` first. */
export function newPackage(wanted: WantedPackage): ReadonlyMap<string, string> {
  const nodes = planNodes(wanted);
  return new Map([
    ["bmad.json", jsonFile(manifestOf(wanted))],
    [
      "agents.json",
      jsonFile({ schemaVersion: "1.1", agents: wanted.agents.map((id) => agentOf(id, wanted)) }),
    ],
    ["workflow.md", workflowOf(wanted, nodes)],
    ["workflow.graph.json", jsonFile(graphOf(nodes))],
    ...nodes.map((node) => [fileOf(node), stepOf(node)] as const),
    ["tests/walk.yaml", testOf(wanted)],
  ]);
}

/** The stand-in of rehearsals answers: what it has written says so. */
function testOf({ gate }: WantedPackage): string {
  const binding = gate ? "story: story-1\nconditions: true\n" : "";
  return `# Without answers of its own, a stand-in for the model walks the package. Run it with: interlock package test
name: it can be walked to its end
${binding}expect:
  phase: completed
  refusals: []
`;
}

/** A node, with what its step file says. */
interface Planned {
  readonly id: string;
  readonly type: "step" | "decision" | "end";
  readonly agentId: string;
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
  readonly edges: readonly Edge[];
  /** What is to be done, before the outputs are written. */
  readonly task: string;
  /** How the way on is chosen, or the decision is made. */
  readonly choice: readonly string[];
  readonly artifactTypes?: JsonObject;
}

interface Edge {
  readonly to: string;
  readonly label: string;
  readonly isDefault: boolean;
  readonly conditionText?: string;
  readonly conditionExpr?: JsonObject;
}

function planNodes(wanted: WantedPackage): readonly Planned[] {
  const { steps, branch, gate, agents } = wanted;
  const lead = agents.at(-1) ?? "";
  const workers = agents.length === 1 ? agents : agents.slice(0, -1);
  const afterBranch = gate ? GATE : END;
  const afterSteps = branch.length > 0 ? CHOICE : afterBranch;
  const last = artifact(branch.length > 0 ? RESULT : (steps.at(-1) ?? ""));
  const work = (id: string, index: number, before: string | undefined, output: string, to: string) =>
    plan({
      id,
      agentId: workers[index % workers.length] ?? lead,
      inputs: before === undefined ? [] : [before],
      outputs: [output],
      edges: [{ to, label: `${id}-done`, isDefault: true }],
      task: "Say here what this step is for, what it may assume and what its result must have.",
    });
  const made = artifact(steps.at(-1) ?? "");
  return [
    ...steps.map((id, index) => {
      const before = steps[index - 1];
      const from = before === undefined ? undefined : artifact(before);
      return work(id, index, from, artifact(id), steps[index + 1] ?? afterSteps);
    }),
    ...(branch.length > 0 ? [choiceOf(lead, made, branch)] : []),
    ...branch.map((id, index) => work(id, index, made, artifact(RESULT), afterBranch)),
    ...(gate ? gateOf(lead, workers[0] ?? lead, last) : []),
    plan({
      id: END,
      type: "end",
      agentId: lead,
      inputs: [last],
      outputs: [artifact(END)],
      task: "Say here what whoever gets the result is to be told: what was made, what was decided, what is open.",
    }),
  ];
}

function choiceOf(agentId: string, input: string, ways: readonly string[]): Planned {
  return plan({
    id: CHOICE,
    type: "decision",
    agentId,
    inputs: [input],
    edges: ways.map((to, index) => ({
      to,
      label: to,
      isDefault: index === 0,
      conditionText: `Say here when ${to} is the way to go.`,
    })),
    task: "Decide which way to go. Say here what the decision rests on.",
    choice: ways.map((to) => `\`${to}\`: say here when.`),
  });
}

/** The gate, and the step that mends what it has found. The gate is the graph state's, so that runs with a story can bind it. */
function gateOf(lead: string, worker: string, work: string): readonly Planned[] {
  const report = artifact(GATE);
  return [
    plan({
      id: GATE,
      type: "decision",
      agentId: lead,
      inputs: [work],
      outputs: [report],
      artifactTypes: { [report]: "qaGate" },
      edges: [
        {
          to: END,
          label: "released",
          isDefault: true,
          conditionText: "The QA gate is PASS or WAIVED.",
          conditionExpr: { in: [{ var: "gateDecisions.qaGate" }, ["PASS", "WAIVED"]] },
        },
        { to: MEND, label: "sent-back", isDefault: false, conditionText: "The QA gate is FAIL or CONCERNS." },
      ],
      task: "Check the work, and mend nothing here. Say here what it must have to pass, one line for each point.",
      choice: [
        "`PASS`: every point is met. `CONCERNS`: one is met poorly. `FAIL`: one is not met. `WAIVED`: the user said, when asked, that it may go as it is.",
        "Where the run has `state.record`, record the decision in `gateDecisions.qaGate`, with the report as evidence.",
        `\`${END}\` after \`PASS\` or \`WAIVED\`, \`${MEND}\` otherwise. After the third \`FAIL\`, ask the user in plain text.`,
      ],
    }),
    plan({
      id: MEND,
      agentId: worker,
      inputs: [report, work],
      outputs: [work],
      edges: [{ to: GATE, label: "mended", isDefault: true }],
      task: "Mend what the report found, and change nothing else.",
    }),
  ];
}

function plan(node: Pick<Planned, "id" | "agentId" | "task"> & Partial<Planned>): Planned {
  return { type: "step", inputs: [], outputs: [], edges: [], choice: [], ...node };
}

function artifact(id: string): string {
  return `artifacts/${id}.md`;
}

function fileOf({ id }: Planned): string {
  return `steps/${id}.md`;
}

/** `gather-facts` as `Gather facts`. */
function titleOf(id: string): string {
  const words = id.replaceAll(/[-_]+/g, " ").trim();
  return words.slice(0, 1).toUpperCase() + words.slice(1);
}

function manifestOf({ name }: WantedPackage): JsonObject {
  return {
    schemaVersion: "1.1",
    name,
    version: "0.1.0",
    description: "Say here what the package does.",
    entry: { workflow: "workflow.md", graph: "workflow.graph.json", agents: "agents.json" },
  };
}

function agentOf(id: string, { name }: WantedPackage): JsonObject {
  return {
    id,
    metadata: { name: titleOf(id), title: `agent of ${name}`, icon: "•" },
    persona: {
      role: "Say here what this agent does.",
      identity: "Say here who it is: its experience, and whose side it takes.",
      communication_style: "Plain sentences. No praise.",
      principles: ["What the documents do not say is an open question, and no guess."],
    },
    tools: { fs: { enabled: true, maxReadBytes: 60_000, maxWriteBytes: 40_000 } },
  };
}

function graphOf(nodes: readonly Planned[]): JsonObject {
  return {
    schemaVersion: "1.1",
    entryNodeId: nodes[0]?.id ?? "",
    nodes: nodes.map((node) => ({
      id: node.id,
      type: node.type,
      file: fileOf(node),
      title: titleOf(node.id),
      agentId: node.agentId,
      inputs: node.inputs,
      outputs: node.outputs,
    })),
    edges: nodes.flatMap(({ id, edges }) => edges.map((edge) => ({ from: id, ...edge }))),
  };
}

function workflowOf({ name }: WantedPackage, nodes: readonly Planned[]): string {
  const state: JsonObject = {
    schemaVersion: "1.1",
    workflowType: name,
    currentNodeId: "",
    stepsCompleted: [],
    variables: {},
    decisionLog: [],
    artifacts: [],
  };
  const rows = nodes.map(({ id, outputs, edges }) => {
    const ways = edges.map(({ to }) => `\`${to}\``).join(" or ") || "the run completes";
    return `| \`${id}\` | ${outputs.map((path) => `\`${path}\``).join(", ")} | ${ways} |`;
  });
  return [
    ...frontMatter(state),
    "# What this workflow is for",
    "",
    "Say here what the result is, and for whom.",
    "",
    "| node | writes | then |",
    "| --- | --- | --- |",
    ...rows,
    "",
  ].join("\n");
}

function stepOf(node: Planned): string {
  const { id, type, agentId, inputs, outputs, artifactTypes, edges, task, choice } = node;
  const [next] = edges;
  const lines = [
    ...inputs.map((path) => `\`fs.read\` \`@project/${path}\`.`),
    ...outputs.map((path) => `\`fs.write\` \`@project/${path}\`.`),
    ...choice,
  ];
  const onward =
    next === undefined
      ? ". With this the run is complete."
      : edges.length === 1
        ? ` and set \`currentNodeId\` to \`${next.to}\`.`
        : ", set `currentNodeId` to the node you chose, and say why in `decisionLog`.";
  return [
    ...frontMatter({
      schemaVersion: "1.1",
      nodeId: id,
      type,
      title: titleOf(id),
      agentId,
      inputs,
      outputs,
      ...(artifactTypes === undefined ? {} : { artifactTypes }),
    }),
    `# ${titleOf(id)}`,
    "",
    task,
    "",
    ...lines.map((line, index) => `${index + 1}. ${line}`),
    "",
    `Then \`fs.apply_patch\` \`@state/workflow.md\`: append \`${id}\` to \`stepsCompleted\`${onward}`,
    "",
  ].join("\n");
}

/** Each value as JSON, which is YAML too. */
function frontMatter(head: JsonObject): readonly string[] {
  return [
    "---",
    ...Object.entries(head).map(([key, value]) => `${key}: ${JSON.stringify(value)}`),
    "---",
    "",
  ];
}
