import type { BundleToolName } from "../core/bundle/bundle-tools.js";
import type { KeptBoundary } from "../core/run/kept-boundary.js";
import type { ModelRefusal } from "../core/run/model-refusal.js";
import type { NoQuestion } from "../core/run/no-question.js";
import type { RunExecution } from "../core/run/run-execution.js";
import type { ErrorCode, Fault } from "../core/errors.js";
import type { JsonObject } from "../core/json.js";
import type { Intent } from "../core/prompt/shells.js";
import type { WorkflowGraph } from "../core/package/graph.js";
import type { HeldGraphState } from "../core/graph-state/held-state.js";
import type { GraphState } from "../core/graph-state/schemas.js";
import type { ConditionFacts } from "../core/state/transition-guard.js";
import type { OfferedTool } from "../core/tools/external-tool.js";
import type { FrontmatterUpdate, ToolName } from "../core/tools/tool-specs.js";
import type { BundleRunInput, GraphRunInput, Identified } from "./run.js";
import type { AuditHead } from "../core/run/audit-head.js";
import type { LoadedState, OpenedRun } from "../core/run/opened-run.js";
import type { StateChange } from "../core/run/state-change.js";
import type { Budget } from "../core/run/budget.js";
import type { RunPhase } from "../core/run/phase.js";
import type { Question } from "../core/run/question.js";
import type { AnsweredBy, ModelRef } from "../core/run/run-model.js";
import type { LastUserAnswer } from "../core/run/run-state.js";
import type { RunRef } from "../core/run/run-ref.js";
import type { TurnUsage, Usage } from "../core/run/usage.js";
import type { MovedEntries } from "../core/state/earlier-entries.js";
import type { UpdateStatement } from "./signed.js";

/**
 * The seam between workflow code and the world. Which of these run as regular activities and which as local
 * ones stands in `workflows/activity-options.ts`.
 */
export interface Activities extends ToolActivities, BundleToolActivities {
  /** Makes the run on disk (or finds it made by an earlier attempt) and returns what it runs. */
  "run.open"(input: OpenRunInput): Promise<OpenRunResult>;
  /** Reads the state document. */
  "state.load"(input: LoadStateInput): Promise<LoadedState>;
  /** Asks the model for one answer, or returns the answer already written down. */
  "model.turn"(input: ModelTurnInput): Promise<ModelTurnResult>;
  /**
   * The same inside a workflow task, and the first calls of the answer with it, and the turns that follow in the same moment: undefined where the answer
   * is not there within a moment, or cannot be had. A `model.turn` of the same worker takes over what has become of it.
   */
  "model.quick-turn"(input: ModelTurnInput): Promise<ModelTurnResult | undefined>;
  /** Saves the state document for a call that the guard has accepted. */
  "state.persist"(input: ToolCallInput): Promise<ToolCallOutcome>;
  /** What the run below a subworkflow's node is started with, or goes on with. */
  "run.below"(input: RunBelowInput): Promise<RunBelow>;
  /** More of a large graph than the run knows. */
  "graph.part"(input: GraphPartInput): Promise<WorkflowGraph>;
  /** Goes through a node that needs no model: saves the state document, which the guard has accepted, and says so in the audit log. */
  "node.pass"(input: NodePassInput): Promise<NodePassed>;
  /** Calls a tool that is not the engine's own, or finds out what has come of the call. */
  "tool.call"(input: ToolCallInput): Promise<ToolCallOutcome>;
  /** Records a call that cannot run: unknown tool, bad arguments. */
  "tool.refuse"(input: ToolCallInput): Promise<ToolCallOutcome>;
  /** Writes the user's words down, once. */
  "user.input"(input: UserInput): Promise<AuditHead>;
  /**
   * Keeps what a node boundary is: the state document as it stands and, of a run with a story, its graph state. Of lists that have
   * become long, the document then holds the newest entries; nothing is returned where it stays as it is.
   */
  "state.snapshot"(input: SnapshotInput): Promise<MovedEntries | undefined>;
  /** Whether what a signed run is told is signed. */
  "update.verify"(input: VerifyInput): Promise<{ readonly valid: boolean }>;
  /** Records the run's phase in the index and the audit log. */
  "run.phase"(input: PhaseInput): Promise<RecordedPhase>;
}

