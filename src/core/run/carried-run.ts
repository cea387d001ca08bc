import type { GraphState } from "../graph-state/schemas.js";
import type { Intent } from "../prompt/shells.js";
import type { Frontmatter } from "../state/state-frontmatter.js";
import type { AuditHead } from "./audit-head.js";
import type { Budget } from "./budget.js";
import type { LoopState } from "./loop-detection.js";
import type { RunPhase } from "./phase.js";
import type { Question } from "./question.js";
import type { AnsweredBy, RunModels } from "./run-model.js";
import type { ProgressLine } from "./run-state.js";
import type { Usage } from "./usage.js";

/** Under which the user's first words are written down; an answer's is that of its update. */
export const FIRST_WORDS_ID = "input";

/** All that a run knows beside its package and takes along as it continues as new. */
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
  /** How many of its model turns were those of runs below it. */
  readonly turnsBelow?: number;
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
  /** Which models the run uses, as they were when it was opened. */
  readonly models?: RunModels;
  /** A worker has left a turn to others: from then on each is offered to all of them at once. */
  readonly isLeft?: boolean;
  /** The last turn took too long to be waited for inside a workflow task. */
  readonly isSlow?: boolean;
  /** Which of them has answered last. */
  readonly answeredBy?: AnsweredBy;
  /** The execution that the run belongs to, where it is not the first of its chain: it was reset. */
  readonly executionId?: string;
  /** The newest updates that were taken, raises apart: Temporal knows those of one execution only. */
  readonly taken?: readonly TakenUpdate[];
  /** The ids of the newest raises that the budget holds. */
  readonly raises?: readonly string[];
  /** The workflow of the run below that goes on by itself, while it is waited for: it is no child of this one. */
  readonly awaits?: string;
  /** What the run waits with, where it has continued as new while it waits. */
  readonly question?: Question;
  /** Of a run that carries a story. */
  readonly story?: GraphStateProgress;
}

/** An answer, a pause or a resumption. */
export interface TakenUpdate {
  readonly id: string;
  readonly answer?: TakenAnswer;
}

/** Which answer it was. */
export interface TakenAnswer {
  readonly nodeId: string;
  /** The start of its text. Absent where a worker of an earlier version took it. */
  readonly begins?: string;
  /** Who answered, as they say. */
  readonly by?: string;
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
  /** Which model of its agent the visit asks, from 0. Absent means the first. */
  readonly model?: number;
  /** How often running no worker had that model, and why the last one had not. */
  readonly missing?: { readonly times: number; readonly why: string };
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
