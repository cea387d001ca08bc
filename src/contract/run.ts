import type { BudgetLimits, BudgetScope } from "../core/run/budget.js";
import type { EngineLimits } from "../core/run/limits.js";
import type { Fault } from "../core/errors.js";
import type { LoopState } from "../core/run/loop-detection.js";
import type { GraphState } from "../core/graph-state/schemas.js";
import type { JsonObject } from "../core/json.js";
import type { AllowedNext } from "../core/package/graph.js";
import type { Intent } from "../core/prompt/shells.js";
import type { Frontmatter } from "../core/state/state-frontmatter.js";

/** Where a run's files are and what it runs: the same for its whole life. */
export interface RunRef {
  readonly runId: string;
  /** The store that holds the run's files; a worker with another store refuses the run's tasks. */
  readonly storeId: string;
  readonly projectId: string;
  readonly packageId: string;
  readonly workflowRef: string;
  readonly activeAgentId: string;
  /** Absent for a graph run. */
  readonly kind?: "bundle";
  /** Counts the executions of the run from 1: a newer one shuts the older ones out. Absent means the first. */
  readonly execution?: number;
  /** The run is rehearsed: a scripted model answers instead of a real one. */
  readonly rehearsal?: Rehearsal;
  /** The run was begun with a signature, and takes updates with one only. A worker that takes signed starts works on no other. */
  readonly signed?: true;
}

/** How a rehearsal walks (see `rehearsal/`). */
export interface Rehearsal {
  /** Take each branch in turn, run after run. */
  readonly branches?: boolean;
  /** Try one forbidden jump, so that the guard can be seen to refuse it. */
  readonly forbiddenJump?: boolean;
}

/** What every run is started with. */
export interface RunInput {
  /**
   * A UUID in lower case. Absent means the one that the workflow id says, `run-<runId>`; of a workflow with another id it is
   * the run id that Temporal gave to the workflow's first execution.
   */
  readonly runId?: string;
  /** Absolute path of the user's project on the worker's machine. */
  readonly projectRoot: string;
  /** The user's first words, at most 64 KiB. */
  readonly input?: string;
  /** Tells agents to decide what they can decide without asking. */
  readonly autopilot?: boolean;
  /** The store this run must be worked on by; absent means whichever opens it. */
  readonly storeId?: string;
  readonly limits?: Partial<EngineLimits>;
  /** Beyond it the run waits for a decision; absent means none. */
  readonly budget?: Budget;
  readonly rehearsal?: Rehearsal;
  /**
   * True where the Temporal namespace has all search attributes of contracts §14, false where none are to be set. Absent means
   * that the worker looks, and that those are set which the namespace has.
   */
  readonly searchAttributes?: boolean;
  /** The run exists in the store and goes on from there: after a failure, or because Temporal has lost it. */
  readonly resume?: boolean;
  /** By the secret of the store, where it takes signed starts only: `interlock run --print-input` makes one. */
  readonly signature?: string;
  /** Set by the run itself when it continues as new: everything it knows, in one value. */
  readonly carried?: CarriedRun;
}

/** What a run is started with, once it is clear which run it is. */
export type Identified<I extends RunInput> = I & { readonly runId: string };

/** What starts a graph run. */
export interface GraphRunInput extends RunInput {
  /** The id of an installed package, its name, or `name@version`: of several the newest, by SemVer. */
  readonly packageId: string;
  /** Which workflow of the package; empty or absent means its entry workflow. */
  readonly workflowRef?: string;
  /** The agent for nodes that name none; absent means the first agent of the package. */
  readonly activeAgentId?: string;
  /** Keeps one conversation for the whole run instead of one for each node visit. */
  readonly wholeRunConversation?: boolean;
  /** Makes `conditionExpr` of edges binding instead of guidance. */
  readonly evaluateConditions?: boolean;
  /** The story the run carries, such as `wrkf-1010`: with it, the run has a graph state (contracts §12). */
  readonly storyId?: string;
  /** Absent means the prefix of `storyId`. */
  readonly epicPrefix?: string;
  /** The run begins as another run of the same package stood at a node boundary. */
  readonly fork?: Fork;
}

