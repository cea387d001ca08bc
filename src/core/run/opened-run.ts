import type { StateSnapshotState } from "../graph-state/schemas.js";
import type { WorkflowGraph } from "../package/graph.js";
import type { Frontmatter } from "../state/state-frontmatter.js";
import type { StepSize } from "../step-size.js";
import type { AuditHead } from "./audit-head.js";
import type { Budget } from "./budget.js";
import type { GraphStateProgress, TakenUpdate } from "./carried-run.js";
import type { RunModels } from "./run-model.js";
import type { RunRef } from "./run-ref.js";
import type { Usage } from "./usage.js";

/** What the worker that opened a run knew to do. One of an earlier version said nothing of what it did not know: the run goes on as it did. */
export interface OpenerAbilities {
  /** The run keeps its memo. */
  readonly keepsMemo?: true;
  /** Where its steps are nodes, lists and searches are told only of nodes that it stays at. */
  readonly tellsSeldom?: true;
  /** Where its steps are nodes, what turns took decides, and no clock. */
  readonly timesTurns?: true;
  /** Where its steps are nodes, the history holds each reading of the document. */
  readonly recordsReads?: true;
  /** Where it is one long visit, a call that is made again and again is noticed although it works. */
  readonly noticesRepeats?: true;
  /** Where its steps are nodes, boundaries of quick ones are kept in the task at hand. */
  readonly keepsQuickly?: true;
  /** Between two turns, what the history keeps of its own length decides whether the run continues as new. */
  readonly recordsLength?: true;
}

export interface OpenedRun extends OpenerAbilities {
  readonly run: RunRef;
  /** Of a bundle run: one node, its workflow. Of a run of a large graph: its part around where the run stands. */
  readonly graph: WorkflowGraph;
  /** What an earlier execution of the run left; absent for a run that begins. */
  readonly resumed?: ResumedRun;
  /** Of a fork: how many visits were made before it begins. */
  readonly forkedAfter?: number;
  /** The graph state that a fork begins with. */
  readonly graphState?: StateSnapshotState;
  /** The package asks for one conversation from the run's beginning to its end. A run that was started with a say in it has that. */
  readonly wholeRunConversation?: boolean;
  /** What the package asks for. A run that was started with a say in it has that. */
  readonly steps?: StepSize;
  /** The execution that it was opened for, where that was reset. */
  readonly openedFor?: string;
  /** Absent for a rehearsal, and where a worker of an earlier version opened the run: then each worker asks its own. */
  readonly models?: RunModels;
  /** The longest wait for one answer of a model, as the worker is set. Absent means 540 s. */
  readonly modelTimeoutMs?: number;
  /** Those search attributes of contracts §14 that the namespace has; absent where nobody has looked. */
  readonly searchAttributes?: readonly string[];
  /** What is said to Temporal is sealed: the worker alone says which search attributes are set. */
  readonly seals?: true;
  /** Of a run whose steps are nodes, what it begins or goes on with. Absent where it is long, and where a worker of an earlier version has opened it. */
  readonly document?: LoadedState;
}

/** The state document as it was read. */
export interface LoadedState {
  readonly frontmatter: Frontmatter;
  readonly sha256: string;
}

/** What the run folder says of a run that goes on. */
export interface ResumedRun {
  /** The last visit that was begun. */
  readonly visit: number;
  /** The last model turn of that visit. */
  readonly turn: number;
  readonly usage: Usage;
  /** How many of its model turns were those of runs below it; absent for none. */
  readonly turnsBelow?: number;
  readonly phaseChanges: number;
  readonly audit: AuditHead;
  /** As it was raised; absent where the run has none, or never changed its phase. */
  readonly budget?: Budget;
  /** The ids of the newest raises that it holds. */
  readonly raises?: readonly string[];
  /** What the user said last, first words and answers. Absent where a worker of an earlier version opened the run. */
  readonly answers?: readonly TakenUpdate[];
  readonly story?: Pick<GraphStateProgress, "state" | "change" | "visited">;
  /** It had been completed. */
  readonly isCompleted?: boolean;
  /** Of a bundle run: the newest files of its session. */
  readonly saved?: readonly string[];
  /** Of a bundle run: its conversation ends with words of the model to the user, and nobody has answered them. */
  readonly isUnanswered?: boolean;
}
