import type { Fault, Result } from "../../core/errors.js";
import { excerpt } from "../../core/text.js";
import { CommandError, UsageError } from "../terminal/output.js";

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

/** A run id that names nothing, as far as a store knows. */
export class NoSuchRun extends UsageError {}

/** A run id that names nothing: to the store alone, where its Temporal does not run and was not asked; to what is asked in a store's place. */
export function noSuchRun(runId: string, isAllAsked: boolean, where = "this store"): NoSuchRun {
  const sentence = `There is no run "${excerpt(runId, 80)}" in ${where}. See: interlock runs`;
  const rest =
    "\nA run that failed before it began is known to this store's Temporal alone, which does not run. Start it with: interlock dev";
  return new NoSuchRun(isAllAsked ? sentence : sentence + rest);
}
