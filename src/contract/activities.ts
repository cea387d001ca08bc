import type { ErrorCode, Fault } from "../core/errors.js";
import type { JsonObject } from "../core/json.js";
import type { WorkflowGraph } from "../core/package/graph.js";
import type { Intent } from "../core/prompt/shells.js";
import type { Frontmatter } from "../core/state/frontmatter.js";
import type { GraphState, StateSnapshot } from "../core/graph-state/schemas.js";
import type { ConditionFacts } from "../core/state/transition-guard.js";
import type { FrontmatterUpdate, ToolName } from "../core/tools/tool-specs.js";
import type { AuditHead, Question, Rehearsal, RunPhase, RunRef, Usage } from "./run.js";

/**
 * The seam between workflow code and the world. Which of these run as regular activities and which as local
 * ones stands in `workflows/activity-options.ts`.
 */
export interface Activities extends ToolActivities {
  /** Makes the run on disk (or finds it made by an earlier attempt) and returns what it runs. */
  "run.open"(input: OpenRunInput): Promise<OpenedRun>;
  /** Reads the state document. */
  "state.load"(input: LoadStateInput): Promise<LoadedState>;
  /** Asks the model for one answer, or returns the answer already written down. */
  "model.turn"(input: ModelTurnInput): Promise<ModelTurnResult>;
  /** Saves the state document for a call that the guard has accepted. */
  "state.persist"(input: ToolCallInput): Promise<ToolCallOutcome>;
  /** Records a call that cannot run: unknown tool, bad arguments. */
  "tool.refuse"(input: ToolCallInput): Promise<ToolCallOutcome>;
  /** Writes the user's words down, once. */
  "user.input"(input: UserInput): Promise<AuditHead>;
  /** Keeps the graph state of a run with a story: the current one, and a snapshot at a node boundary. */
  "state.snapshot"(input: SnapshotInput): Promise<void>;
  /** Records the run's phase in the index and the audit log. */
  "run.phase"(input: PhaseInput): Promise<AuditHead>;
}

/** A tool's activity has the tool's name: that is what the timeline shows. */
export type ToolActivities = Record<ToolName, (input: ToolCallInput) => Promise<ToolCallOutcome>>;

export interface OpenRunInput {
  readonly runId: string;
  readonly projectRoot: string;
  readonly packageId: string;
  readonly workflowRef?: string;
  readonly activeAgentId?: string;
  readonly storeId?: string;
  readonly rehearsal?: Rehearsal;
}

export interface OpenedRun {
  readonly run: RunRef;
  readonly graph: WorkflowGraph;
}

export interface LoadStateInput {
  readonly run: RunRef;
}

export interface LoadedState {
  readonly frontmatter: Frontmatter;
  readonly sha256: string;
}

export interface ModelTurnInput {
  readonly run: RunRef;
  /** Counts node visits from 1; each has a conversation of its own. */
  readonly visit: number;
  /** Counts model turns of this visit from 1. */
  readonly turn: number;
  readonly nodeId: string;
  readonly agentId: string;
  readonly intent: Intent;
  readonly autopilot: boolean;
  /** The conversation file: the visit's own, or one for the whole run. */
  readonly conversation: string;
  /** What conditions of edges see; absent while they are guidance only. */
  readonly conditions?: ConditionFacts;
  /** The story's graph state at the start of a visit, for its first turn. */
  readonly story?: StoryBrief;
  /** The run carries a story: `state.record` is among its tools. */
  readonly recordsState?: boolean;
  /** A system message for the model, said once, before this turn. */
  readonly correction?: string;
}

export interface ModelTurnResult {
  readonly calls: readonly PlannedCall[];
  /** The start of the answer's text; the question, when there are no calls. */
  readonly text: string;
  /** The provider cut the answer off: none of its calls may run (contracts §16). */
  readonly cutOff: boolean;
  readonly usage: Pick<Usage, "promptTokens" | "completionTokens">;
  readonly audit: AuditHead;
}

/** A tool call of the model, reduced to what the workflow decides on. Arguments stay in the conversation. */
export interface PlannedCall {
  /** Unique in the run. */
  readonly id: string;
  /** Absent when there is no such tool. */
  readonly tool?: ToolName;
  /** What the timeline shows, such as `fs.write @project/artifacts/x.md`. */
  readonly summary: string;
  /** Hash of tool and arguments, to notice repetition. */
  readonly key: string;
  /** Why the call cannot run at all. */
  readonly fault?: Fault;
  /** The change this call wants to make to the state document. */
  readonly change?: StateChange;
  /** What this call wants to record in the graph state. */
  readonly record?: JsonObject;
}

export type StateChange =
  | { readonly kind: "patch"; readonly update: FrontmatterUpdate; readonly ifMatchSha256?: string }
  | { readonly kind: "document"; readonly frontmatter: JsonObject; readonly ifMatchSha256?: string };

/** What of the graph state a node is told when it begins. */
export type StoryBrief = Pick<GraphState, "storyId" | "gateDecisions" | "artifactPaths">;

export interface ToolCallInput {
  readonly run: RunRef;
  readonly conversation: string;
  readonly callId: string;
  readonly nodeId: string;
  readonly agentId: string;
  /** The version of the state document that the run holds. */
  readonly stateSha256: string;
  /** ISO time for `updatedAt`. */
  readonly now: string;
  /** What conditions of edges see; absent while they are guidance only. */
  readonly conditions?: ConditionFacts;
  /** The graph state that `state.record` changes, as the run holds it. */
  readonly graph?: HeldGraphState;
  /** The call is not to run: this is its result. */
  readonly refusal?: Fault;
}

/** A graph state without its history, and how often it has changed: an older one never replaces a newer one. */
export interface HeldGraphState {
  readonly state: StateSnapshot["state"];
  readonly change: number;
}

/** What a call came to, without its contents. */
export interface ToolCallOutcome {
  readonly ok: boolean;
  readonly code?: ErrorCode;
  /** The start of the error's sentence. */
  readonly message?: string;
  /** It failed for a precondition: a version of a file, or the condition of an edge. */
  readonly unmet?: boolean;
  readonly path?: string;
  readonly bytes?: number;
  readonly sha256?: string;
  /** The state document after the call, when the call changed it. */
  readonly state?: { readonly sha256: string; readonly artifact?: string };
  /** The document on disk is not the one the run holds. */
  readonly stateConflict?: boolean;
  readonly audit: AuditHead;
}

export interface UserInput {
  readonly run: RunRef;
  readonly conversation: string;
  readonly inputId: string;
  readonly nodeId: string;
  readonly text: string;
}

export interface PhaseInput {
  readonly run: RunRef;
  readonly phase: RunPhase;
  /** Counts the run's phase changes from 1: the same change twice is one event. */
  readonly change: number;
  readonly nodeId: string;
  readonly fault?: Fault;
  readonly question?: Question;
  readonly usage: Usage;
}

export interface SnapshotInput extends HeldGraphState {
  readonly run: RunRef;
  /** Absent where the state changed without a node boundary: the run failed. */
  readonly boundary?: NodeBoundary;
}

/** Where a visit ended. */
export interface NodeBoundary {
  /** Counts node visits from 1. */
  readonly visit: number;
  /** The node that was left or, at the end, completed. */
  readonly nodeId: string;
  /** ISO time. */
  readonly timestamp: string;
  /** The version of the state document at this moment. */
  readonly documentSha256: string;
}
