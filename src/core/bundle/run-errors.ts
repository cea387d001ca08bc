import type { Preload } from "./preload-plan.js";

const OF_INSTRUCTIONS = "instructions: ";

/** Why a workflow cannot be run; and what else it names and is not there. */
export interface RunErrors {
  readonly errors: readonly string[];
  readonly missing: readonly string[];
}

/** A workflow without instructions that can be read has nothing to be followed. */
export function runErrors({ instructions, missing }: Pick<Preload, "instructions" | "missing">): RunErrors {
  if (instructions !== null) return { errors: [], missing };
  const errors = missing.filter((item) => item.startsWith(OF_INSTRUCTIONS));
  return {
    errors: errors.length === 0 ? [`${OF_INSTRUCTIONS}there are none`] : errors,
    missing: missing.filter((item) => !item.startsWith(OF_INSTRUCTIONS)),
  };
}

/** Whether a workflow cannot be run since it names no instructions, and for nothing else. */
export function namesNoInstructions(errors: readonly string[]): boolean {
  return errors.length > 0 && errors.every((error) => error === `${OF_INSTRUCTIONS}the workflow names none`);
}
