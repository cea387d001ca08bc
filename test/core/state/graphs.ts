import type { JsonObject } from "../../../src/core/json.js";
import type { GraphEdge, WorkflowGraph } from "../../../src/core/package/graph.js";

/** `draft` → `review` (default) or `publish`; `review` → `draft` or `publish`; `publish` is an end; `lost` is off the road. */
export const GRAPH: WorkflowGraph = {
  entryNodeId: "draft",
  nodes: [
    { id: "draft", type: "step", file: "steps/draft.md" },
    { id: "review", type: "decision", file: "steps/review.md" },
    { id: "publish", type: "end", file: "steps/publish.md" },
    { id: "lost", type: "step", file: "steps/lost.md" },
  ],
  edges: [
    { from: "draft", to: "review", label: "written", isDefault: true },
    { from: "draft", to: "publish", label: "urgent", conditionText: "when there is no time" },
    { from: "review", to: "draft", label: "again" },
    { from: "review", to: "publish", label: "good", isDefault: true },
  ],
};

/** What the guard lists as the ways out of `draft`. */
export const FROM_DRAFT = [
  { to: "review", label: "written", isDefault: true },
  { to: "publish", label: "urgent", conditionText: "when there is no time" },
];

/** A valid frontmatter that stands at the entry, with changes. */
export function state(changes: JsonObject = {}): JsonObject {
  return {
    schemaVersion: "1.1",
    workflowType: "story",
    currentNodeId: "",
    stepsCompleted: [],
    variables: {},
    decisionLog: [],
    artifacts: [],
    ...changes,
  };
}

/** A graph of these edges, with a node for every end of one. */
export function graphOf(entryNodeId: string, edges: readonly GraphEdge[]): WorkflowGraph {
  const ids = new Set([entryNodeId, ...edges.flatMap(({ from, to }) => [from, to])]);
  return {
    entryNodeId,
    nodes: [...ids].map((id) => ({ id, type: "step", file: `steps/${id}.md` })),
    edges,
  };
}
