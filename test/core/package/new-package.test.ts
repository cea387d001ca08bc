import { describe, expect, test } from "vitest";
import { type WantedPackage, newPackage, wantedProblem } from "../../../src/core/package/new-package.js";

const small: WantedPackage = { name: "tea", steps: ["draft"], branch: [], gate: false, agents: ["author"] };
const large: WantedPackage = {
  name: "Tea, in two ways",
  steps: ["gather-facts", "draft"],
  branch: ["brief", "thorough"],
  gate: true,
  agents: ["ines", "maren", "otto"],
};

interface Graph {
  readonly entryNodeId: string;
  readonly nodes: readonly {
    readonly id: string;
    readonly agentId: string;
    readonly outputs: readonly string[];
  }[];
  readonly edges: readonly { readonly from: string; readonly to: string }[];
}

const graphOf = (wanted: WantedPackage) =>
  JSON.parse(newPackage(wanted).get("workflow.graph.json") ?? "") as Graph;

describe("a new package", () => {
  test("has its steps, a branch, a gate with a way back, and an end", () => {
    const { entryNodeId, edges, nodes } = graphOf(large);
    expect(entryNodeId).toBe("gather-facts");
    expect(edges.map(({ from, to }) => `${from} ${to}`)).toEqual([
      "gather-facts draft",
      "draft choose",
      "choose brief",
      "choose thorough",
      "brief gate",
      "thorough gate",
      "gate done",
      "gate mend",
      "mend gate",
    ]);
    expect(nodes.map(({ id, agentId }) => `${id} ${agentId}`)).toEqual([
      "gather-facts ines",
      "draft maren",
      "choose otto",
      "brief ines",
      "thorough maren",
      "gate otto",
      "mend ines",
      "done otto",
    ]);
    expect(
      nodes.filter(({ outputs }) => outputs.includes("artifacts/result.md")).map(({ id }) => id),
    ).toEqual(["brief", "thorough", "mend"]);
  });

  test("can be a single step", () => {
    expect([...newPackage(small).keys()]).toEqual([
      "bmad.json",
      "agents.json",
      "workflow.md",
      "workflow.graph.json",
      "steps/draft.md",
      "steps/done.md",
      "tests/walk.yaml",
    ]);
    expect(graphOf(small).edges).toHaveLength(1);
  });

  test("says in each step file what to read, to write, and where to go", () => {
    const files = newPackage(large);
    expect(files.get("steps/draft.md")).toMatch(
      /agentId: "maren"[^]*# Draft\n[^]*1\. `fs\.read` `@project\/artifacts\/gather-facts\.md`\.\n2\. `fs\.write` `@project\/artifacts\/draft\.md`\.\n[^]*set `currentNodeId` to `choose`\.\n$/,
    );
    expect(files.get("steps/choose.md")).toContain("set `currentNodeId` to the node you chose");
    expect(files.get("steps/gate.md")).toContain('artifactTypes: {"artifacts/gate.md":"qaGate"}');
    expect(files.get("steps/done.md")).toContain("With this the run is complete.");
  });
});

describe("what no package can be made of", () => {
  test.each<[string, Partial<WantedPackage>, RegExp]>([
    ["no name", { name: " " }, /is no name for a package/],
    ["a name that hides something", { name: "a\u202Eb" }, /is no name for a package/],
    ["a long name", { name: "x".repeat(81) }, /is no name for a package/],
    ["no step", { steps: [] }, /name at least one/],
    ["one way of a branch", { branch: ["brief"] }, /needs two ways/],
    ["no agent", { agents: [] }, /needs an agent/],
    ["a step that is a path", { steps: ["../../x"] }, /No id of a step: "\.\.\/\.\.\/x"/],
    ["a step that is an option", { steps: ["-x"] }, /No id of a step/],
    ["an agent of two words", { agents: ["a b"] }, /No id of an agent/],
    ["a long id", { steps: ["x".repeat(61)] }, /at most 60/],
    ["two steps of one name", { steps: ["a", "A"] }, /The step A is there twice/],
    ["a step that is ours", { steps: ["done"] }, /The step done is there twice, or the package makes one/],
    ["a step called as the branch", { branch: ["draft", "x"] }, /The step draft/],
    [
      "steps without end",
      { steps: Array.from({ length: 60 }, (_, index) => `s${index}`) },
      /more than 50 steps/,
    ],
  ])("%s", (_name, change, problem) => {
    expect(wantedProblem({ ...small, ...change })).toMatch(problem);
  });

  test("what can be made has no problem", () => {
    expect([wantedProblem(small), wantedProblem(large)]).toEqual([undefined, undefined]);
  });
});
