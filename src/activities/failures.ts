import { ApplicationFailure } from "@temporalio/activity";
import { ExecutionOver } from "../store/runs/executions.js";
import type { ErrorCode, Fault, Result } from "../core/errors.js";

/** Faults of the machine, which may pass: the rest would only be refused again. */
const MAY_PASS: ReadonlySet<ErrorCode> = new Set(["E_INTERNAL", "E_INDEX_WRITE_FAILED"]);

/** A fault that an operator must see: the activity fails with the fault's code as its type. */
export function toApplicationFailure(fault: Fault): ApplicationFailure {
  const nonRetryable = !MAY_PASS.has(fault.code);
  return ApplicationFailure.create({ type: fault.code, message: fault.message, nonRetryable });
}

/** The value of a result, or the failure its fault stands for. */
export function unwrap<T>(result: Result<T>): T {
  if (result.ok) return result.value;
  throw toApplicationFailure(result.error);
}

/** As Temporal has to see it: an execution that is over stays so, and is not tried again. */
export function toActivityError(error: unknown): unknown {
  if (!(error instanceof ExecutionOver)) return error;
  return ApplicationFailure.nonRetryable(error.message, "ENGINE_ABORTED" satisfies ErrorCode);
}
