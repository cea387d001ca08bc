import type { Command } from "commander";
import { UsageError } from "./terminal/output.js";

/** `runs --project shop prune`: what stands before a command's name is not heard by it. Throws `UsageError`. */
export function refuseOuterOptions(command: Command): void {
  for (let outer = command.parent; outer?.parent; outer = outer.parent) {
    const said = outer.options.find((option) => outer.getOptionValueSource(option.attributeName()) === "cli");
    if (said === undefined) continue;
    const [its, own] = [outer, command].map(nameOf);
    throw new UsageError(`${said.long} is an option of "${its}", not of "${own}". See: ${own} --help`);
  }
}

function nameOf(command: Command): string {
  return command.parent === null ? command.name() : `${nameOf(command.parent)} ${command.name()}`;
}
