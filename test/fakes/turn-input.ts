import type { ModelTurnInput } from "../../src/contract/activities.js";

/** What the activity of a model turn is told, of a graph run. */
export const TURN_INPUT: ModelTurnInput = {
  run: {
    storeId: "store",
    projectId: "project",
    runId: "run",
    packageId: "package",
    workflowRef: "walk",
    activeAgentId: "a",
  },
  visit: 1,
  turn: 1,
  nodeId: "ask",
  agentId: "a",
  intent: "start",
  autopilot: false,
  conversation: "visit-1",
};
