import { describe, expect, test } from "vitest";
import { newPackage } from "../../../src/core/package/new-package.js";
import { type WantedPackage, idsFrom, wantedProblem } from "../../../src/core/package/wanted-package.js";

const small: WantedPackage = { name: "tea", steps: ["draft"], branch: [], gate: false, agents: ["author"] };
const large: WantedPackage = {
  name: "tea-in-2.ways",
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

test.each([
  ["gather, draft", ["gather", "draft"]],
  ["3", ["step-1", "step-2", "step-3"]],
  ["1 2", ["1", "2"]],
  [" ", []],
])("an option names ids, or says with one number how many: %j", (list, ids) => {
  expect(idsFrom(list, "step")).toEqual(ids);
});

test("a number without measure is as many ids as are refused", () => {
  expect(idsFrom("1000000000", "agent")).toHaveLength(51);
});

describe("what no package can be made of", () => {
  test.each<[string, Partial<WantedPackage>, RegExp]>([
    ["no name", { name: "" }, /^--name: "" is no name/],
    ["a name of blanks", { name: " " }, /^--name: "" is no name/],
    ["a name of two words", { name: "bad name*" }, /^--name: "bad name\*" .* such as --name bad-name\.$/],
    ["a name that is a path", { name: "../a/b" }, /such as --name a-b\.$/],
    ["a name of dots", { name: ".." }, /such as --name my-package\.$/],
    ["a hidden name", { name: ".tea" }, /such as --name tea\.$/],
    ["a name that is an option", { name: "--tea" }, /such as --name tea\.$/],
    ["a name in letters of its language", { name: "Grüner Tee" }, /such as --name gruner-tee\.$/],
    ["a name that hides something", { name: "a\u202Eb" }, /^--name: /],
    ["a long name", { name: "x".repeat(81) }, /at most 80/],
    ["no step", { steps: [] }, /^--steps names none: /],
    ["one way of a branch", { branch: ["brief"] }, /^--branch names one/],
    ["no agent", { agents: [] }, /^--agents names none/],
    ["a step that is a path", { steps: ["../../x"] }, /^--steps: "\.\.\/\.\.\/x" is no id/],
    ["a step that is an option", { steps: ["-x"] }, /^--steps: "-x" is no id/],
    ["a step of dots", { steps: ["a", "b.c"] }, /^--steps: "b\.c" is no id/],
    ["a step in letters of its language", { steps: ["prüfen"] }, /letters a to z/],
    ["a step that is a number", { steps: ["1", "2"] }, /^--steps: "1", "2" .* one number alone/],
    ["a step that no file of Windows may be called", { steps: ["con"] }, /^--steps: "con" .* Windows/],
    ["an agent of two words", { agents: ["a b"] }, /^--agents: "a b" is no id/],
    ["an agent that is a number", { agents: ["1", "b"] }, /^--agents: "1"/],
    ["a long id", { steps: ["x".repeat(61)] }, /at most 60/],
    ["two steps of one name", { steps: ["a", "A"] }, /^--steps names A twice/],
    ["two agents of one name", { agents: ["a", "b", "a"] }, /^--agents names a twice/],
    ["two ways of one name", { branch: ["a", "a"] }, /^--branch names a twice/],
    ["a step that is the end", { steps: ["done"] }, /^--steps: done is what the package makes by itself/],
    [
      "a way that is the choice",
      { branch: ["choose", "x"] },
      /^--branch: choose is what the package makes by itself/,
    ],
    ["a step that is the gate", { steps: ["gate"], gate: true }, /^--steps: gate is what/],
    ["a step that mends what the gate refuses", { steps: ["mend"], gate: true }, /^--steps: mend is what/],
    ["a way that is what all of them write", { branch: ["result", "x"] }, /^--branch: result is what/],
    ["a step called as a way", { branch: ["draft", "x"] }, /^--branch names draft, which --steps names/],
    [
      "steps without end",
      { steps: Array.from({ length: 51 }, (_, index) => `s${index}`) },
      /^--steps names more than 50/,
    ],
  ])("%s", (_name, change, problem) => {
    expect(wantedProblem({ ...small, ...change })).toMatch(problem);
  });

  test("what can be made has no problem", () => {
    expect([wantedProblem(small), wantedProblem(large)]).toEqual([undefined, undefined]);
    expect(wantedProblem({ ...small, steps: ["gate", "choose"] })).toBeUndefined();
    expect(wantedProblem({ ...small, steps: ["author"], agents: ["author"] })).toBeUndefined();
  });
});
