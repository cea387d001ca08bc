import type { Budget, BudgetLimits, BudgetScope } from "../core/run/budget.js";
import type { CarriedRun, TakenAnswer } from "../core/run/carried-run.js";
import type { EngineLimits } from "../core/run/limits.js";
import type { WantedModel } from "../core/run/run-model.js";
import type { Rehearsal } from "../core/run/run-ref.js";
import type { StateSnapshotState } from "../core/graph-state/schemas.js";
import type { JsonObject } from "../core/json.js";
import type { StepSize } from "../core/step-size.js";

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
  /** Absent means the default of the worker that opens the run. Either way the run keeps it; agents' own models stay theirs. */
  readonly model?: WantedModel;
  /**
   * What a step of the history is: each turn and each save (`turns`, the default), or the work of a node (`nodes`), for models that
   * answer within a second. Absent means as the package says.
   */
  readonly steps?: StepSize;
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
  /** Set by the run above it: the run is that of a subworkflow. */
  readonly parent?: Parent;
}

/** The run that a subworkflow's run is started by. */
export interface Parent {
  readonly runId: string;
  /** How many runs are above. */
  readonly depth: number;
  /** What the run's variables are at its beginning. */
  readonly variables?: JsonObject;
  /** The graph state that it begins with: that of the run above, which carries a story. */
  readonly graphState?: StateSnapshotState;
  /** The variables that it hands up when it has completed. Absent where an earlier version has started it: then it hands up nothing. */
  readonly returns?: readonly string[];
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
  /** The question that is answered, `<visit>.<turn>`: no other takes the answer. Absent means whatever the node asks. */
  readonly question?: string;
  /** Who answers, at most 200 characters on one line. What is said here nobody checks. */
  readonly by?: string;
}

/** What the update `answer` returns: which answer Temporal has taken under its id. */
export interface AnswerTaken extends TakenAnswer {
  readonly accepted: true;
}
