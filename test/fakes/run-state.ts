import type { RunState } from "../../src/core/run/run-state.js";

/** The state of a run that waits for nobody in its first visit. */
export const RUN_STATE: RunState = {
  runId: "5c2a",
  projectId: "p",
  packageId: "k",
  workflowRef: "w",
  phase: "running",
  currentNodeId: "ask",
  stepsCompleted: [],
  allowedNext: [],
  variables: {},
  artifacts: [],
  paused: false,
  budget: {},
  usage: { modelTurns: 1, toolCalls: 2, promptTokens: 3, completionTokens: 4, cost: 0 },
  visit: 1,
  turn: 1,
  progress: [],
  audit: { lines: 0, sha256: "" },
};