/** A tool's activity has the tool's name: that is what the timeline shows. */
export type ToolActivities = Record<ToolName, (input: ToolCallInput) => Promise<ToolCallOutcome>>;

export type BundleToolActivities = Record<BundleToolName, (input: ToolCallInput) => Promise<ToolCallOutcome>>;

export type OpenRunInput = (
  | { readonly kind: "graph"; readonly input: Identified<GraphRunInput> }
  | { readonly kind: "bundle"; readonly input: Identified<BundleRunInput> }
) & {
  /** Absent where an older version of Interlock asks. */
  readonly execution?: RunExecution;
  /** A part of the graph is enough: around this node, or where the state document says that the run stands. */
  readonly partOfGraph?: { readonly nodeId?: string };
};

/** A build that knows whole graphs only finds none where there is a part: it fails its task, and decides nothing by it. */
export type OpenRunResult = OpenedRun | (Omit<OpenedRun, "graph"> & { readonly graphPart: WorkflowGraph });

/** Which run an activity is for, and what that has seen of its files. */
export interface OfRun {
  readonly run: RunRef;
  /** So many lines the run knows its audit log to have: files with fewer are not those that it was worked on with. Absent where nobody says. */
  readonly auditLines?: number;
}

export interface GraphPartInput {
  readonly run: RunRef;
  readonly nodeId: string;
  /** What lies around the node; else the node alone, if there is one. */
  readonly around: boolean;
}

export type LoadStateInput = OfRun;

export interface ModelTurnInput extends OfRun {
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
  readonly story?: GraphStateBrief;
  /** The run carries a story: `state.record` is among its tools. */
  readonly recordsState?: boolean;
  /** The conversation of a visit that was cut short: what the user said there for this node is said again. */
  readonly resumes?: string;
  /** The user wants no questions at stop points. */
  readonly yolo?: boolean;
  /** A cost budget is set: a model without a price is refused. */
  readonly needsPrice?: boolean;
  /** A system message for the model, said once, before this turn. */
  readonly correction?: string;
  /** Which model is asked. Absent where the run knows none: the worker asks its own. */
  readonly model?: ModelRef;
  /** Another model is asked where this one fails: nobody waits long for it. */
  readonly mayFallBack?: boolean;
  /** A quick turn runs the first calls of its answer as well, where they are plain: as a {@link ToolCallInput} says. */
  readonly runs?: Pick<ToolCallInput, "stateSha256" | "now">;
  /** A quick turn takes so many more along with it at most. */
  readonly ahead?: number;
  /** A quick turn whose last call leads the run to another node keeps the boundary of the visit, which is over then. */
  readonly keeps?: true;
  /** Temporal suggests that the run continues as new. */
  readonly isLong?: true;
}

export interface ModelTurnResult {
  readonly calls: readonly PlannedCall[];
  /** The start of the answer's text; the question, when there are no calls. */
  readonly text: string;
  /** The provider cut the answer off: none of its calls may run (contracts §16). */
  readonly cutOff: boolean;
  readonly usage: TurnUsage;
  /** How long it took to have the answer and what was taken along with it, in milliseconds. Absent where a worker of an earlier version has taken the turn. */
  readonly tookMs?: number;
  /** Which model has answered, in a run that knows its models: another attempt's may be the one that was written down. */
  readonly answeredBy?: AnsweredBy;
  /** What an answer without calls means for a bundle run. */
  readonly ending?: Ending;
  /** Why an answer without calls asks nobody anything. Absent where it is a question. */
  readonly noQuestion?: NoQuestion;
  readonly refusal?: ModelRefusal;
  readonly audit: AuditHead;
  /** What the first calls have come to, where they were run along with the answer, and the `now` that they were run with. */
  readonly ran?: { readonly now: string; readonly outcomes: readonly ToolCallOutcome[] };
  /** The turns that a quick one has taken along, each as if it had been asked for by itself. */
  readonly ahead?: readonly ModelTurnResult[];
  /** The boundary that a quick turn has kept. */
  readonly kept?: KeptBoundary;
  /** As the input says. */
  readonly isLong?: true;
}

