import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Client } from "@temporalio/client";
import { type History, historyToJSON } from "@temporalio/common/lib/proto-utils.js";
import { workflowIdOf } from "../../src/core/run/run-id.js";

/**
 * Writes the histories of a run's executions, oldest first. A retry begins a chain of executions, which the run continues as
 * new: each is followed from the executions that were seen back to its beginning. Gives how many were continued.
 */
export async function exportExecutions(
  temporal: Client,
  runId: string,
  seen: ReadonlySet<string>,
  dir: string,
): Promise<number> {
  await mkdir(dir, { recursive: true });
  const histories = new Map<string, History>();
  for (const execution of seen) {
    let next = execution;
    while (next !== "" && !histories.has(next)) {
      const history = await temporal.workflow.getHandle(workflowIdOf(runId), next).fetchHistory();
      histories.set(next, history);
      next = history.events?.[0]?.workflowExecutionStartedEventAttributes?.continuedExecutionRunId ?? "";
    }
  }
  const inOrder = [...histories.values()].sort((a, b) => startOf(a) - startOf(b));
  for (const [index, history] of inOrder.entries()) {
    await writeFile(join(dir, `${runId}.${index}.json`), historyToJSON(history));
  }
  return inOrder.filter(({ events }) =>
    Boolean(events?.at(-1)?.workflowExecutionContinuedAsNewEventAttributes),
  ).length;
}

function startOf({ events }: History): number {
  const { seconds, nanos } = events?.[0]?.eventTime ?? {};
  return Number(seconds ?? 0) * 1_000 + (nanos ?? 0) / 1_000_000;
}
