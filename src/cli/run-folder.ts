import type { Fault, Result } from "../core/errors.js";
import { CommandError, UsageError, noSuchRun } from "./output.js";

/** What to say of a run that was not found: that there is none, or what keeps it from being found. */
export function notFound(runId: string, fault: Fault, isAllAsked = true): Error {
  if (isPruned(fault)) return new UsageError(fault.message);
  return fault.code === "E_RUN_NOT_FOUND" ? noSuchRun(runId, isAllAsked) : new CommandError(fault.message);
}

/** What a store answers about a run. Throws a sentence that says what is missing. */
export function read<T>(runId: string, answer: Result<T>): T {
  if (answer.ok) return answer.value;
  throw notFound(runId, answer.error);
}

/** Whether a run is not found because it was pruned: the fault says so, and what to do. */
export function isPruned({ details }: Fault): boolean {
  return details?.["prunedAt"] !== undefined;
}
