import type { Client } from "@temporalio/client";
import { BUNDLE_RUN_WORKFLOW } from "../../contract/names.js";
import type { BundleRunInput, GraphRunInput, Identified } from "../../contract/run.js";
import type { Sign } from "../../contract/signed.js";
import { runIdIn } from "../../core/run/run-id.js";
import { excerpt } from "../../core/text.js";
import { InterlockError, isNotFound } from "../temporal/interlock-error.js";
import { valueIn } from "../temporal/payloads.js";

/** A connection to Temporal and the namespace on it. */
export interface TemporalAccess {
  readonly temporal: Client;
  readonly namespace: string;
  /** Signs what runs are told, where their store takes signed starts only. */
  readonly sign?: Sign | undefined;
}

/** What a run was started with, as Temporal's history or the store knows it. */
export type RunRequest = (
  | { readonly kind: "graph"; readonly input: Identified<GraphRunInput> }
  | { readonly kind: "bundle"; readonly input: Identified<BundleRunInput> }
) & {
  /** The Temporal workflow that the run belongs to; absent means `run-<runId>`. */
  readonly workflowId?: string;
  /** Its store says that what is said of it is sealed. */
  readonly sealed?: boolean;
};

/**
 * What a run was started with. An execution that continued as new no longer holds what is said and done once, so it is asked
 * of the chain's first one; that of a long run may be forgotten by then, and the newest has to do.
 */
export async function startedWith(
  access: TemporalAccess,
  { workflowId, executionRunId }: { readonly workflowId: string; readonly executionRunId?: string },
): Promise<RunRequest> {
  const newest = await startOf(access, workflowId, executionRunId);
  const isFirst = (newest.continuedExecutionRunId ?? "") === "";
  const first = isFirst
    ? newest
    : await startOf(access, workflowId, newest.firstExecutionRunId).catch((error: unknown) => {
        if (isNotFound(error)) return newest;
        throw error;
      });
  const payload = first.input?.payloads?.[0];
  if (payload === undefined) throw new Error("The history of the run does not begin with its input.");
  const input = await valueIn(access.temporal, payload, workflowId);
  if (typeof input !== "object" || input === null) {
    const message = `The workflow ${excerpt(workflowId)} was not started with a run's input: start it anew.`;
    throw new InterlockError({ code: "E_PRECONDITION_FAILED", message });
  }
  const kind = first.workflowType?.name === BUNDLE_RUN_WORKFLOW ? "bundle" : "graph";
  const derived = runIdIn(workflowId) ?? newest.firstExecutionRunId;
  const named = runIdIn(workflowId) === undefined ? { workflowId } : {};
  return { kind, ...named, input: { runId: derived, ...input } } as RunRequest; // the workflow's door has taken it
}

/** Who began an execution, and which one began its chain. */
export interface Beginning {
  readonly startedBy: string;
  readonly isContinued: boolean;
  readonly firstExecutionRunId: string;
}

/** How an execution began. Rejects where Temporal has forgotten it. */
export async function beginningOf(
  access: TemporalAccess,
  workflowId: string,
  executionRunId: string,
): Promise<Beginning> {
  const { identity, continuedExecutionRunId, firstExecutionRunId } = await startOf(
    access,
    workflowId,
    executionRunId,
  );
  return {
    startedBy: identity ?? "",
    isContinued: (continuedExecutionRunId ?? "") !== "",
    firstExecutionRunId: firstExecutionRunId ?? "",
  };
}

/** How an execution began: the newest one, unless another is named. */
export async function startOf(access: TemporalAccess, workflowId: string, executionRunId?: string | null) {
  const response = await access.temporal.workflowService.getWorkflowExecutionHistory({
    namespace: access.namespace,
    execution: { workflowId, runId: executionRunId ?? "" },
    maximumPageSize: 1,
  });
  return response.history?.events?.[0]?.workflowExecutionStartedEventAttributes ?? {};
}
