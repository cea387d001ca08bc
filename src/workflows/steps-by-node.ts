import { CancellationScope, CancelledFailure, isCancellation } from "@temporalio/workflow";
import type { RunRecord } from "../core/engine/run-record.js";

/** Runs whose steps are nodes: what other runs do in regular activities is done in local ones first (contracts §9). */

/**
 * What a local activity comes to; a run that was cancelled meanwhile ends after it. Cancelling one that is about to end can
 * leave a task of the workflow that fails whenever it is tried; in runs whose steps are nodes one is nearly always under way.
 */
export function shielded<T>(record: RunRecord, work: () => Promise<T>): Promise<T> {
  return record.stepsByNode ? toTheEnd(work) : work();
}

async function toTheEnd<T>(work: () => Promise<T>): Promise<T> {
  const result = await CancellationScope.nonCancellable(work);
  if (CancellationScope.current().consideredCancelled) throw new CancelledFailure("Workflow canceled");
  return result;
}

/** The same; undefined where it has failed, for a regular activity to try. */
export async function tryLocally<T>(record: RunRecord, work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await shielded(record, work);
  } catch (error) {
    if (isCancellation(error)) throw error;
    return undefined;
  }
}
