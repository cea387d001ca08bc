import { type Fault, fail } from "../../core/errors.js";
import type { StateSnapshotState } from "../../core/graph-state/schemas.js";
import type { ConditionFacts } from "../../core/state/transition-guard.js";
import type { ToolResult } from "../../core/tools/tool-result.js";
import type { HeldLock } from "../../store/disk/fenced-lock.js";
import type { LoadedWorkflow } from "../../store/packages/package-loader.js";
import type { RunFiles } from "../../store/runs/run-files.js";
import type { FileLimits, Workspace } from "../sandbox/workspace.js";

/** Whose call it is, and in which run. */
export interface ToolCallContext {
  readonly projectRoot: string;
  readonly packageId: string;
  /** Which workflow of the package; its guard's graph is used. */
  readonly workflowId: string;
  readonly runId: string;
  readonly agentId: string;
  /** Which execution of the run calls: when a newer one has taken over, the call has no effect. Absent means no engine. */
  readonly execution?: number;
}

export interface ToolCallRequest {
  /** Equal ids in one run are one call: the second gets the recorded result and has no effect. */
  readonly toolCallId: string;
  readonly name: string;
  readonly argumentsJson: string;
  readonly context: ToolCallContext;
  readonly signal?: AbortSignal;
}

/** Where a call finds its run. */
export interface Place {
  readonly files: RunFiles;
  /** Real path of the project; undefined when its directory is gone. */
  readonly root: string | undefined;
}

/** What the run engine knows beyond the call itself. */
export interface EngineKnowledge {
  readonly nodeId?: string;
  /** The version of the state document the engine holds: another one on disk is a conflict. */
  readonly stateSha256?: string;
  /** ISO time for `updatedAt`. */
  readonly now?: string;
  /** What conditions of edges see; absent means that they are guidance only. */
  readonly conditions?: ConditionFacts;
  /** The graph state that `state.record` changes, where the engine holds it. */
  readonly graph?: { readonly state: StateSnapshotState; readonly change: number };
  /** The call is not to run: this is its result. */
  readonly refusal?: Fault;
}

/** A call whose turn has come: what is asked, and all that its caller knows. */
export interface PlacedCall {
  readonly request: ToolCallRequest;
  readonly knowledge: EngineKnowledge;
  readonly place: Place;
  /** The run's state lock, for a call that changes files: who has lost it changes nothing more. */
  readonly lock: HeldLock;
}

/** Everything one call works with. */
export interface CallEnvironment {
  readonly files: RunFiles;
  readonly workspace: Workspace;
  readonly workflow: LoadedWorkflow;
  readonly limits: FileLimits;
  readonly knowledge: EngineKnowledge;
  /** The run's state lock, for a call that changes files: who has lost it changes nothing more. */
  readonly lock: HeldLock;
}

/** What a call came to, before it is recorded. */
export interface CallOutcome {
  readonly result: ToolResult;
  /** The state document after the call, when the call changed it. */
  readonly state?: { readonly sha256: string; readonly artifact?: string };
  /** The document on disk is not the one the engine holds. */
  readonly stateConflict?: boolean;
}

export function refused(error: Fault): CallOutcome {
  return { result: { ok: false, error } };
}

/** Says nothing of where the project lies: a result may be shown to a model. */
export const NO_PROJECT: Fault = fail("E_PROJECT_INVALID", "The project's directory does not exist.").error;
