import type { ModelTurnInput, ModelTurnResult, PlannedCall } from "../../src/contract/activities.js";

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

export const AUDIT = { lines: 1, sha256: "" };

/** An answer with these calls, of which none has run yet. */
export function turnResult(
  calls: readonly PlannedCall[],
  more: Partial<ModelTurnResult> = {},
): ModelTurnResult {
  const usage = { promptTokens: 1, completionTokens: 1, cost: 0 };
  return { calls, text: "", cutOff: false, usage, audit: AUDIT, ...more };
}
