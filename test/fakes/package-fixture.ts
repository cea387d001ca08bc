import { mkdir, mkdtemp, readFile, readdir, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { onTestFinished } from "vitest";
import { writeZip } from "./zip-writer.js";
import { removeFolder } from "./remove-folder.js";

/** The files of a package by path; JSON values are written as JSON. */
export type PackageFixture = Readonly<Record<string, unknown>>;

/** A small valid package: two nodes, an agent, an asset. */
export function validPackage() {
  return {
    "bmad.json": {
      schemaVersion: "1.1",
      name: "Tiny Story",
      version: "1.0.0",
      entry: { workflow: "workflow.md", graph: "workflow.graph.json", agents: "agents.json" },
    },
    "agents.json": { schemaVersion: "1.1", agents: [agent("author")] },
    "workflow.md": workflowDocument("tiny"),
    "workflow.graph.json": {
      schemaVersion: "1.1",
      entryNodeId: "draft",
      nodes: [
        { id: "draft", type: "step", file: "steps/draft.md", agentId: "author" },
        { id: "done", type: "end", file: "steps/done.md" },
      ],
      edges: [{ from: "draft", to: "done", label: "finished" }],
    },
    "steps/draft.md": stepDocument("draft", "step"),
    "steps/done.md": stepDocument("done", "end"),
    "assets/template.txt": "a template\r\nwithout a last line end",
  };
}

export function agent(id: string): Record<string, unknown> {
  return {
    id,
    metadata: { name: "Ada", title: "Author", icon: "*" },
    persona: { role: "writes", identity: "a writer", communication_style: "plain", principles: ["short"] },
  };
}

export function workflowDocument(workflowType: string): string {
  return `---\nschemaVersion: 1.1\nworkflowType: ${workflowType}\n---\n# ${workflowType}\n`;
}

export function stepDocument(nodeId: string, type: string): string {
  return `---\nschemaVersion: "1.1"\nnodeId: ${nodeId}\ntype: ${type}\n---\nDo it.\n`;
}

export function bytesOf(content: unknown): Buffer {
  if (content instanceof Uint8Array) return Buffer.from(content);
  return Buffer.from(typeof content === "string" ? content : JSON.stringify(content, undefined, 2));
}

/** A directory that is gone after the test. */
export async function temporaryDirectory(): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), "interlock-test-"));
  onTestFinished(() => removeFolder(dir));
  return dir;
}

export async function writePackage(dir: string, files: PackageFixture): Promise<string> {
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(dir, path)), { recursive: true });
    await writeFile(join(dir, path), bytesOf(content));
  }
  return dir;
}

export function zipPackage(files: PackageFixture): Buffer {
  return writeZip(Object.entries(files).map(([name, content]) => ({ name, data: bytesOf(content) })));
}

/** Every file below a directory by path, hidden ones too. */
export async function readTree(dir: string): Promise<Record<string, Buffer>> {
  const tree: Record<string, Buffer> = {};
  for (const entry of await readdir(dir, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    tree[path.slice(dir.length + 1)] = await readFile(path);
  }
  return tree;
}
