import { type Command, Option } from "commander";
import { STEP_SIZES, type StepSize } from "../../core/step-size.js";

export interface StepChoice {
  readonly steps?: StepSize;
}

/** The option of commands that start a run; `byDefault` says what holds without it. */
export function withStepOption(command: Command, byDefault: string): Command {
  const sizes = new Option(
    "--steps <size>",
    "what a step of the run's history is: a turn, or the work of a node, for models that answer within a second " +
      `(default: ${byDefault})`,
  );
  return command.addOption(sizes.choices(STEP_SIZES));
}
