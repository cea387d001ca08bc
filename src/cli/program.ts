import { Command, CommanderError } from "commander";
import { refuseFewDescriptors } from "./few-descriptors.js";
import { version } from "../worker/version.js";
import {
  CommandError,
  EXIT,
  type ExitCode,
  UsageError,
  noteError,
  printBlock,
  printError,
  printNoteBlock,
} from "./terminal/output.js";
import { ConfigError } from "../environment/config-error.js";
import { withBudgetOptions } from "./options/budget-options.js";
import { refuseEmptyValues } from "./empty-values.js";
import { addLookCommands } from "./look-commands.js";
import { withModelOptions } from "./options/model-options.js";
import { refuseOuterOptions } from "./outer-options.js";
import { unexpected } from "./session/unexpected.js";
import { GROUP } from "./help-groups.js";
import {
  addGoOnCommands,
  addOperateCommands,
  addRecordCommands,
  addTellingCommands,
} from "./operate-commands.js";
import { addWritingCommands } from "./package-commands.js";
import { withStepOption } from "./options/step-option.js";
import { addStoreCommands } from "./store-commands.js";
import { addProofCommands, addSealCommands } from "./trust-commands.js";
import { JSON_OPTION } from "./options/common-options.js";
import { type WhenCalled, whenCalledTelling } from "./when-called.js";

const EPILOGUE = `
Environment:
  INTERLOCK_MODEL, OPENAI_API_KEY, OPENAI_BASE_URL   the model, at any OpenAI-compatible endpoint
  TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE, …            a Temporal of your own, as for the Temporal CLI
  INTERLOCK_STORE                                    where packages, runs and logs are kept
  INTERLOCK_PROJECT_ROOTS                            directories under which any project may be worked on
  INTERLOCK_STARTS                                   signed: only whoever can read the store starts runs

Completion by the tab key: source <(interlock completion bash), or zsh, fish, powershell.

Exit codes: 0 done, 1 failed, 2 wrong usage, 3 waiting for an answer or a larger budget,
130 or 143 stopped by a signal before it was done.`;

/** The command line. `finish` is told each command's exit code. */
export function buildProgram(finish: (code: ExitCode) => void): Command {
  const program: Command = new Command("interlock")
    .description("Runs workflow packages with an LLM agent, durably, on Temporal.")
    .version(version())
    .enablePositionalOptions() // `runs prune --failed` is no option of `runs`
    .addHelpText("after", EPILOGUE)
    .configureHelp({
      showGlobalOptions: true,
      // Those of a command in between, such as `runs`, are not its commands'.
      visibleGlobalOptions: ({ parent }) => (parent === null ? [] : [...program.options]),
    })
    .configureOutput({
      writeOut: (text) => printBlock(withoutEnd(text)),
      writeErr: (text) => printNoteBlock(withoutEnd(text)),
    })
    .exitOverride()
    .hook("preAction", refuseFewDescriptors)
    .hook("preAction", (_program, command) => refuseOuterOptions(command))
    .hook("preAction", (_program, command) => refuseEmptyValues(command))
    .hook("preAction", (_program, command) => resolveRuns(command));
  const whenCalled = whenCalledTelling(finish);

  program
    .commandsGroup(GROUP.start)
    .command("demo")
    .description("run the example package, everything embedded")
    .option("--rehearse", "without a model, even where one is configured")
    .option(...JSON_OPTION)
    .action(whenCalled(async () => (await import("./commands/demo.js")).demoCommand));
  addServeCommands(program, whenCalled);
  addUiCommand(program, whenCalled);
  addRunCommand(program, whenCalled);
  program.commandsGroup(GROUP.look);
  addLookCommands(program, whenCalled);
  program
    .command("status <runId>")
    .description("where a run stands")
    .option(...JSON_OPTION)
    .action(whenCalled(async () => (await import("./commands/status.js")).statusCommand));
  addReadingCommands(program, whenCalled);
  program
    .command("state <runId>")
    .description("the graph state of a run that carries a story")
    .option("--at <n>", "as it was after the nth node visit; 0 is the beginning (default: now)")
    .option("--diff <m>", "what changed between that and the mth visit")
    .option(...JSON_OPTION)
    .action(whenCalled(async () => (await import("./commands/state.js")).stateCommand));
  program
    .commandsGroup(GROUP.tell)
    .command("answer <runId> [text]")
    .description("answer the question a run waits with: a text, - for standard input, or nothing for $EDITOR")
    .option("--file <file>", "the text is in a file")
    .option("--node <id>", "only if the run asks at this node")
    .option("--question <id>", "only if it is this question, as inbox shows it: <visit>.<turn>")
    .option("--as <name>", "who answers (default: user@host)")
    .option(...JSON_OPTION)
    .action(whenCalled(async () => (await import("./commands/answer.js")).answerCommand));
  addTellingCommands(program, whenCalled);
  program.commandsGroup(GROUP.goOn);
  addGoOnCommands(program, whenCalled);
  program
    .commandsGroup(GROUP.keep)
    .command("audit")
    .description("audit logs")
    .command("verify <runId>")
    .description("check that a run's audit log is whole")
    .option(...JSON_OPTION)
    .action(whenCalled(async () => (await import("./commands/audit.js")).auditVerifyCommand));
  addProofCommands(program, whenCalled);
  addRecordCommands(program, whenCalled);
  program.commandsGroup(GROUP.packages);
  addPackageCommands(program, whenCalled);
  addBundleCommands(program, whenCalled);
  addProjectCommands(program, whenCalled);
  program.commandsGroup(GROUP.operate);
  addOperateCommands(program, whenCalled);
  addStoreCommands(program, whenCalled);
  addSealCommands(program, whenCalled);
  program.helpCommand("help [command]", "all commands, or how one is used");
  sayWhereHelpIs(program, program.name());
  return program;
}

