import { type Fault, fail } from "../../core/errors.js";
import type { HeldGraphState } from "../../core/graph-state/held-state.js";
import type { ConditionFacts } from "../../core/state/transition-guard.js";
import type { HeldLock } from "../../store/disk/fenced-lock.js";
import type { LoadedWorkflow } from "../../store/packages/package-loader.js";
import type { CallOutcome } from "../../store/runs/call-journal.js";
import type { PermittedRoot } from "../../store/roots/roots.js";
import type { RunFiles } from "../../store/runs/run-files.js";
import type { CallContext, CallRequest } from "../recorded-call.js";
import type { FileLimits, Workspace } from "../sandbox/workspace.js";

/** Whose call it is, and in which run. */
export interface ToolCallContext extends CallContext {
  readonly projectRoot: string;
  readonly packageId: string;
  /** Which workflow of the package; its guard's graph is used. */
  readonly workflowId: string;
}

export interface ToolCallRequest extends CallRequest {
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
  /** The project's directory, which `permit` has let this very call open. */
  readonly project?: PermittedRoot;
  readonly nodeId?: string;
  /** The version of the state document the engine holds: another one on disk is a conflict. */
  readonly stateSha256?: string;
  /** ISO time for `updatedAt`. */
  readonly now?: string;
  /** What conditions of edges see; absent means that they are guidance only. */
  readonly conditions?: ConditionFacts;
  /** The graph state that `state.record` changes, where the engine holds it. */
  readonly graph?: HeldGraphState;
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

/** What a change of the state document works with. */
export type StateEnvironment = Omit<CallEnvironment, "workspace">;

export function refused(error: Fault): CallOutcome {
  return { result: { ok: false, error } };
}

/** Says nothing of where the project lies: a result may be shown to a model. */
export const NO_PROJECT: Fault = fail("E_PROJECT_INVALID", "The project's directory does not exist.").error;
