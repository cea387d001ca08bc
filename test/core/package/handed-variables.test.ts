import { describe, expect, test } from "vitest";
import { checkHanded, handedVariables, knownVariables } from "../../../src/core/package/handed-variables.js";
import {
  type StepFrontmatter,
  graphSchema,
  stepFrontmatterSchema,
} from "../../../src/core/package/schemas.js";

const step = (fields: object): StepFrontmatter =>
  stepFrontmatterSchema.parse({ schemaVersion: "1.1", nodeId: "a", type: "subworkflow", ...fields });
const nodeOf = (fields: object) => {
  const file = graphSchema.parse({
    schemaVersion: "1.1",
    entryNodeId: "a",
    nodes: [{ id: "a", type: "subworkflow", file: "a.md", ...fields }],
    edges: [],
  });
  const [node] = file.nodes;
  if (node === undefined) throw new Error("There is no node.");
  return node;
};

describe("the variables of a subworkflow", () => {
  test("go down where its inputs name them, and up where its step file sets them", () => {
    const node = nodeOf({ workflow: "part", inputs: ["artifacts/plan.md", "variables.tone"] });
    const sets = step({
      inputs: ["variables.tone", "variables.size"],
      setsVariables: ["verdict", "verdict"],
    });
    expect(handedVariables(node, sets)).toEqual({
      variablesIn: ["tone", "size"],
      variablesOut: ["verdict"],
    });
  });

  test("are none of a node that runs no workflow, and no parts, paths or blanks", () => {
    expect(handedVariables(nodeOf({ inputs: ["variables.tone"] }), step({ setsVariables: ["x"] }))).toEqual(
      {},
    );
    const inputs = ["variables.a.b", "variables.", "variables.a/b", "x.variables.a", "variables.a b"];
    expect(handedVariables(nodeOf({ workflow: "part", inputs }), undefined)).toEqual({});
  });
});

const workflow = (id: string, nodes: readonly object[], sets: readonly string[] = []) => ({
  id,
  graphFile: `${id}.json`,
  graph: { nodes: nodes.map((fields) => ({ id: "n", ...fields })) },
  steps: new Map([["n", step({ setsVariables: sets })]]),
});

describe("of the workflows of a package", () => {
  const calling = { workflow: "part", variablesIn: ["tone"], variablesOut: ["tone", "verdict"] };

  test("each knows the variables that its steps set and that it is handed", () => {
    const workflows = [workflow("main", [calling], ["tone"]), workflow("part", [{}], ["size"])];
    expect([...knownVariables("part.json", workflows[1]?.steps ?? new Map(), workflows)]).toEqual([
      "size",
      "tone",
    ]);
    expect([...knownVariables("main.json", new Map(), workflows)]).toEqual([]);
  });

  test("one that hands up what nobody sets is warned of", () => {
    const said = checkHanded([workflow("main", [calling], ["tone"]), workflow("part", [{}], [])]);
    expect(said.map(({ severity, path, message }) => `${severity} ${path} ${message}`)).toEqual([
      'warning $.nodes[0] subworkflow "n" is to hand up the variable "verdict", which no step of "part" sets: name it in the setsVariables of the step that does',
    ]);
    expect(checkHanded([workflow("main", [calling], ["tone"]), workflow("part", [{}], ["verdict"])])).toEqual(
      [],
    );
    expect(checkHanded([workflow("main", [calling])])).toEqual([]);
  });

  test("one that hands down what nobody sets is warned of, and not where a caller has handed it down", () => {
    const part = workflow("part", [{ workflow: "below", variablesIn: ["tone"] }]);
    const main = workflow("main", [{ workflow: "part", variablesIn: ["tone"] }]);
    const said = checkHanded([main, part, workflow("below", [{}])]);
    expect(said.map(({ file, path, message }) => `${file} ${path} ${message}`)).toEqual([
      'main.json $.nodes[0] subworkflow "n" is to hand down the variable "tone", which no step of this workflow sets: name it in the setsVariables of the step that does',
    ]);
  });
});
