import type { Fault } from "../errors.js";
import type { JsonObject } from "../json.js";
import type { AllowedNext } from "../package/graph.js";
import type { AuditHead } from "./audit-head.js";
import type { Budget } from "./budget.js";
import type { RunPhase } from "./phase.js";
import type { AnsweredBy, ModelRef } from "./run-model.js";
import type { Question } from "./question.js";
import type { Usage } from "./usage.js";

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
  /** The newest ones: those that the state document holds. */
  readonly artifacts: readonly string[];
  /** How many there are before them; absent where there are none. */
  readonly earlierArtifacts?: number;
  readonly question?: Question;
  readonly failure?: Fault;
  /** Somebody has paused the run: it goes on after `resume`. */
  readonly paused: boolean;
  readonly budget: Budget;
  readonly usage: Usage;
  /** The run of a subworkflow that this one waits for. */
  readonly below?: RunBelowState;
  /** Of a subworkflow's run: the run that has started it. */
  readonly parentRunId?: string;
  /** Absent for a rehearsal, and before the run is open. */
  readonly model?: ModelState;
  /** Which visit of a node this is, and which model turn in it; both count from 1. */
  readonly visit: number;
  readonly turn: number;
  /** The newest answer that was taken. */
  readonly lastAnswer?: LastUserAnswer;
  readonly progress: readonly ProgressLine[];
  readonly audit: AuditHead;
}

/** A run of a subworkflow, while the run above it waits for its end. */
export interface RunBelowState {
  readonly runId: string;
  readonly workflowRef: string;
}

/** What was answered last, and by whom. */
export interface LastUserAnswer {
  readonly nodeId: string;
  /** The start of its text. */
  readonly begins?: string;
  /** Who answered, as they say: nobody checks it. */
  readonly by?: string;
}

/** Which models a run uses. */
export interface ModelState {
  /** The model of the agent at hand, and those that are asked in its place. */
  readonly chain: readonly ModelRef[];
  /** Whose answer the last one was. */
  readonly answeredBy?: AnsweredBy;
  /** Why the turn at hand waits for another worker. */
  readonly missing?: string;
}

/** One line of what happened, for a live view; `seq` counts from 1 through the run. */
export interface ProgressLine {
  readonly seq: number;
  readonly nodeId: string;
  readonly text: string;
}
