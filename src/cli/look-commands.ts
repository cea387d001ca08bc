import type { Command } from "commander";
import { JSON_OPTION } from "./options/common-options.js";
import type { WhenCalled } from "./when-called.js";

/** The commands that show what there is of runs. Each is loaded when it is called. */
export function addLookCommands(program: Command, whenCalled: WhenCalled): void {
  const runs = program
    .command("runs")
    .enablePositionalOptions()
    .description("list the runs of all stores, newest first")
    .option("--waiting", "those that wait for an answer or a larger budget")
    .option("--running", "those that are under way")
    .option("--failed", "those that have failed, were cancelled or terminated")
    .option("--completed", "those that have completed")
    .option("--project <project>", "those of one project: a directory, a name or an id")
    .option("--package <name>", "those of one package: its id, or how that begins")
    .option("--since <time>", "those begun, or retried, since then: 30m, 2h, 3d, 1w, or a date")
    .option("--store <store>", "those of one store: its name or id")
    .option("--query <query>", "those that Temporal finds with a query as well")
    .option("--limit <n>", "how many at most (default: 50)")
    .option(...JSON_OPTION)
    .action(whenCalled(async () => (await import("./commands/runs.js")).runsCommand));
  runs
    .command("prune")
    .description("remove runs of the store at hand that are over, with all their files in it")
    .option("--older-than <time>", "those that ended before then: 30m, 2h, 3d, 1w ago, or a date")
    .option("--keep <n>", "all but the n that ended last")
    .option("--with-history", "those as well whose history Temporal still has: it is deleted there")
    .option("--unknown", "those as well that are not over by their files, and that Temporal knows nothing of")
    .option("--dry-run", "say what would go, and remove nothing")
    .option(...JSON_OPTION)
    .action(whenCalled(async () => (await import("./commands/prune.js")).runsPruneCommand));
  program
    .command("watch <runId>")
    .description("watch a run, from its beginning, until it is over or asks something")
    .option("--tail <n>", "from its last n events on")
    .option("--events", "print every event as JSON, one on a line (schemas/events.schema.json)")
    .option("--notify", "a notice on the desktop when it is over or asks, where the terminal can")
    .action(whenCalled(async () => (await import("./commands/watch.js")).watchCommand));
  program
    .command("compare <runId> <runId2>")
    .description("set two runs beside each other, such as one and its fork: path, refusals, usage, artifacts")
    .option(...JSON_OPTION)
    .action(whenCalled(async () => (await import("./commands/compare.js")).compareCommand));
  program
    .command("inbox")
    .description("list the questions that wait, of all stores, oldest first")
    .option("--watch", "go on with those that come, and say when one is answered")
    .option("--notify", "with --watch: a notice on the desktop for each, where the terminal can")
    .option("--project <project>", "those of one project: a directory, a name or an id")
    .option("--store <store>", "those of one store: its name or id")
    .option(...JSON_OPTION)
    .action(whenCalled(async () => (await import("./commands/inbox.js")).inboxCommand));
}
