import { WorkflowExecutionAlreadyStartedError } from "@temporalio/client";
import { WORKFLOW_TASK_TIMEOUT, type RunWorkflow, workflowOfKind } from "../../contract/names.js";
import { validateRunInput } from "../../contract/run-input.js";
import type { BundleRunInput, GraphRunInput, RunInput } from "../../contract/run.js";
import { type Sign, startStatement } from "../../contract/signed.js";
import { codeSpan, summaryLine } from "../../core/markdown.js";
import { workflowIdOf } from "../../core/run/run-id.js";
import { directoryName } from "../../core/run/listed-texts.js";
import { cutText } from "../../core/text.js";
import { InterlockError, jsonOf } from "../temporal/interlock-error.js";
import type { RunRequest, TemporalAccess } from "../runs/run-start.js";

/** What is launched: a run that was never made takes its id from Temporal. */
export type Launch =
  | RunRequest
  | { readonly kind: "graph"; readonly input: GraphRunInput; readonly workflowId?: string }
  | { readonly kind: "bundle"; readonly input: BundleRunInput; readonly workflowId?: string };

/** How it is launched. */
interface LaunchOptions {
  /** The namespace has all search attributes of contracts §14. */
  readonly searchAttributes: boolean;
  /** A run that is there and over is started again; otherwise it stays as it is. */
  readonly reuse: "ALLOW_DUPLICATE_FAILED_ONLY" | undefined;
}

/** Starts a run's workflow, unless it is there. Returns what the run and its workflow are called. */
export async function launchRun(
  access: TemporalAccess & { readonly taskQueue: string },
  { kind, input: request, workflowId: known, searchAttributes, reuse }: Launch & LaunchOptions,
): Promise<{ readonly runId: string; readonly workflowId: string; readonly firstExecutionRunId?: string }> {
  const workflow = workflowOfKind(kind);
  const { runId = "" } = request;
  const workflowId = known ?? workflowIdOf(runId);
  const input = await signedInput(access.sign, {
    workflow,
    workflowId,
    input: searchAttributes ? { ...request, searchAttributes } : request,
  });
  const name = kind === "graph" ? packageName(request) : request.workflowPath;
  try {
    const { firstExecutionRunId } = await access.temporal.workflow.start(workflow, {
      workflowId,
      taskQueue: access.taskQueue,
      args: [input],
      workflowIdConflictPolicy: "USE_EXISTING",
      workflowIdReusePolicy: reuse ?? "REJECT_DUPLICATE",
      workflowTaskTimeout: WORKFLOW_TASK_TIMEOUT,
      staticSummary: summaryLine(
        `${cutText(name, 75)} on ${cutText(directoryName(request.projectRoot), 40)}`,
      ),
      staticDetails: `Run ${codeSpan(runId || workflowId)} of ${codeSpan(name)} on ${codeSpan(request.projectRoot, 1_000)}.`,
    });
    return { runId: runId || firstExecutionRunId, workflowId, firstExecutionRunId };
  } catch (error) {
    // The run is there and over: started again it is the same run, and nothing is left to retry.
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
    return { runId, workflowId };
  }
}

/** A request whose run begins anew, with an id that Temporal gives it. */
export function begunAnew(request: RunRequest, changes: Pick<RunInput, "limits" | "model">): Launch {
  if (request.kind === "graph") {
    const { runId: _, carried: _carried, resume: _resume, ...input } = request.input;
    return { ...request, input: { ...input, ...changes } };
  }
  const { runId: _, carried: _carried, resume: _resume, ...input } = request.input;
  return { ...request, input: { ...input, ...changes } };
}

/** A request that makes its run go on from the store. */
export function resuming(request: RunRequest, changes: Partial<GraphRunInput & BundleRunInput>): RunRequest {
  const change = { ...changes, resume: true };
  if (request.kind === "graph") {
    const { carried: _, ...input } = request.input;
    return { ...request, input: { ...input, ...change } };
  }
  const { carried: _, ...input } = request.input;
  return { ...request, input: { ...input, ...change } };
}

/** What is to be sent, as it is sent: what JSON leaves out is not there. Throws what its workflow would refuse it for. */
function checked(workflow: RunWorkflow, request: object): object {
  const input: unknown = JSON.parse(jsonOf("what starts a run", request));
  const verdict = validateRunInput(workflow, input);
  if (!verdict.ok) throw new InterlockError(verdict.error);
  return verdict.value;
}

/** What starts a run, checked and, with a signer, signed. Throws what its workflow would refuse it for. */
export async function signedInput(
  sign: Sign | undefined,
  start: { readonly workflow: RunWorkflow; readonly workflowId: string; readonly input: object },
): Promise<object> {
  const { signature: _, ...input }: { signature?: unknown } = start.input; // that of an earlier start is used
  const plain = checked(start.workflow, input);
  if (sign === undefined) return plain;
  return { ...plain, signature: await sign(startStatement({ ...start, input: plain })) };
}

function packageName({ packageId, workflowRef }: GraphRunInput): string {
  return workflowRef === undefined || workflowRef === "" ? packageId : `${packageId} · ${workflowRef}`;
}
