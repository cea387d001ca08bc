/** A package of two nodes, `ask` and `finish` (an end), and a third that no edge leads to from `ask`. */
export function twoNodePackage(changes: Record<string, string> = {}): Record<string, string> {
  const agent = (id: string) => ({
    id,
    metadata: { name: id, title: "Tester", icon: "T" },
    persona: { role: "tester", identity: "a test", communication_style: "plain", principles: ["be exact"] },
  });
  const step = (nodeId: string, type: string) =>
    `---\nschemaVersion: "1.1"\nnodeId: ${nodeId}\ntype: ${type}\n---\nDo ${nodeId}.\n`;
  return {
    "bmad.json": JSON.stringify({
      schemaVersion: "1.1",
      name: "two-nodes",
      version: "1.0.0",
      entry: { workflow: "workflow.md", graph: "workflow.graph.json", agents: "agents.json" },
    }),
    "agents.json": JSON.stringify({ schemaVersion: "1.1", agents: [agent("author"), agent("closer")] }),
    "workflow.md":
      '---\nschemaVersion: "1.1"\nworkflowType: two-nodes\ncurrentNodeId: ""\nstepsCompleted: []\n---\nBody, kept.\r\nNo newline at the end',
    "workflow.graph.json": JSON.stringify({
      schemaVersion: "1.1",
      entryNodeId: "ask",
      nodes: [
        { id: "ask", type: "step", file: "steps/ask.md", outputs: ["artifacts/out.md"] },
        { id: "middle", type: "step", file: "steps/middle.md" },
        { id: "finish", type: "end", file: "steps/finish.md", agentId: "closer" },
      ],
      edges: [
        { from: "ask", to: "middle", label: "onwards", isDefault: true },
        {
          from: "middle",
          to: "finish",
          label: "done",
          isDefault: true,
          conditionText: "when all is written",
        },
      ],
    }),
    "steps/ask.md": step("ask", "step"),
    "steps/middle.md": step("middle", "step"),
    "steps/finish.md": step("finish", "end"),
    ...changes,
  };
}

/** The same, with a way back from its second node to its first. */
export function circlePackage(): Record<string, string> {
  const files = twoNodePackage();
  const graph = JSON.parse(files["workflow.graph.json"] ?? "{}") as { edges: readonly object[] };
  const back = { from: "middle", to: "ask", label: "again" };
  return { ...files, "workflow.graph.json": JSON.stringify({ ...graph, edges: [...graph.edges, back] }) };
}
