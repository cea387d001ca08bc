// client
export {
  InterlockClient,
  InterlockError,
  RunHandle,
  type ForkRun,
  type InterlockClientOptions,
  type KnownStore,
  type ListedRun,
  type OpenQuestion,
  type Polling,
  type QuestionEvent,
  type QuestionFilter,
  type RunFilter,
  type RunQuestion,
  type RunReference,
  type RunRequest,
  type StartBundleRun,
  type StartRun,
} from "./client/client.js";
export type { PendingActivity, PendingWork } from "./client/pending-work.js";
export type { EventChoice } from "./client/run-events.js";
export type { RunTimes } from "./client/run-times.js";
export type { TranscriptChoice, TranscriptVisit } from "./client/transcript.js";
export { type ExportRun, exportRun } from "./client/export-run.js";
export type { StoredArtifact, StoreReader, TranscriptCall, TranscriptEntry } from "./contract/reads.js";
export type { Answer, AnswerTaken, BudgetRaise, BundleRunInput, GraphRunInput } from "./contract/run.js";
export type { RunResult } from "./core/run/closing.js";
export type { AuditHead } from "./core/run/audit-head.js";
export type { RunEvent } from "./core/run/run-event.js";
export type { RunPhase } from "./core/run/phase.js";
export type { Question } from "./core/run/question.js";
export type { WantedModel } from "./core/run/run-model.js";
export type { Rehearsal } from "./core/run/run-ref.js";
export type { ProgressLine, RunState } from "./core/run/run-state.js";
export type { Usage } from "./core/run/usage.js";
// what Temporal's own clients need: workflow types for their type parameters, names, and what a run is started with
export type { bundleRun, graphRun } from "./workflows/index.js";
export {
  ANSWER_UPDATE,
  BUDGET_UPDATE,
  BUNDLE_RUN_WORKFLOW,
  FINISH_UPDATE,
  GRAPH_RUN_WORKFLOW,
  GRAPH_STATE_QUERY,
  PAUSE_UPDATE,
  RESUME_UPDATE,
  RUN_STATE_QUERY,
} from "./contract/names.js";
export {
  BundleRunInputSchema,
  GraphRunInputSchema,
  type RunInputs,
  runInputJsonSchemas,
  validateRunInput,
} from "./contract/run-input.js";
export type { ReadStatement, Sign, StartStatement, Statement, UpdateStatement } from "./contract/signed.js";
export type { Budget, BudgetLimits, BudgetScope } from "./core/run/budget.js";
export type { EngineLimits } from "./core/run/limits.js";

// core
export { ERROR_CODES, type ErrorCode, type Fault } from "./core/errors.js";
export {
  type ArtifactType,
  ArtifactTypeSchema,
  cloneState,
  createInitialState,
  deserializeState,
  diffGraphState,
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
  isValidGraphState,
  type NodeError,
  NodeErrorSchema,
  type RoutingFlag,
  RoutingFlagSchema,
  safeDeserializeState,
  safeValidateGraphState,
  serializeState,
  type StateDiff,
  type StateDiffItem,
  StateDiffItemSchema,
  StateDiffSchema,
  type StateRecord,
  StateRecordSchema,
  type StateSnapshot,
  StateSnapshotSchema,
  type StateSnapshotState,
  StateSnapshotStateSchema,
  validateGraphState,
} from "./core/graph-state/index.js";
export type { WorkflowGraph } from "./core/package/graph.js";
export { validateWorkflowStateUpdate, type GuardVerdict } from "./core/state/transition-guard.js";
export type { ToolResult } from "./core/tools/tool-result.js";

// models: what a program brings to a worker of its own (interlock-temporal/worker)
export type {
  ChatAnswer,
  ChatMessage,
  ChatModel,
  ChatRequest,
  ModelPrice,
  ModelSettings,
} from "./model/chat.js";
export { createChatModel } from "./model/chat-model.js";
export type { Dialect, DialectSetting } from "./model/dialects.js";
export { ModelError } from "./model/model-error.js";
export type { ModelRefusal } from "./core/run/model-refusal.js";
export type { ProviderPart } from "./core/run/provider-part.js";
export type { ModelCall } from "./core/tools/model-call.js";
export type { FunctionTool } from "./core/tools/tool-arguments.js";

// store and tools, for hosts without Temporal
export { type SealKeys, parseSealKeys } from "./seal/seal-keys.js";
export { startSigner } from "./store/start-signatures.js";
export { type Store, openStore } from "./store/store.js";
export type { CreateRunRequest } from "./store/runs/create-request.js";
export { RunManager } from "./store/runs/run-manager.js";
export type { RunMetadata } from "./store/runs/run-metadata.js";
export {
  type ToolCallContext,
  type ToolCallRequest,
  type ToolHost,
  type ToolHostOptions,
  createToolHost,
} from "./tools/graph/tool-host.js";
