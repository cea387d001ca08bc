import type { ListedRun } from "../client/runs/list-runs.js";
import type { PendingActivity, TaskFailure } from "../client/runs/pending-work.js";
import type { RunTimes } from "../client/runs/run-times.js";
import type { Bounded } from "../contract/bounded.js";
import type { StoredArtifact, StoredRun } from "../contract/reads.js";
import type { Fault } from "../core/errors.js";
import type { JsonObject } from "../core/json.js";
import type { Finding } from "../core/package/findings.js";
import type { NodeType } from "../core/package/schemas.js";
import type { Budget } from "../core/run/budget.js";
import type { RunPhase } from "../core/run/phase.js";
import type { ModelState, RunBelowState } from "../core/run/run-state.js";
import type { Usage } from "../core/run/usage.js";

/* What the API says of runs and packages. */

/** A run in a listing: what is absent nobody knows. With the code `BUDGET_EXCEEDED` it takes a larger budget, no answer. */
export interface RunRow extends Omit<ListedRun, "workflowType"> {
  readonly kind: "graph" | "bundle";
}

export interface RunsPage {
  readonly runs: readonly RunRow[];
  /** There are more after these. */
  readonly more: boolean;
}

/** A question that waits. */
export interface WaitingQuestion extends Pick<
  RunRow,
  "runId" | "workflowId" | "packageId" | "project" | "code"
> {
  /** `<visit>.<turn>`: what `answer` takes. Absent where the run's worker is of an earlier version. */
  readonly id?: string;
  readonly nodeId: string;
  /** Its first line. `standing` has the whole. */
  readonly text: string;
  readonly since: string;
}

/** A run as Temporal knows it, whoever works on it. */
export interface RunDescription {
  readonly row: RunRow;
  readonly times: RunTimes;
  /** Whether a worker polls its queue, or did a moment ago. */
  readonly polled: boolean;
  /** What it waits for: model turns and calls under way, with attempts and what the last one failed for. */
  readonly pending: readonly PendingActivity[];
  /** Since when its next step waits for a worker. */
  readonly waitsForWorkerSince?: string;
  /** Its next step fails in whichever worker takes it. */
  readonly taskFailure?: TaskFailure;
  /** Why it ended, where it did not complete. */
  readonly failure?: Fault;
  /** In Temporal's Web UI; null where its address is not known. */
  readonly webUrl: string | null;
}

interface StandingQuestion {
  readonly id: string;
  readonly nodeId: string;
  readonly text: string;
  readonly code?: string;
}

/** A question of a run below: it is answered there. */
export type QuestionBelow = StandingQuestion & RunBelowState;

/** A run as its worker says it. */
export interface RunStanding {
  readonly phase: RunPhase;
  readonly paused: boolean;
  readonly nodeId: string;
  readonly stepsCompleted: readonly string[];
  readonly variables: JsonObject;
  readonly artifacts: readonly string[];
  /** Whole. `id` is what `answer` takes; one with the code `BUDGET_EXCEEDED` takes `raise`. */
  readonly question?: StandingQuestion;
  readonly failure?: Fault;
  readonly budget: Budget;
  readonly usage: Usage;
  readonly usageByNode: readonly { readonly nodeId: string; readonly usage: Usage }[];
  readonly model?: ModelState;
  /** The run of a subworkflow that it waits for, with what somebody is asked in that one or below it. */
  readonly below?: RunBelowState & { readonly asks?: QuestionBelow };
  /** As the store's index has it: package, workflow, agent, forked from. */
  readonly stored: StoredRun;
  readonly projectRoot: string | null;
  /** What of the run's files is missing or broken. */
  readonly problem?: string;
}

/** A graph with the run on it. */
export interface RunGraph {
  readonly entryNodeId: string;
  readonly nodes: readonly GraphNode[];
  readonly edges: readonly GraphEdge[];
  /** Moves that the guard has refused and that no edge stands for. */
  readonly refusedMoves: readonly { readonly from: string; readonly to: string; readonly count: number }[];
  /** In order; of very many the newest 2,000. */
  readonly visits: readonly Visit[];
  /** How many there were in all. */
  readonly visitCount: number;
}

export interface GraphNode {
  readonly id: string;
  readonly type: NodeType;
  readonly title?: string;
  readonly agentId?: string;
  /** How often it was entered. */
  readonly visits: number;
  /** The run stands here; of one that has failed: it has failed here. */
  readonly isCurrent: boolean;
}

export interface GraphEdge {
  readonly from: string;
  readonly to: string;
  readonly label: string;
  readonly isDefault: boolean;
  readonly conditionText?: string;
  /** How often the run has gone this way. Of two edges between the same nodes, both say it. */
  readonly taken: number;
  /** How often it was refused. */
  readonly refused: number;
  /** It leaves the current node, and its condition does not hold now. */
  readonly isClosed: boolean;
}

/** One visit of a node, from 1. */
export interface Visit {
  readonly visit: number;
  readonly nodeId: string;
  /** Where it led to; absent while it lasts. */
  readonly next?: string;
  /** When it ended. */
  readonly endedAt?: string;
  /** The conversation in which it took place; absent where none was written. */
  readonly conversation?: string;
  /** The run of the subworkflow that ran in it, or does now. */
  readonly below?: RunBelowState;
}

/** What a bundle run has instead of a graph. */
export interface BundleFacts {
  /** On the store's machine. */
  readonly sessionFolder: string | null;
  /** Files of its workflow that it has read, in order of the first time, 500 at most. */
  readonly steps: readonly { readonly path: string; readonly reads: number; readonly firstAt: string }[];
  readonly files: readonly StoredArtifact[];
  readonly conversations: readonly { readonly name: string; readonly bytes: number }[];
}

export interface PackageFacts {
  readonly packageId: string;
  readonly name: string;
  readonly version: string;
  readonly description: string;
  readonly workflows: readonly PackageWorkflow[];
  readonly agents: readonly PackageAgent[];
  /** What a check of it says, 100 at most. */
  readonly findings: readonly PackageFinding[];
}

export interface PackageWorkflow {
  readonly id: string;
  readonly isEntry: boolean;
  readonly entryNodeId: string;
  readonly nodes: readonly Pick<GraphNode, "id" | "type" | "title" | "agentId">[];
  readonly edges: readonly Pick<GraphEdge, "from" | "to" | "label" | "isDefault" | "conditionText">[];
}

export interface PackageAgent {
  readonly id: string;
  readonly name: string;
  readonly title: string;
  readonly icon: string;
  readonly role: Bounded;
}

export type PackageFinding = Finding;
