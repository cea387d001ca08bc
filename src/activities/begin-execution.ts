import { type ApplicationFailure, Context } from "@temporalio/activity";
import type { OpenRunInput } from "../contract/activities.js";
import type { GraphRunInput } from "../contract/run.js";
import type { RunRef } from "../core/run/run-ref.js";
import { NO_USAGE } from "../core/run/usage.js";
import type { Fault } from "../core/errors.js";
import { workflowIdOf } from "../core/run/run-id.js";
import type { RunMetadata } from "../store/runs/run-metadata.js";
import type { Store } from "../store/store.js";
import type { BundleHost } from "../tools/bundle/bundle-host.js";
import { BUNDLE_NODE } from "../tools/bundle/bundle-sessions.js";
import { endWritesBefore } from "../tools/sandbox/temporary-file.js";
import { platformPins } from "../tools/sandbox/workspace.js";
import { toApplicationFailure, unwrap } from "./failures.js";
import type { ModelChoiceDeps } from "./run-models.js";
import { openFiles } from "./run-scope.js";
import type { SigningDeps } from "./signed-run.js";

export interface OpenRunDeps extends SigningDeps, ModelChoiceDeps {
  readonly bundles: BundleHost;
  /** The longest wait for one answer of a model, in milliseconds; absent means no longer than usual. */
  readonly longestModelTimeoutMs?: number;
  /** Those search attributes of contracts §14 that the namespace has; absent where that is not looked for. */
  readonly searchAttributes?: () => Promise<readonly string[] | undefined>;
  /** The newest execution of a workflow, as Temporal has it; absent where nobody can be asked. */
  readonly newestExecution?: (workflowId: string) => Promise<string | undefined>;
  /** What runs say to Temporal is sealed: whoever starts one does not decide what stays readable. */
  readonly seals?: boolean;
}

/** The run goes on from what is on disk: so it was started, or it was reset to a moment before it was opened. */
export function resumes({ input, execution }: OpenRunInput): boolean {
  return input.resume === true || execution?.resetOf !== undefined;
}

/** Whether the run is a new one: it neither goes on from what is on disk nor continues as new. */
export function begins(request: OpenRunInput): boolean {
  return !resumes(request) && request.input.carried === undefined;
}

/** The workflow that a new run belongs to, where it is not the one that the run's id says. */
export function workflowOf({ input, execution }: OpenRunInput): { readonly workflowId?: string } {
  const workflowId = execution?.workflowId;
  return workflowId === undefined || workflowId === workflowIdOf(input.runId) ? {} : { workflowId };
}

/**
 * Gives the run the number of this execution. Where it goes on, older executions end here, before anything is read: a
 * process of theirs that was stopped in the middle of something does not end it any more.
 */
export async function beginExecution(deps: OpenRunDeps, ref: RunRef, request: OpenRunInput): Promise<RunRef> {
  const { store, bundles } = deps;
  const { execution, kind } = request;
  const { executions } = unwrap(await store.runs.openFiles(ref.projectId, ref.runId));
  const goesOn = resumes(request);
  const number =
    execution === undefined
      ? executions.newest()
      : await executions.begin({ id: execution.id, startedAt: execution.startedAt }, goesOn, () =>
          isNewestInTemporal(deps),
        );
  const run = number === 1 ? ref : { ...ref, execution: number };
  if (!goesOn) return run;
  const files = await openFiles(store, run);
  await files.fence();
  if (kind === "bundle") await bundles.fenceSession(run.runId, number);
  endWritesBefore(platformPins(), store.lockDir, { runId: run.runId, execution: number });
  return run;
}

/** Whether the execution that this activity belongs to is the newest one of its workflow. */
async function isNewestInTemporal({ newestExecution }: OpenRunDeps): Promise<boolean> {
  if (newestExecution === undefined) return false;
  const { workflowId = "", runId } = Context.current().info.workflowExecution ?? {};
  return (await newestExecution(workflowId)) === runId;
}

/** What the activity fails with where a run that was made cannot begin. */
export async function unopened(
  store: Store,
  run: RunRef,
  fault: Fault,
  now: Date,
): Promise<ApplicationFailure> {
  const failure = toApplicationFailure(fault);
  if (!isTriedAgain(failure)) await noteUnopened(store, run, fault, now);
  return failure;
}

function isTriedAgain({ nonRetryable }: ApplicationFailure): boolean {
  if (nonRetryable === true) return false;
  const { attempt, retryPolicy } = Context.current().info;
  return attempt < (retryPolicy?.maximumAttempts ?? Number.POSITIVE_INFINITY);
}

/** A run that has no session fails before its first phase: what the store says of it must not be that it is idle. */
async function noteUnopened(store: Store, run: RunRef, fault: Fault, now: Date): Promise<void> {
  const known = unwrap(await store.runs.findRun(run.runId));
  if (known.phase !== "idle") return; // another attempt has opened it
  const files = await openFiles(store, run);
  const { code, message } = fault;
  const nodeId = run.kind === "bundle" ? BUNDLE_NODE : "";
  const status = { phase: "failed", nodeId, change: 0, usage: NO_USAGE } as const;
  await files.status.write({ ...status, fault: { code, message } }, (lock) =>
    store.runs.setPhase(run, "failed", now, lock),
  );
}

export function runRef(
  store: Store,
  metadata: RunMetadata,
  { rehearsal }: Pick<GraphRunInput, "rehearsal">,
): RunRef {
  const { runId, projectId, packageId, workflowRef, activeAgentId } = metadata;
  const { storeId } = store;
  const ref = { runId, storeId, projectId, packageId, workflowRef, activeAgentId };
  return rehearsal === undefined ? ref : { ...ref, rehearsal };
}
