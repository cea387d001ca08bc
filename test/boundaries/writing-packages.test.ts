import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { newPackage } from "../../src/core/package/new-package.js";
import { allowedNext, toWorkflowGraph } from "../../src/core/package/graph.js";
import { agentsFileSchema, graphSchema } from "../../src/core/package/schemas.js";
import { renderNodeBrief } from "../../src/core/prompt/shells.js";
import { renderPersona } from "../../src/core/prompt/system-messages.js";

const page = readFileSync(new URL("../../docs/writing-packages.md", import.meta.url), "utf8");
const blocks = [...page.matchAll(/^```text\n([^]*?)\n```$/gm)].map(([, text = ""]) => text);

/** What the page's first command makes. */
const files = newPackage({
  name: "tea-order",
  steps: ["gather", "draft"],
  branch: ["brief", "thorough"],
  gate: true,
  agents: ["ines", "otto"],
});

function jsonOf(path: string): unknown {
  return JSON.parse(files.get(path) ?? "");
}

const graph = toWorkflowGraph(graphSchema.parse(jsonOf("workflow.graph.json")));

/** As a run with a story and binding conditions shows a node, before its gates are decided. */
function briefOf(id: string, binding: boolean): string {
  const { type = "step", file = "", outputs = [] } = graph.nodes.find((node) => node.id === id) ?? {};
  const data = binding ? { variables: {}, gateDecisions: {}, routingFlags: {} } : undefined;
  return renderNodeBrief({ nodeId: id, type, file, outputs, allowedNext: allowedNext(graph, id, data) });
}

describe("docs/writing-packages.md", () => {
  test("shows the command that makes what it speaks of", () => {
    expect(page).toContain(
      "npx interlock package new tea-order --steps gather,draft --branch brief,thorough --gate --agents ines,otto\n",
    );
    for (const path of files.keys())
      expect(page).toContain(path.startsWith("steps/") ? "`steps/*.md`" : `\`${path}\``);
  });

  test("shows what a model sees at its nodes, as it is", () => {
    const shown = blocks.filter((block) => block.startsWith("NODE_BRIEF"));
    const nodes = shown.map((block) => /currentNodeId: (\S+)/.exec(block)?.[1] ?? "");
    expect(nodes).toEqual(["gather", "choose", "gate", "done"]);
    expect(shown).toEqual(nodes.map((id) => briefOf(id, id === "gate")));
  });

  test("shows how a persona begins", () => {
    const [, otto] = agentsFileSchema.parse(jsonOf("agents.json")).agents;
    const shown = blocks.filter((block) => block.startsWith("You are"));
    expect(shown).toHaveLength(1);
    expect(otto === undefined ? "" : renderPersona(otto).startsWith(`${shown[0]}\n`)).toBe(true);
  });
});
