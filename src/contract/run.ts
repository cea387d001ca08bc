import type { EngineLimits } from "../core/engine/limits.js";
import type { Fault } from "../core/errors.js";
import type { LoopState } from "../core/engine/loop-detection.js";
import type { GraphState, StateSnapshotState } from "../core/graph-state/schemas.js";
import type { JsonObject } from "../core/json.js";
import type { AllowedNext } from "../core/package/graph.js";
import type { Frontmatter } from "../core/state/frontmatter.js";

/** Where a run's files are and what it runs: the same for its whole life. */
export interface RunRef {
  readonly runId: string;
  /** The store that holds the run's files; a worker with another store refuses the run's tasks. */
  readonly storeId: string;
  readonly projectId: string;
  readonly packageId: string;
  readonly workflowRef: string;
  readonly activeAgentId: string;
  /** The run is rehearsed: a scripted model answers instead of a real one. */
  readonly rehearsal?: Rehearsal;
}

/** How a rehearsal walks (see `rehearsal/`). */
export interface Rehearsal {
  /** Take each branch in turn, run after run. */
  readonly branches?: boolean;
  /** Try one forbidden jump, so that the guard can be seen to refuse it. */
  readonly forbiddenJump?: boolean;
}

/** What starts a graph run. */
export interface GraphRunInput {
  readonly runId: string;
  /** Absolute path of the user's project on the worker's machine. */
  readonly projectRoot: string;
  readonly packageId: string;
  /** Which workflow of the package; empty or absent means its entry workflow. */
  readonly workflowRef?: string;
  /** The agent for nodes that name none; absent means the first agent of the package. */
  readonly activeAgentId?: string;
  /** The user's words for the first node, at most 64 KiB. */
  readonly input?: string;
  /** Tells agents to decide what they can decide without asking. */
  readonly autopilot?: boolean;
  /** Keeps one conversation for the whole run instead of one for each node visit. */
  readonly wholeRunConversation?: boolean;
  /** Makes `conditionExpr` of edges binding instead of guidance. */
  readonly evaluateConditions?: boolean;
  /** The store this run must be worked on by; absent means whichever opens it. */
  readonly storeId?: string;
  /** The story the run carries, such as `wrkf-1010`: with it, the run has a graph state (contracts §12). */
  readonly storyId?: string;
  /** Absent means the prefix of `storyId`. */
  readonly epicPrefix?: string;
  /** The graph state to begin with: that of a snapshot. */
  readonly graphState?: StateSnapshotState;
  readonly limits?: Partial<EngineLimits>;
  readonly rehearsal?: Rehearsal;
  /** False where the Temporal namespace lacks the search attributes of contracts §14. */
  readonly searchAttributes?: boolean;
  /** Set by the run itself when it continues as new: everything it knows, in one value. */
  readonly carried?: CarriedRun;
}

export type RunPhase = "idle" | "running" | "waiting-user" | "completed" | "failed";

/** Tokens as the model's provider counted them, and how often it was asked. */
export interface Usage {
  readonly modelTurns: number;
  readonly toolCalls: number;
  readonly promptTokens: number;
  readonly completionTokens: number;
}

/** What the run asks its user, and for which node. */
export interface Question {
  readonly nodeId: string;
  readonly text: string;
  /** `ENGINE_LOOP_DETECTED` when the engine asks, not the model. */
  readonly code?: string;
}

/** One line of what happened, for a live view; `seq` counts from 1 through the run. */
export interface ProgressLine {
  readonly seq: number;
  readonly nodeId: string;
  readonly text: string;
}

/** The head of the audit log's hash chain, as the run last saw it. */
export interface AuditHead {
  readonly lines: number;
  readonly sha256: string;
}

/** All that a run knows beside its package: nothing that matters lives next to it. */
export interface CarriedRun {
  readonly phase: RunPhase;
  /** The state document as the run last saved or read it. */
  readonly frontmatter: Frontmatter;
  readonly stateSha256: string;
  /** Counts node visits from 1. */
  readonly visit: number;
  /** Model turns of this visit. */
  readonly turn: number;
  readonly usage: Usage;
  readonly loop: LoopState;
  readonly progress: readonly ProgressLine[];
  readonly audit: AuditHead;
  readonly phaseChanges: number;
  /** Of a run that carries a story. */
  readonly story?: StoryProgress;
}

/** The graph state of a run, and what its next change depends on. */
export interface StoryProgress {
  readonly state: GraphState;
  /** Counts the state's changes from 1. */
  readonly change: number;
  /** How many calls of this visit have failed for a precondition. */
  readonly unmetPreconditions: number;
  /** The nodes visited so far, by their place in the graph. */
  readonly visited: readonly number[];
}

/** What the query `runState` returns. */
export interface RunState {
  readonly runId: string;
  readonly projectId: string;
  readonly packageId: string;
  readonly workflowRef: string;
  readonly phase: RunPhase;
  readonly currentNodeId: string;
  readonly stepsCompleted: readonly string[];
  readonly allowedNext: readonly AllowedNext[];
  readonly variables: JsonObject;
  readonly artifacts: readonly string[];
  readonly question?: Question;
  readonly failure?: Fault;
  readonly usage: Usage;
  /** Which visit of a node this is, and which model turn in it; both count from 1. */
  readonly visit: number;
  readonly turn: number;
  readonly progress: readonly ProgressLine[];
  readonly audit: AuditHead;
}

/** What a completed run returns. */
export interface RunResult {
  readonly runId: string;
  readonly phase: "completed";
  readonly currentNodeId: string;
  readonly stepsCompleted: readonly string[];
  readonly artifacts: readonly string[];
  readonly usage: Usage;
}

/** The argument of the update `answer`. */
export interface Answer {
  readonly nodeId: string;
  readonly text: string;
}