/** What the parser refuses ends with the command that says what would be right. */
function sayWhereHelpIs(command: Command, name: string): void {
  command.showHelpAfterError(`See: ${name} --help`);
  for (const below of command.commands) sayWhereHelpIs(below, `${name} ${below.name()}`);
}

async function resolveRuns(command: Command): Promise<void> {
  if (!command.registeredArguments.some((argument) => argument.name().startsWith("run"))) return;
  const { resolveRunArguments } = await import("./session/resolve-run.js");
  await resolveRunArguments(command);
}

function addServeCommands(program: Command, whenCalled: WhenCalled): void {
  withServeOptions(program.command("dev"))
    .description("embedded Temporal server, Web UI, worker and page, in the foreground")
    .option("--no-page", "without the page")
    .action(whenCalled(async () => (await import("./commands/dev.js")).devCommand));
  withServeOptions(program.command("worker"))
    .description("a worker against the configured Temporal, in the foreground")
    .action(whenCalled(async () => (await import("./commands/dev.js")).workerCommand));
}

function addUiCommand(program: Command, whenCalled: WhenCalled): void {
  program
    .command("ui")
    .description("a page to watch runs, answer them and start them, on this machine, in the foreground")
    .option("--port <n>", "the port (default: 8234, or any that is free)")
    .option("--host <address>", "where it listens, in a container whose port is published on 127.0.0.1")
    .option("--no-open", "print the link, and open no browser")
    .action(whenCalled(async () => (await import("./commands/ui.js")).uiCommand));
}

function withServeOptions(command: Command): Command {
  return command
    .option("--quiet", "say nothing of the runs")
    .option(
      "--metrics <address>",
      "serve metrics for Prometheus at /metrics: a port of 127.0.0.1, or <ip>:<port>",
    )
    .option("--health <address>", "serve /healthz and /readyz: a port of 127.0.0.1, or <ip>:<port>")
    .option("--log-format <format>", "text, or json: one object a line on standard error (default: text)")
    .option("--log-level <level>", "trace, debug, info, warn or error (default: info)");
}

function addReadingCommands(program: Command, whenCalled: WhenCalled): void {
  program
    .command("transcript <runId>")
    .description("what was said in a run, as Markdown")
    .option("--node <id>", "the visits of one node")
    .option("--results", "with the results of tool calls")
    .option("--reasoning", "with what models have thought, where their providers say it")
    .option(...JSON_OPTION)
    .action(whenCalled(async () => (await import("./commands/transcript.js")).transcriptCommand));
  program
    .command("artifacts <runId> [name]")
    .description("list what a run has made; print or save it")
    .option("--save <dir>", "save below a directory, all or the one that is named")
    .option("--output <file>", "save the one that is named to a file")
    .option("--force", "replace files that are there")
    .option(...JSON_OPTION)
    .action(whenCalled(async () => (await import("./commands/artifacts.js")).artifactsCommand));
}

