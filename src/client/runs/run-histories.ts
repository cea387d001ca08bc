import type { Client } from "@temporalio/client";
import type { History } from "@temporalio/common/lib/proto-utils.js";
import { listExecutions } from "../temporal/list-executions.js";
import { listedRun } from "./list-runs.js";
import { quoted } from "../temporal/quoted.js";

const PAGE = 100;

/** The histories of a run's executions that Temporal still has, oldest first; of others under its workflow id none. `newest` is its newest. */
export async function historiesOf(
  temporal: Client,
  run: { readonly runId: string; readonly workflowId: string; readonly newest: string },
): Promise<readonly History[]> {
  const { runId, workflowId, newest } = run;
  const known: { readonly id: string; readonly startedAt: string }[] = [];
  for await (const raw of listExecutions(temporal, `WorkflowId = ${quoted(workflowId)}`, PAGE)) {
    const id = raw.execution?.runId;
    const listed = await listedRun(temporal, raw);
    if (id && id !== newest && listed.runId === runId) known.push({ id, startedAt: listed.startedAt });
  }
  known.sort((a, b) => (a.startedAt < b.startedAt ? -1 : 1));
  const ids = [...known.map(({ id }) => id), newest];
  return Promise.all(ids.map((id) => temporal.workflow.getHandle(workflowId, id).fetchHistory()));
}
