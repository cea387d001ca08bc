export { diffGraphState } from "./diff.js";
export { createInitialState } from "./initial-state.js";
export { type StateRecord, StateRecordSchema } from "./record.js";
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
} from "./schemas.js";
export { cloneState, deserializeState, safeDeserializeState, serializeState } from "./serialize.js";
export { isValidGraphState, safeValidateGraphState, validateGraphState } from "./validate.js";