function addProjectCommands(program: Command, whenCalled: WhenCalled): void {
  const projects = program.command("project").description("where runs of this store may work");
  projects
    .command("add <dir>")
    .description("register a project (interlock run does it by itself)")
    .option("--read-only", "for bundles and cores: runs may read it, and write nothing")
    .option(...JSON_OPTION)
    .action(whenCalled(async () => (await import("./commands/project.js")).projectAddCommand));
  projects
    .command("list")
    .description("list the registered projects")
    .option(...JSON_OPTION)
    .action(whenCalled(async () => (await import("./commands/project.js")).projectListCommand));
  projects
    .command("remove <dir>")
    .description("take a project off the list; its files stay")
    .option(...JSON_OPTION)
    .action(whenCalled(async () => (await import("./commands/project.js")).projectRemoveCommand));
}

function addPackageCommands(program: Command, whenCalled: WhenCalled): void {
  const packages = program.command("package").description("workflow packages");
  addWritingCommands(packages, whenCalled);
  packages
    .command("check <source>")
    .description("check a package, a directory or a .bmad file, and list every finding")
    .option(...JSON_OPTION)
    .action(whenCalled(async () => (await import("./commands/package.js")).packageCheckCommand));
  packages
    .command("import <source>")
    .description(
      "make a package of a workflow of step files, or of a skill: a directory, SKILL.md or workflow.md",
    )
    .option("--out <dir>", "the new directory (default: the workflow's name; with --all: imported)")
    .option("--workflow <name>", "which one, where there are several")
    .option("--all", "all of them, each into a directory of its own")
    .option("--install", "put it into the store as well; prints its id")
    .option(...JSON_OPTION)
    .action(whenCalled(async () => (await import("./commands/package-import.js")).packageImportCommand));
  packages
    .command("list")
    .description("list the installed packages")
    .option(...JSON_OPTION)
    .action(whenCalled(async () => (await import("./commands/package.js")).packageListCommand));
  packages
    .command("install <source>")
    .description("install a package directory or a .bmad file; prints its id")
    .option(...JSON_OPTION)
    .action(whenCalled(async () => (await import("./commands/package.js")).packageInstallCommand));
  packages
    .command("show <packageId>")
    .description("workflows, agents and nodes of an installed package")
    .option(...JSON_OPTION)
    .action(whenCalled(async () => (await import("./commands/package.js")).packageShowCommand));
  packages
    .command("remove <packageId>")
    .description("remove an installed package")
    .option(...JSON_OPTION)
    .action(whenCalled(async () => (await import("./commands/package.js")).packageRemoveCommand));
}

const DEFAULT_MODEL = "default: INTERLOCK_MODEL, else model of settings.json";

function addBundleCommands(program: Command, whenCalled: WhenCalled): void {
  const bundles = program.command("bundle").description("workflows that the model orchestrates itself");
  const command = withBudgetOptions(
    bundles
      .command("run <workflow>")
      .description("run a workflow.yaml: the model orchestrates it, results land in a session folder")
      .requiredOption("--project <project>", "the user's project: its directory, or its name")
      .option("--store <store>", "the store that has the project, on another machine: its name or id")
      .option("--bundle <dir>", "the bundle's root (default: found from where the workflow lies)")
      .option("--core <dir>", "the core with the workflow engine (default: found beside the bundle)")
      .option("--agent <file>", "the agent that runs it; of an agents.json, file#id")
      .option("--input <text>", "your first words; a command of the agent such as *intake, or its number")
      .option("--yolo", "go on at stop points where the workflow allows it")
      .option("--output <dir>", "where the session folder is made (default: the project's artifacts/)")
      .option("--session <id>", "the session folder's name (default: the run's id)")
      .option("--autopilot", "tell the agent to decide what it can without asking")
      .option("--rehearse", "without a model: placeholder texts instead of real work"),
  );
  withStepOption(withModelOptions(command, DEFAULT_MODEL), "turns")
    .option("--detach", "start the run and return")
    .option("--print-input", "start nothing: print what other clients of Temporal start the run with")
    .option("--no-wait-for-answers", "end with exit code 3 when the run asks something")
    .option(...JSON_OPTION)
    .action(whenCalled(async () => (await import("./commands/run.js")).bundleRunCommand));
  bundles
    .command("list <dir>")
    .description("list every workflow and agent, with what is missing")
    .option(...JSON_OPTION)
    .action(whenCalled(async () => (await import("./commands/bundle.js")).bundleListCommand));
  bundles
    .command("check <dir>")
    .description("check that every workflow can be run")
    .option(...JSON_OPTION)
    .action(whenCalled(async () => (await import("./commands/bundle.js")).bundleCheckCommand));
}