/** The model says that a bundle run is done: it is, or something is missing. */
export type Ending =
  | { readonly kind: "complete" }
  | {
      readonly kind: "incomplete";
      /** What the model is told. */
      readonly correction: string;
      /** What the user is told where telling the model has not helped. */
      readonly missing: string;
    };

/** A tool call of the model, reduced to what the workflow decides on. Arguments stay in the conversation. */
export interface PlannedCall {
  /** Unique in the run. */
  readonly id: string;
  /** Absent when there is no such tool. */
  readonly tool?: ToolName | BundleToolName;
  /** Which external tool it is for; `tool` is absent then. */
  readonly external?: Pick<OfferedTool, "name" | "effect" | "timeoutMs">;
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

/** What of the graph state a node is told when it begins. */
export type GraphStateBrief = Pick<GraphState, "storyId" | "gateDecisions" | "artifactPaths">;

export interface ToolCallInput extends OfRun {
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

export interface NodePassInput extends OfRun {
  /** Unique in the run. */
  readonly id: string;
  /** Counts node visits from 1. */
  readonly visit: number;
  readonly nodeId: string;
  readonly next: string;
  readonly update: FrontmatterUpdate;
  /** The version of the state document that the run holds. */
  readonly stateSha256: string;
  /** ISO time for `updatedAt`. */
  readonly now: string;
  readonly conditions?: ConditionFacts;
  /** Of a subworkflow: the run that has done its work. */
  readonly below?: { readonly runId: string; readonly workflow: string; readonly usage: Usage };
  /** Temporal suggests that the run continues as new. */
  readonly isLong?: true;
}

export interface NodePassed extends ToolCallOutcome {
  /** As the input says. */
  readonly isLong?: true;
}

export interface RunBelowInput extends OfRun {
  readonly nodeId: string;
  readonly agentId: string;
  /** What the run may still use, where it has a budget. */
  readonly budget?: Budget;
}

export interface RunBelow {
  readonly workflowId: string;
  readonly input: Identified<GraphRunInput>;
}

export interface UserInput extends OfRun {
  readonly conversation: string;
  readonly inputId: string;
  readonly nodeId: string;
  readonly text: string;
  /** Who said it, as they say. */
  readonly by?: string;
  /** The turn of the run that they follow on, 0 where none was taken in the visit. Absent where an earlier build has asked. */
  readonly after?: { readonly visit: number; readonly turn: number };
}

export interface VerifyInput {
  readonly run: RunRef;
  readonly statement: UpdateStatement;
  readonly signature?: string;
}

export interface PhaseInput extends OfRun {
  readonly phase: RunPhase;
  /** Somebody has paused the run. */
  readonly paused?: boolean;
  /** Counts the run's phase changes from 1: the same change twice is one event. */
  readonly change: number;
  readonly nodeId: string;
  readonly fault?: Fault;
  readonly question?: Question;
  /** That question's id, `<visit>.<turn>`. */
  readonly asked?: string;
  /** A pause, its end or a larger budget is recorded; the phase is what it was. */
  readonly again?: true;
  readonly lastAnswer?: LastUserAnswer;
  readonly usage: Usage;
  /** Which model has answered last. */
  readonly answeredBy?: AnsweredBy;
  /** The budget as it stands, of a run that has one. */
  readonly budget?: Budget;
  /** The ids of the newest raises that it holds. */
  readonly raises?: readonly string[];
}

export interface RecordedPhase extends AuditHead {
  /** At the run's end: what providers have counted of answers that were none, and no answer counts any more. */
  readonly spent?: TurnUsage;
}

export interface SnapshotInput extends OfRun {
  /** Absent where the graph state changed without a node boundary: the run begins or fails. */
  readonly boundary?: NodeBoundary;
  /** Of a run with a story. */
  readonly graph?: HeldGraphState;
}

/** Where a visit ended. */
export interface NodeBoundary {
  /** Counts node visits from 1. */
  readonly visit: number;
  /** The node that was left or, at the end, completed. */
  readonly nodeId: string;
  /** Where the run stands now. */
  readonly next: string;
  /** ISO time. */
  readonly timestamp: string;
  /** The version of the state document at this moment. */
  readonly documentSha256: string;
}
