import type { Fault } from "../../core/errors.js";
import { InterlockError } from "../temporal/interlock-error.js";
import { isOpenStatus } from "./execution-status.js";

/** How Temporal has closed a run that was not completed: its word, and what was said. */
export interface ClosedRun {
  readonly status: string;
  readonly said: Fault;
}

/** Undefined while the run is open, and for a completed one. Needs no worker. */
export async function closedAs(run: {
  executionStatus(): Promise<string>;
  resultUnlessAway(): Promise<unknown>;
}): Promise<ClosedRun | undefined> {
  const status = await run.executionStatus();
  if (isOpenStatus(status) || status === "COMPLETED") return undefined;
  try {
    await run.resultUnlessAway();
    return undefined;
  } catch (error) {
    if (!(error instanceof InterlockError)) throw error;
    return { status, said: { code: error.code, message: error.message } };
  }
}

export function closedFault({ status, said: { code, message } }: ClosedRun): Fault {
  return { code, message: `Temporal has closed the run (${status.toLowerCase()}): ${message}` };
}
