import type { Fault } from "../../core/errors.js";
import type { HeldGraphState } from "../../core/graph-state/held-state.js";
import type { ConditionFacts } from "../../core/state/transition-guard.js";
import type { HeldLock } from "../../store/disk/fenced-lock.js";
import type { LoadedWorkflow } from "../../store/packages/package-loader.js";
import type { CallOutcome } from "../../store/runs/call-journal.js";
import type { RunFiles } from "../../store/runs/run-files.js";
import type { FileLimits, Workspace } from "../sandbox/workspace.js";

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
  readonly graph?: HeldGraphState;
  /** The call is not to run: this is its result. */
  readonly refusal?: Fault;
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

export function refused(error: Fault): CallOutcome {
  return { result: { ok: false, error } };
}
