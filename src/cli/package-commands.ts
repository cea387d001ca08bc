import type { Command } from "commander";
import { JSON_OPTION } from "./options/common-options.js";
import type { WhenCalled } from "./when-called.js";

/** The commands for those who write packages. */
export function addWritingCommands(packages: Command, whenCalled: WhenCalled): void {
  packages
    .command("new <dir>")
    .description("make a package to begin with; at a terminal, without options, asks what it is to have")
    .option("--name <name>", "the package's name: letters, digits and - _ . (default: the directory's)")
    .option("--steps <ids>", "its steps, in their order: gather,draft; or how many: 3 (default: draft)")
    .option(
      "--branch <ids>",
      "a decision after them between two or more further steps: brief,thorough; or how many",
    )
    .option("--gate", "a QA gate before the end, and a step that mends what it finds")
    .option(
      "--agents <ids>",
      "who works: the last one decides and ends, the others take the steps; or how many (default: author)",
    )
    .option(...JSON_OPTION)
    .action(whenCalled(async () => (await import("./commands/package-new.js")).packageNewCommand));
  packages
    .command("graph <source>")
    .description("draw the nodes of a package and the ways between them: of a directory or a .bmad file")
    .option("--format <format>", "text, or mermaid for documents", "text")
    .option("--workflow <id>", "only this one, where there are several")
    .action(whenCalled(async () => (await import("./commands/package-graph.js")).packageGraphCommand));
  packages
    .command("pack <dir>")
    .description("make the .bmad archive of a package directory: the same bytes for the same files")
    .option("--out <file>", "the archive (default: <name>-<version>.bmad, here)")
    .option(...JSON_OPTION)
    .action(whenCalled(async () => (await import("./commands/package-pack.js")).packagePackCommand));
  packages
    .command("test [dir]")
    .description("run the tests of a package, tests/*.yaml, each with a store and a project of its own")
    .option("--test <name>", "only this one")
    .option("--models <names>", "run them with these models, a,b, and show what came beside each other")
    .option("--max-cost <amount>", "with --models: what all runs together may cost; needs the models' prices")
    .option("--record <run>", "run none: make one of a run, with what its model answered")
    .option("--as <name>", "with --record: how it is called (default: run-<its id>)")
    .option(...JSON_OPTION)
    .action(whenCalled(async () => (await import("./commands/package-test.js")).packageTestCommand));
}