function addRunCommand(program: Command, whenCalled: WhenCalled): void {
  const command = program
    .command("run <package>")
    .description(
      "run a package (a directory, a .bmad file or an installed package's id, name or name@version) on a project",
    )
    .requiredOption(
      "--project <project>",
      "the directory the agents work on, or a project's name; results land in its artifacts/",
    )
    .option("--store <store>", "the store that has the project: its name or id")
    .option("--workflow <id>", "which workflow, where the package has several")
    .option("--agent <id>", "the agent for nodes that name none (default: the package's first agent)")
    .option("--input <text>", "your words for the first node")
    .option("--autopilot", "tell agents to decide what they can without asking")
    .option(
      "--whole-run-conversation",
      "nodes see what was said at earlier ones (default: as the package says)",
    )
    .option("--no-whole-run-conversation", "each node begins afresh, whatever the package says")
    .option("--conditions", "make conditionExpr of edges binding: the guard evaluates it")
    .option(
      "--story <id>",
      "the story the run carries, such as wrkf-1010: with it, the run has a graph state",
    )
    .option("--rehearse", "walk the package without a model: placeholder texts instead of real work")
    .option("--branches", "with --rehearse: take the branches in turn, run after run");
  withStepOption(
    withModelOptions(withBudgetOptions(command), DEFAULT_MODEL),
    "as the package says, else turns",
  )
    .option("--detach", "start the run and return")
    .option("--print-input", "start nothing: print what other clients of Temporal start the run with")
    .option("--no-wait-for-answers", "end with exit code 3 when the run asks something")
    .option("--json", "print one JSON object at the end")
    .action(whenCalled(async () => (await import("./commands/run.js")).runCommand));
}

/** The library for it looks at all commands, and is loaded for nothing else. */
function isAboutCompletion([command, named]: readonly string[]): boolean {
  const asked = command === "help" ? named : command;
  return asked === "completion" || asked === "complete";
}

/**
 * `help` shows the first command that it is given, and all where there is no such one. Here it shows `package new`, and of a command that
 * there is not it says what the command itself would.
 */
function withMeant(argv: readonly string[], program: Command): readonly string[] {
  const [command, ...words] = argv;
  if (command !== "help" || words.length === 0 || words.some((word) => word.startsWith("-"))) return argv;
  const named = [];
  for (let at = program, rest = words; at.commands.length > 0 && rest.length > 0;) {
    const [word = "", ...more] = rest;
    const found = at.commands.find((one) => one.name() === word);
    if (found === undefined && at.registeredArguments.length > 0) break; // it may be an argument: nothing is to be done with it
    named.push(word);
    if (found === undefined) return named;
    [at, rest] = [found, more];
  }
  return [...named, "--help"];
}

/** The parser ends its texts itself. */
function withoutEnd(text: string): string {
  return text.replace(/\n$/, "");
}

/** Runs one command line; returns the exit code. Errors become one sentence on standard error. */
export async function main(argv: readonly string[]): Promise<ExitCode> {
  let exitCode: ExitCode = EXIT.done;
  const program = buildProgram((code) => {
    exitCode = code;
  });
  try {
    if (isAboutCompletion(argv)) await (await import("./completion.js")).addCompletion(program);
    await program.parseAsync([...withMeant(argv, program)], { from: "user" });
    return exitCode;
  } catch (error) {
    if (error instanceof CommanderError) {
      noteError(error.message.replace(/^error: /, ""));
      return error.exitCode === 0 ? EXIT.done : EXIT.usage;
    }
    if (error instanceof UsageError || error instanceof ConfigError) {
      printError(error.message);
      return EXIT.usage;
    }
    if (error instanceof CommandError) {
      printError(error.message);
      return EXIT.failed;
    }
    printError(await unexpected(error));
    return EXIT.failed;
  }
}
