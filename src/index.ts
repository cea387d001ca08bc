// client
export {
  InterlockClient,
  InterlockError,
  RunHandle,
  type FollowedQuestions,
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
export type { Waiting } from "./client/temporal/abortable.js";
export type { RetryChanges, RunAnswer } from "./client/changes/asked-changes.js";
export type { PendingActivity, PendingWork, TaskFailure } from "./client/runs/pending-work.js";
export type { RunAddress } from "./client/runs/run-address.js";
export type { EventChoice } from "./client/stores/run-events.js";
export type { RunTimes } from "./client/runs/run-times.js";
export type { TranscriptChoice, TranscriptVisit } from "./client/stores/transcript.js";
export { type ExportRun, exportRun } from "./client/export-run.js";
export type { StoredArtifact, StoreReader, TranscriptCall, TranscriptEntry } from "./contract/reads.js";
export type {
  Answer,
  AnswerTaken,
  BudgetRaise,
  BundleRunInput,
  Fork,
  GraphRunInput,
  Parent,
} from "./contract/run.js";
export type { HandsUp, RunResult } from "./core/run/run-result.js";
export type { AuditHead } from "./core/run/audit-head.js";
export type { RunEvent } from "./core/run/run-event.js";
export type { RunPhase } from "./core/run/phase.js";
export type { Question } from "./core/run/question.js";
export type { AnsweredBy, ModelRef, WantedModel } from "./core/run/run-model.js";
export type { Rehearsal } from "./core/run/run-ref.js";
export type {
  LastUserAnswer,
  ModelState,
  ProgressLine,
  RunBelowState,
  RunState,
} from "./core/run/run-state.js";
export type { TurnUsage, Usage } from "./core/run/usage.js";
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
  type RunWorkflow,
} from "./contract/names.js";
export {
  BundleRunInputSchema,
  GraphRunInputSchema,
  type RunInputs,
  runInputJsonSchemas,
  validateRunInput,
} from "./contract/run-input.js";
export type { ReadStatement, Sign, StartStatement, Statement, UpdateStatement } from "./contract/signed.js";
export type { Budget, BudgetLimits, BudgetScope, ReachedLimit } from "./core/run/budget.js";
export type { EngineLimits } from "./core/run/limits.js";

// core
export { ERROR_CODES, type ErrorCode, type Failed, type Fault, type Result } from "./core/errors.js";
export type { JsonObject, JsonValue } from "./core/json.js";
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
} from "./core/index.js";
export type { ArtifactTypeOfPath } from "./core/package/artifact-types.js";
export type { Finding } from "./core/package/findings.js";
export type { AllowedNext, GraphEdge, GraphNode, WorkflowGraph } from "./core/package/graph.js";
export { validateWorkflowStateUpdate, type GuardVerdict } from "./core/state/transition-guard.js";
export type { Access } from "./core/tools/name-rules.js";
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
export type { OnPiece } from "./model/answer-progress.js";
export { ModelError, type Refusal } from "./model/model-error.js";
export type { AnswerPiece } from "./core/run/answer-piece.js";
export type { ModelRefusal } from "./core/run/model-refusal.js";
export type { ProviderPart } from "./core/run/provider-part.js";
export type { ModelCall } from "./core/tools/model-call.js";
export type { FunctionTool } from "./core/tools/tool-arguments.js";

// store and tools, for hosts without Temporal
export { type SealKeys, parseSealKeys } from "./seal/seal-keys.js";
export { startSigner } from "./store/start-signatures.js";
export { type Store, openStore } from "./store/store.js";
export type { Installation, InstalledPackage, PackageStore } from "./store/packages/package-store.js";
export type { RegisteredRoot, Roots } from "./store/roots/roots.js";
export type { CreateRunRequest, RunBeginning } from "./store/runs/create-request.js";
export { RunManager } from "./store/runs/run-manager.js";
export type { RunMetadata } from "./store/runs/run-metadata.js";
export {
  type ToolCallContext,
  type ToolCallRequest,
  type ToolHost,
  type ToolHostOptions,
  createToolHost,
} from "./tools/graph/tool-host.js";
