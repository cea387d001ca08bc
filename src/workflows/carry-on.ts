import { allHandlersFinished, condition, makeContinueAsNewFunc, workflowInfo } from "@temporalio/workflow";
import type { RunRecord } from "./run-record.js";

/**
 * Continues as new where Temporal suggests it, with everything the run knows in one value, once no update is being
 * taken. Called at node boundaries and between two turns; does nothing at other times.
 */
export async function carryOn(record: RunRecord): Promise<void> {
  if (!workflowInfo().continueAsNewSuggested) return;
  await condition(allHandlersFinished);
  const { input: words, ...rest } = record.input;
  const isSaid = words === undefined || record.carried.usage.modelTurns > 0;
  const next = makeContinueAsNewFunc({});
  await next({ ...rest, ...(isSaid ? {} : { input: words }), carried: record.carried });
}

export function isContinueAsNew(error: unknown): boolean {
  return error instanceof Error && error.name === "ContinueAsNew";
}
