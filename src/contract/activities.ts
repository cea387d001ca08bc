import type { ErrorCode, Fault } from "../core/errors.js";
import type { JsonObject } from "../core/json.js";
import type { WorkflowGraph } from "../core/package/graph.js";
import type { Intent } from "../core/prompt/shells.js";
import type { Frontmatter } from "../core/state/frontmatter.js";
import type { FileToolName, FrontmatterUpdate } from "../core/tools/tool-specs.js";
import type { AuditHead, Question, Rehearsal, RunPhase, RunRef, Usage } from "./run.js";

/**
 * The seam between workflow code and the world. Which of these run as regular activities and which as local
 * ones stands in `workflows/activity-options.ts`.
 */
export interface Activities extends FileToolActivities {
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
  /** Records the run's phase in the index and the audit log. */
  "run.phase"(input: PhaseInput): Promise<AuditHead>;
}

/** A file tool's activity has the tool's name: that is what the timeline shows. */
export type FileToolActivities = Record<FileToolName, (input: ToolCallInput) => Promise<ToolCallOutcome>>;

export interface OpenRunInput {
  readonly runId: string;
  readonly projectRoot: string;
  readonly packageId: string;
  readonly workflowRef?: string;
  readonly activeAgentId?: string;
  readonly storeId?: string;
  readonly evaluateConditions?: boolean;
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
  readonly tool?: FileToolName;
  /** What the timeline shows, such as `fs.write @project/artifacts/x.md`. */
  readonly summary: string;
  /** Hash of tool and arguments, to notice repetition. */
  readonly key: string;
  /** Why the call cannot run at all. */
  readonly fault?: Fault;
  /** The change this call wants to make to the state document. */
  readonly change?: StateChange;
}

export type StateChange =
  | { readonly kind: "patch"; readonly update: FrontmatterUpdate; readonly ifMatchSha256?: string }
  | { readonly kind: "document"; readonly frontmatter: JsonObject; readonly ifMatchSha256?: string };

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
  /** The call is not to run: this is its result. */
  readonly refusal?: Fault;
}

/** What a call came to, without its contents. */
export interface ToolCallOutcome {
  readonly ok: boolean;
  readonly code?: ErrorCode;
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
