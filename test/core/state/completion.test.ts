import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../../src/core/json.js";
import { isComplete } from "../../../src/core/state/completion.js";
import { parseFrontmatter } from "../../../src/core/state/state-frontmatter.js";
import { GRAPH, graphOf, state } from "./graphs.js";

function complete(changes: JsonObject, graph = GRAPH): boolean {
  const parsed = parseFrontmatter(state(changes));
  if (!parsed.ok) throw new Error(parsed.error.message);
  return isComplete(parsed.value, graph);
}

describe("a run is complete", () => {
  test.each([
    ["at an end node that is done", { currentNodeId: "publish", stepsCompleted: ["publish"] }],
    [
      "at an end node whose id has spaces around it",
      { currentNodeId: " publish ", stepsCompleted: ["publish"] },
    ],
    ["when its variables say so, wherever it stands", { variables: { workflowStatus: "complete" } }],
  ])("%s", (_, changes) => {
    expect(complete(changes)).toBe(true);
  });

  test("at an entry that is an end node, without being told the node", () => {
    const graph = { ...graphOf("only", []), nodes: [{ id: "only", type: "end" as const, file: "f.md" }] };
    expect(complete({ stepsCompleted: ["only"] }, graph)).toBe(true);
  });
});

describe("a run is not complete", () => {
  test.each([
    ["at an end node that is not done", { currentNodeId: "publish", stepsCompleted: ["draft"] }],
    [
      "when the end node is done but the run stands elsewhere",
      { currentNodeId: "draft", stepsCompleted: ["publish"] },
    ],
    ["at a finished node of another type", { currentNodeId: "draft", stepsCompleted: ["draft"] }],
    ["at a node that does not exist", { currentNodeId: "gone", stepsCompleted: ["gone"] }],
    ["when the status is spelled otherwise", { variables: { workflowStatus: "Complete" } }],
    ["when the status is a list", { variables: { workflowStatus: ["complete"] } }],
    ["when only a nested status says so", { variables: { a: { workflowStatus: "complete" } } }],
  ])("%s", (_, changes) => {
    expect(complete(changes)).toBe(false);
  });

  test("when the status is inherited and no variable of its own", () => {
    const inherited = Object.create({ workflowStatus: "complete" }) as JsonObject;
    const parsed = parseFrontmatter(state());
    if (!parsed.ok) throw new Error(parsed.error.message);
    expect(isComplete({ ...parsed.value, variables: inherited }, GRAPH)).toBe(false);
  });
});