/** From where a run is forked. */
export interface Fork {
  readonly runId: string;
  /** The run begins at this node, as it was entered last. */
  readonly fromNode?: string;
  /** The run begins after this visit; 0 is the beginning. Names the boundary exactly. */
  readonly visit?: number;
  /** Variables to set. */
  readonly set?: JsonObject;
  /** Begin also where files of that moment cannot be restored. */
  readonly allowMissing?: boolean;
}

/** What starts a bundle run (contracts §13). Paths are absolute, on the worker's machine. */
export interface BundleRunInput extends RunInput {
  readonly bundleRoot: string;
  readonly coreRoot?: string;
  /** The `workflow.yaml`: `{bundle-root}/…`, or relative to the bundle root. */
  readonly workflowPath: string;
  readonly agentFile?: string;
  /** Tells the model to go on at stop points where the workflow allows it. */
  readonly yolo?: boolean;
  /** Where session folders are made; absent means the project's `artifacts`. */
  readonly outputRoot?: string;
  /** The name of the session folder; absent means the run's id. */
  readonly sessionId?: string;
}

/** What may be used before the run waits for a decision: in the whole run, and in one visit of a node. */
export interface Budget {
  readonly run?: BudgetLimits;
  readonly node?: BudgetLimits;
}

export type RunPhase = "idle" | "running" | "waiting-user" | "completed" | "failed";

/** Tokens as the model's provider counted them, and how often it was asked. `cost` is in the currency of the prices. */
export interface Usage {
  readonly modelTurns: number;
  readonly toolCalls: number;
  readonly promptTokens: number;
  readonly completionTokens: number;
  readonly cost: number;
}

/** What the run asks its user, and for which node. */
export interface Question {
  readonly nodeId: string;
  readonly text: string;
  /**
   * `ENGINE_LOOP_DETECTED` or `BUDGET_EXCEEDED` when the engine asks, not the model; `LLM_REFUSED` or
   * `LLM_CONTENT_FILTERED` when the model has refused; `LLM_BAD_RESPONSE` when its answers ask nothing.
   */
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
  /** The visit that is under way; absent between two visits. */
  readonly visiting?: Visiting;
  readonly usage: Usage;
  /** What this visit has used. */
  readonly visitUsage: Usage;
  readonly budget: Budget;
  readonly paused: boolean;
  /** The run is over by a word of the model or the user, not by its graph. */
  readonly ended: boolean;
  readonly loop: LoopState;
  readonly progress: readonly ProgressLine[];
  readonly audit: AuditHead;
  readonly phaseChanges: number;
  /** The execution that the run belongs to, where it is not the first of its chain: it was reset. */
  readonly executionId?: string;
  /** The newest updates that were taken, raises apart: Temporal knows those of one execution only. */
  readonly taken?: readonly TakenUpdate[];
  /** The ids of the newest raises that the budget holds. */
  readonly raises?: readonly string[];
  /** Of a run that carries a story. */
  readonly story?: GraphStateProgress;
}

/** An answer, a pause or a resumption. */
export interface TakenUpdate {
  readonly id: string;
  readonly answer?: Omit<AnswerTaken, "accepted">;
}

/** A visit of a node that is under way. */
export interface Visiting {
  readonly nodeId: string;
  readonly intent: Intent;
  /** The conversation of the visit that was cut short before this one: what the user said there is said again. */
  readonly resumes?: string;
  /** A system message for the next turn. */
  readonly correction?: string;
  /** How often running the model was told that its answer asks nothing. */
  readonly nudges?: number;
}

/** The graph state of a run, and what its next change depends on. */
export interface GraphStateProgress {
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
  /** Somebody has paused the run: it goes on after `resume`. */
  readonly paused: boolean;
  readonly budget: Budget;
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

/** What an update says where the store takes signed starts only. */
export interface MaybeSigned {
  readonly signature?: string;
}

/** The argument of the update `budget`: what is added to the limits of one scope. */
export interface BudgetRaise extends MaybeSigned {
  /** Absent means the one whose limit was reached, else the run's. */
  readonly scope?: BudgetScope;
  readonly add: BudgetLimits;
}

/** The argument of the update `answer`. */
export interface Answer extends MaybeSigned {
  readonly nodeId: string;
  readonly text: string;
}

/** What the update `answer` returns: which answer Temporal has taken under its id. */
export interface AnswerTaken {
  readonly accepted: true;
  readonly nodeId: string;
  /** The start of its text. Absent where a worker of an earlier version took it. */
  readonly begins?: string;
}
