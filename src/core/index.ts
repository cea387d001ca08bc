export { ERROR_CODES, type ErrorCode, type Fault } from "./errors.js";
export { diffGraphState } from "./graph-state/diff.js";
export { createInitialState } from "./graph-state/initial-state.js";
export { type StateRecord, StateRecordSchema } from "./graph-state/record.js";
export {
  type ArtifactType,
  ArtifactTypeSchema,
  type EvidenceRef,
  EvidenceRefSchema,
  type GateDecision,
  GateDecisionSchema,
  type GateType,
  GateTypeSchema,
  GRAPH_STATE_SCHEMA_VERSION,
  type GraphState,
  type GraphStateInput,
  GraphStateSchema,
  type InitialStateParams,
  InitialStateParamsSchema,
  type NodeError,
  NodeErrorSchema,
  type RoutingFlag,
  RoutingFlagSchema,
  type StateDiff,
  type StateDiffItem,
  StateDiffItemSchema,
  StateDiffSchema,
  type StateSnapshot,
  StateSnapshotSchema,
  type StateSnapshotState,
  StateSnapshotStateSchema,
} from "./graph-state/schemas.js";
export {
  cloneState,
  deserializeState,
  safeDeserializeState,
  serializeState,
} from "./graph-state/serialize.js";
export { isValidGraphState, safeValidateGraphState, validateGraphState } from "./graph-state/validate.js";
export { type WorkflowGraph } from "./package/graph.js";
export { validateWorkflowStateUpdate, type GuardVerdict } from "./state/transition-guard.js";
