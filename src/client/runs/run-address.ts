import { BUNDLE_RUN_WORKFLOW, GRAPH_RUN_WORKFLOW } from "../../contract/names.js";
import { isRunId, runIdIn } from "../../core/run/run-id.js";
import { excerpt } from "../../core/text.js";
import { InterlockError } from "../temporal/interlock-error.js";
import { listExecutions } from "../temporal/list-executions.js";
import { listedRun } from "./list-runs.js";
import { readableValue } from "../temporal/payloads.js";
import { quoted } from "../temporal/quoted.js";
import { type TemporalAccess, startOf } from "./run-start.js";

/** Where Temporal has a run. */
export interface RunAddress {
  readonly workflowId: string;
  /** The run's last execution, where another run has its workflow id by now; absent means the newest one. */
  readonly executionRunId?: string;
  /** The first execution of the chain that the run is now: what is told to it reaches no run that begins meanwhile. */
  readonly firstExecutionRunId?: string;
}

/** What is somewhere in Temporal, and asked where each time: another run may be given its workflow id. */
export interface Addressed {
  address(): Promise<RunAddress>;
}

const TYPES: readonly unknown[] = [GRAPH_RUN_WORKFLOW, BUNDLE_RUN_WORKFLOW];
const PAGE = 100;

/**
 * Where a run is whose workflow has that id. Under an id that does not say its run, runs may follow each other, and other programs have
 * workflows: what is meant for one run reaches no other, and nothing that is none. Throws `E_RUN_NOT_FOUND`, and `E_PRECONDITION_FAILED` where
 * which run it is cannot be read: it may be this one.
 */
export async function addressOf(
  access: TemporalAccess,
  { runId, workflowId }: { readonly runId: string; readonly workflowId: string },
): Promise<RunAddress> {
  if (runIdIn(workflowId) !== undefined) return { workflowId };
  const newest = await startOf(access, workflowId);
  if (!TYPES.includes(newest.workflowType?.name))
    throw unknown(`The workflow ${excerpt(workflowId)} is no run.`);
  const address = { workflowId, firstExecutionRunId: newest.firstExecutionRunId ?? "" };
  // Named by its workflow's id, a run is the newest there.
  if (!isRunId(runId) || runId === workflowId || runId === newest.firstExecutionRunId) return address;
  const named = await namedIn(access, newest, workflowId);
  if (named === runId) return address;
  const query = `WorkflowId = ${quoted(workflowId)}`;
  for await (const raw of listExecutions(access.temporal, query, PAGE)) {
    const executionRunId = raw.execution?.runId;
    if (!executionRunId || (await listedRun(access.temporal, raw)).runId !== runId) continue;
    return { workflowId, executionRunId };
  }
  if (named !== undefined) {
    throw unknown(`Temporal knows no run ${excerpt(runId)}: its workflow id is that of another run by now.`);
  }
  const message = `Which run the workflow ${excerpt(workflowId)} is cannot be read here. Where it is sealed, a key opens it.`;
  throw new InterlockError({ code: "E_PRECONDITION_FAILED", message });
}

/** The id of the workflow that has this execution; undefined where Temporal lists none. */
export async function workflowIdOfExecution(
  { temporal }: TemporalAccess,
  executionRunId: string,
): Promise<string | undefined> {
  const query = `RunId = ${quoted(executionRunId)}`;
  for await (const { workflowId } of temporal.workflow.list({ query })) return workflowId;
  return undefined;
}

/** The run that an execution is: the one that it was started with, where that was named, as of one that goes on. Undefined where nobody can read it. */
async function namedIn(
  { temporal }: TemporalAccess,
  { input, firstExecutionRunId }: Awaited<ReturnType<typeof startOf>>,
  workflowId: string,
): Promise<unknown> {
  const value = await readableValue(temporal, input?.payloads?.[0], workflowId);
  if (typeof value !== "object" || value === null) return undefined;
  return "runId" in value ? value.runId : firstExecutionRunId;
}

function unknown(message: string): InterlockError {
  return new InterlockError({ code: "E_RUN_NOT_FOUND", message });
}
