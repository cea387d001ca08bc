export { ERROR_CODES, type ErrorCode, type Fault } from "./errors.js";
export { type WorkflowGraph } from "./package/graph.js";
export { validateWorkflowStateUpdate, type GuardVerdict } from "./state/transition-guard.js";
