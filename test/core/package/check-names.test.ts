import { expect, test } from "vitest";
import { checkNames } from "../../../src/core/package/check-names.js";

type Parts = Parameters<typeof checkNames>[0];

const BIDI = "gate\u202egpj.exe";

function parts(name: string, displayName: string, workflow: string, title: string): Parts {
  return {
    manifest: {
      schemaVersion: "1.1",
      name,
      version: "1.0.0",
      createdAt: "2026-01-01T00:00:00Z",
      entry: { workflow: "workflow.md", graph: "workflow.graph.json", agents: "agents.json" },
      workflows: [{ id: "w", displayName, workflow: "workflow.md", graph: "workflow.graph.json" }],
    },
    agents: [{ metadata: { name: "Ada", title } }] as unknown as Parts["agents"], // of their fields those that are shown
    workflows: [{ id: workflow, workflowFile: "workflow.md" }],
  };
}

test("names that hide nothing are taken, in any script", () => {
  expect(checkNames(parts("gate", "Das Tor", "gate", "検査官"), ["steps/одно.md"])).toEqual([]);
});

test("a name that hides or moves characters is found wherever a list would show it", () => {
  const findings = checkNames(parts(BIDI, "\u001b[31mred", "a\nb", "x\u200by"), [
    "workflow.md",
    "steps/a\u0007.md",
  ]);
  expect(findings.map(({ file, path, severity }) => [file, path, severity])).toEqual([
    ["bmad.json", "$.name", "error"],
    ["bmad.json", "$.workflows[0].displayName", "error"],
    ["workflow.md", "$.workflowType", "error"],
    ["agents.json", "$.agents[0].metadata.title", "error"],
    [expect.stringContaining("steps/a"), "$", "error"],
  ]);
  expect(findings[0]?.message).toContain("holds a control, direction or invisible character: remove it");
});
