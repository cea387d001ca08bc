import { describe, expect, test } from "vitest";
import { newPackage } from "../../src/core/package/new-package.js";
import type { WantedPackage } from "../../src/core/package/wanted-package.js";
import { type TinyPackage, play, rehearsal } from "./tiny-engine.js";

const shapes: readonly WantedPackage[] = [["draft"], ["gather", "draft", "polish"]].flatMap((steps) =>
  [[], ["brief", "thorough"]].flatMap((branch) =>
    [false, true].map((gate) => ({ name: "tea", steps, branch, gate, agents: ["ines", "otto"] })),
  ),
);

interface Graph {
  readonly entryNodeId: string;
  readonly nodes: readonly {
    readonly id: string;
    readonly type: string;
    readonly outputs: readonly string[];
  }[];
  readonly edges: TinyPackage["edges"];
}

function tiny(wanted: WantedPackage): TinyPackage {
  const files = newPackage(wanted);
  const { entryNodeId, nodes, edges } = JSON.parse(files.get("workflow.graph.json") ?? "") as Graph;
  return {
    entry: entryNodeId,
    nodes: nodes.map((node) => ({ ...node, step: files.get(`steps/${node.id}.md`) ?? "" })),
    edges,
  };
}

describe("a new package", () => {
  test.each(shapes)("of $steps, branch $branch, gate $gate is rehearsed to its end", async (wanted) => {
    const { phase, path, refusals, project } = await play(tiny(wanted));
    const way = wanted.branch.length > 0 ? ["choose", "brief"] : [];
    expect({ phase, refusals }).toEqual({ phase: "completed", refusals: [] });
    expect(path).toEqual([...wanted.steps, ...way, ...(wanted.gate ? ["gate"] : []), "done"]);
    expect(project.has("@project/artifacts/done.md")).toBe(true);
  });

  test("takes its other way, and comes back from mending, where branches are taken in turn", async () => {
    const pack = tiny({
      name: "tea",
      steps: ["draft"],
      branch: ["brief", "thorough"],
      gate: true,
      agents: ["ines"],
    });
    const answer = rehearsal({ branches: true });
    await play(pack, { answer, runId: "r1" });
    const { phase, path } = await play(pack, { answer, runId: "r2" });
    expect(phase).toBe("completed");
    expect(path.slice(0, 6)).toEqual(["draft", "choose", "thorough", "gate", "mend", "gate"]);
  });
});
