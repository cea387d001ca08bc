import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";

const STEP_FILE_BYTES = 2_048;

/** Writes a package whose graph is one line of nodes; each has a step file of 2 KB and one artifact to write. */
export async function writeWalkPackage(dir: string, nodeCount: number): Promise<void> {
  const ids = Array.from({ length: nodeCount }, (_, index) => `node-${String(index + 1).padStart(3, "0")}`);
  const typeOf = (id: string) => (id === ids.at(-1) ? "end" : "step");
  const files: Record<string, unknown> = {
    "bmad.json": {
      schemaVersion: "1.1",
      name: `Walk of ${nodeCount} nodes`,
      version: "1.0.0",
      entry: { workflow: "workflow.md", graph: "workflow.graph.json", agents: "agents.json" },
    },
    "agents.json": { schemaVersion: "1.1", agents: [WALKER] },
    "workflow.md": `---\nschemaVersion: "1.1"\nworkflowType: walk\n---\n# Walk\n`,
    "workflow.graph.json": {
      schemaVersion: "1.1",
      entryNodeId: ids[0],
      nodes: ids.map((id) => ({
        id,
        type: typeOf(id),
        file: `steps/${id}.md`,
        outputs: [`artifacts/${id}.md`],
      })),
      edges: ids.slice(1).map((id, index) => ({ from: ids[index], to: id, label: "next", isDefault: true })),
    },
  };
  for (const id of ids) files[`steps/${id}.md`] = stepFile(id, typeOf(id));
  await mkdir(join(dir, "steps"), { recursive: true });
  for (const [path, content] of Object.entries(files)) {
    await writeFile(join(dir, path), typeof content === "string" ? content : JSON.stringify(content));
  }
}

const WALKER = {
  id: "walker",
  metadata: { name: "Walker", title: "Walker", icon: "W" },
  persona: { role: "walks", identity: "a walker", communication_style: "plain", principles: ["Go on."] },
};

function stepFile(id: string, type: string): string {
  const head = `---\nschemaVersion: "1.1"\nnodeId: ${id}\ntype: ${type}\n---\n# ${id}\n\n`;
  return head.padEnd(STEP_FILE_BYTES - 1, "Write the artifact, then go on. ") + "\n";
}
