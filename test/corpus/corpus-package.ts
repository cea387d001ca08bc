import { agent } from "../fakes/package-fixture.js";

/** The agents of the corpus: what differs is their tool policy. */
const AGENTS = [
  agent("author"),
  { ...agent("tight"), tools: { fs: { maxReadBytes: 64, maxWriteBytes: 64 } } },
  { ...agent("wide"), tools: { fs: { maxReadBytes: 900_000, maxWriteBytes: 900_000 } } },
  { ...agent("mute"), tools: { fs: { enabled: false } } },
];

const NODES = [
  { id: "ask", type: "step" },
  { id: "middle", type: "decision" },
  { id: "n.1:a_b-c", type: "merge" },
  { id: "gate", type: "step" },
  { id: "finish", type: "end" },
  { id: "island", type: "step" },
] as const;

/** `ask → middle → finish`, a way back, a node with an odd name, a gate with a condition, an island. */
const EDGES = [
  { from: "ask", to: "middle", label: "onwards", isDefault: true },
  { from: "ask", to: "gate", label: "through the gate", conditionExpr: { var: "variables.open" } },
  { from: "middle", to: "finish", label: "done", conditionText: "when all is written" },
  { from: "middle", to: "ask", label: "again" },
  { from: "middle", to: "n.1:a_b-c", label: "aside → »odd«" },
  { from: "n.1:a_b-c", to: "finish", label: "home" },
  { from: "gate", to: "finish", label: "out" },
];

const WORKFLOW = `---
schemaVersion: "1.1"
workflowType: corpus
title: kept as it is
nested: { list: [1, two, null], flag: true }
---
# Corpus\r
\r
A body with both line endings, --- a rule in a line, and no newline at its end:\r
---
end`;

/** A package whose graph has the ways that a guard must tell apart. */
export function corpusPackage(): Record<string, unknown> {
  return {
    "bmad.json": {
      schemaVersion: "1.1",
      name: "corpus",
      version: "1.0.0",
      entry: { workflow: "workflow.md", graph: "workflow.graph.json", agents: "agents.json" },
    },
    "agents.json": { schemaVersion: "1.1", agents: AGENTS },
    "workflow.md": WORKFLOW,
    "workflow.graph.json": {
      schemaVersion: "1.1",
      entryNodeId: "ask",
      nodes: NODES.map(({ id, type }, index) => ({ id, type, file: `steps/${index}.md` })),
      edges: EDGES,
    },
    ...Object.fromEntries(
      NODES.map(({ id, type }, index) => [
        `steps/${index}.md`,
        `---\nschemaVersion: "1.1"\nnodeId: ${JSON.stringify(id)}\ntype: ${type}\n---\nDo ${id}.\n`,
      ]),
    ),
    "assets/template.txt": "a template\r\nwithout a last line end",
    ".hidden.txt": "a hidden file of the package",
  };
}
