import { twoNodePackage } from "./two-node-package.js";

/** A package with a QA gate: build → qa, and from there back to build or, once the gate lets it, to the end. */
export function gatePackage(): Record<string, string> {
  const step = (nodeId: string, type: string, more = "") =>
    `---\nschemaVersion: "1.1"\nnodeId: ${nodeId}\ntype: ${type}\n${more}---\nDo ${nodeId}.\n`;
  const { "steps/ask.md": _ask, "steps/middle.md": _middle, ...rest } = twoNodePackage();
  return {
    ...rest,
    "workflow.graph.json": JSON.stringify({
      schemaVersion: "1.1",
      entryNodeId: "build",
      nodes: [
        { id: "build", type: "step", file: "steps/build.md", outputs: ["artifacts/story.md"] },
        { id: "qa", type: "decision", file: "steps/qa.md" },
        { id: "finish", type: "end", file: "steps/finish.md" },
      ],
      edges: [
        { from: "build", to: "qa", label: "check", isDefault: true },
        {
          from: "qa",
          to: "finish",
          label: "passed",
          conditionText: "the QA gate passed or was waived",
          conditionExpr: { in: [{ var: "gateDecisions.qaGate" }, ["PASS", "WAIVED"]] },
        },
        { from: "qa", to: "build", label: "again", isDefault: true },
      ],
    }),
    "steps/build.md": step("build", "step", "artifactTypes:\n  ./artifacts/story.md: storyDoc\n"),
    "steps/qa.md": step("qa", "decision"),
    "steps/finish.md": step("finish", "end"),
  };
}
