import { ApplicationFailure } from "@temporalio/workflow";
import type { Fault } from "../core/errors.js";

/** What ends a run from within, without the fault's details: what leaves the workflow is made where it closes, or turns the run away. */
export function failureOf({ code, message }: Pick<Fault, "code" | "message">): ApplicationFailure {
  return ApplicationFailure.create({ type: code, message, nonRetryable: true });
}

/** What somebody is told whose update is refused. */
export function refusalOf(message: string): ApplicationFailure {
  return failureOf({ code: "E_PRECONDITION_FAILED", message });
}
