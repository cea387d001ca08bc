import type { Command } from "commander";
import { UsageError } from "./terminal/output.js";

/** Whose empty value is one: no words. */
const MAY_BE_EMPTY: ReadonlySet<string> = new Set(["--input"]);

/**
 * `--project "$UNSET"` of a script: an empty path would be the directory that the command happens to be in. Of an argument that is a run
 * or a text the command says more. Throws `UsageError`.
 */
export function refuseEmptyValues(command: Command): void {
  if (command.name() === "complete") return; // the tab key asks what may follow, and an empty word is where it was hit
  for (const option of command.options) {
    if (option.isBoolean() || MAY_BE_EMPTY.has(option.long ?? "")) continue;
    if (command.getOptionValueSource(option.attributeName()) !== "cli") continue;
    if (holdsEmpty(command.getOptionValue(option.attributeName())))
      throw new UsageError(`${option.long} was given an empty value. Leave it out, or say what it is.`);
  }
  for (const [index, argument] of command.registeredArguments.entries()) {
    const name = argument.name();
    if (name === "text" || !holdsEmpty(command.processedArgs[index])) continue;
    throw new UsageError(
      name.startsWith("run")
        ? "Name the run: its id, or the beginning of it. See: interlock runs"
        : `The ${name} is empty. Say what it is.`,
    );
  }
}

function holdsEmpty(value: unknown): boolean {
  return value === "" || (Array.isArray(value) && value.includes(""));
}
