import type { Command } from "commander";
import { withModelOptions } from "./options/model-options.js";
import { JSON_OPTION, eachTime } from "./options/common-options.js";
import type { WhenCalled } from "./when-called.js";

/** The commands about what runs need. Each is loaded when it is called. */
export function addOperateCommands(program: Command, whenCalled: WhenCalled): void {
  program
    .command("doctor")
    .description("look at everything that a run needs, and say what to mend")
    .option("--no-models", "ask no model (each gets two small requests)")
    .option(...JSON_OPTION)
    .action(whenCalled(async () => (await import("./commands/doctor.js")).doctorCommand));
  program
    .command("notify")
    .description("the webhooks of the settings")
    .command("test [webhook]")
    .description("send each, or one, a trial message, and say what came of it")
    .option(...JSON_OPTION)
    .action(whenCalled(async () => (await import("./commands/notify.js")).notifyTestCommand));
}

/** The commands about what is left of a run: its history, and all of it in one file. */
export function addRecordCommands(program: Command, whenCalled: WhenCalled): void {
  program
    .command("replay <runIdOrFile>")
    .description("replay a history against the code at hand, and say where it departs")
    .option(...JSON_OPTION)
    .action(whenCalled(async () => (await import("./commands/replay.js")).replayCommand));
  program
    .command("export <runId>")
    .description("history, document, audit log and conversation of a run as one zip file")
    .option("--output <file>", "where to; what is there is replaced (default: run-<runId>.zip)")
    .option(...JSON_OPTION)
    .action(whenCalled(async () => (await import("./commands/export.js")).exportCommand));
}

/** The commands that tell a run something. */
export function addTellingCommands(program: Command, whenCalled: WhenCalled): void {
  program
    .command("pause <runId>")
    .description("let a run stop before its next model turn")
    .option(...JSON_OPTION)
    .action(whenCalled(async () => (await import("./commands/operate.js")).pauseCommand));
  program
    .command("resume <runId>")
    .description("let a paused run go on")
    .option(...JSON_OPTION)
    .action(whenCalled(async () => (await import("./commands/operate.js")).resumeCommand));
  program
    .command("cancel <runId>")
    .description("stop a run, a running model call included")
    .option(...JSON_OPTION)
    .action(whenCalled(async () => (await import("./commands/operate.js")).cancelCommand));
  program
    .command("finish <runId>")
    .description("end a bundle run as completed")
    .option(...JSON_OPTION)
    .action(whenCalled(async () => (await import("./commands/operate.js")).finishCommand));
  program
    .command("budget <runId>")
    .description("add to a run's budget; a run that waits for it goes on")
    .option("--add-turns <n>", "model turns")
    .option("--add-tokens <n>", "tokens, in and out together")
    .option("--add-cost <amount>", "cost, in the currency of the prices")
    .option("--scope <scope>", "run or node (default: the one whose limit was reached)")
    .option(...JSON_OPTION)
    .action(whenCalled(async () => (await import("./commands/operate.js")).budgetCommand));
}

/** The commands by which a run that has ended goes on, or begins again from where another was. */
export function addGoOnCommands(program: Command, whenCalled: WhenCalled): void {
  const asBefore = "default: the run's";
  withFollowOptions(
    program
      .command("retry <runId>")
      .description("let a failed or cancelled run go on from its document")
      .option("--max-turns-per-node <n>", "another limit than the run was started with")
      .option("--max-turns-per-run <n>", "another limit than the run was started with"),
    asBefore,
  ).action(whenCalled(async () => (await import("./commands/retry.js")).retryCommand));
  withFollowOptions(
    program
      .command("restore [runId...]")
      .description("start runs again that Temporal has lost, each from its document")
      .option("--all", "all runs that are not over and that Temporal does not know"),
  ).action(whenCalled(async () => (await import("./commands/restore.js")).restoreCommand));
  withFollowOptions(
    program
      .command("fork <runId>")
      .description("start a new run from a node boundary of another")
      .option("--from-node <id>", "begin at this node, as it was entered last")
      .option("--at-visit <n>", "begin after this node visit; 0 is the beginning")
      .option("--set <key=value>", "set a variable; the value is JSON where it reads as JSON", eachTime)
      .option("--project <dir>", "on another project; its files are restored as they were")
      .option("--allow-missing", "begin also where some of these files can no longer be restored"),
    asBefore,
  ).action(whenCalled(async () => (await import("./commands/fork.js")).forkCommand));
}

function withFollowOptions(command: Command, model?: string): Command {
  return (model === undefined ? command : withModelOptions(command, model))
    .option("--detach", "start and return")
    .option("--no-wait-for-answers", "end with exit code 3 when the run asks something")
    .option("--json", "print one JSON object at the end");
}
