import { ApplicationFailure } from "@temporalio/activity";
import type { Fault, Result } from "../core/errors.js";

/** A fault that an operator must see: the activity fails with the fault's code as its type. */
export function toApplicationFailure(fault: Fault): ApplicationFailure {
  return ApplicationFailure.create({ type: fault.code, message: fault.message, nonRetryable: true });
}

/** The value of a result, or the failure its fault stands for. */
export function unwrap<T>(result: Result<T>): T {
  if (result.ok) return result.value;
  throw toApplicationFailure(result.error);
}
