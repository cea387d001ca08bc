import { stat } from "node:fs/promises";
import { join, resolve } from "node:path";
import {
  type BundleReport,
  type OtherEntry,
  checkBundles,
  nothingRuns,
} from "../../tools/bundle/bundle-check.js";
import { UNREAD_ENTRY } from "../../core/import/source/left-out.js";
import { counted, shellWord } from "../../core/text.js";
import { MORE_BELOW } from "../../tools/import/read-source.js";
import { EXIT, type ExitCode, UsageError, print, printJson } from "../terminal/output.js";
import type { JsonChoice } from "../options/common-options.js";

/** `interlock bundle list`: every workflow and agent of a directory, and what is missing. */
export async function bundleListCommand(dir: string, options: JsonChoice): Promise<ExitCode> {
  const report = await reportOf(dir);
  if (options.json === true) printJson(withReason(report));
  else {
    for (const { path, name, description, ok, missing, errors } of report.workflows) {
      print(
        `workflow  ${path}  ${name}${ok ? "" : "  (cannot be run)"}${description === "" ? "" : `  ${description}`}`,
      );
      for (const item of [...errors, ...missing]) print(`    missing  ${item}`);
    }
    for (const { path, name, title, commands } of report.agents) {
      print(`agent     ${path}  ${name}, ${title}  ${commands.join(" ")}`.trimEnd());
    }
    for (const { path, error } of report.agentErrors ?? [])
      print(`agent     ${path}  (cannot be read)  ${error}`);
    printOthers(report, dir);
    print(`${counted(report.workflows.length, "workflow")}, ${agentsIn(report)}.${told(report)}`);
  }
  return endOf(report, options);
}

/** `interlock bundle check`: whether every workflow of a directory can be run. */
export async function bundleCheckCommand(dir: string, options: JsonChoice): Promise<ExitCode> {
  const report = await reportOf(dir);
  const broken = report.workflows.filter(({ ok }) => !ok);
  if (options.json === true) printJson(withReason(report));
  else {
    for (const { path, missing, errors } of report.workflows) {
      for (const item of errors) print(`error    ${path}  ${item}`);
      for (const item of missing) print(`missing  ${path}  ${item}`);
    }
    for (const { path, error } of report.agentErrors ?? []) print(`error    ${path}  ${error}`);
    printOthers(report, dir);
    const lacking = report.workflows.filter(({ missing }) => missing.length > 0).length;
    print(
      `${counted(report.workflows.length, "workflow")}: ${broken.length} with errors, ${lacking} that lack something. ${agentsIn(report)}.${told(report)}`,
    );
  }
  const end = endOf(report, options);
  const isWhole = broken.length === 0 && report.unread === undefined && report.agentErrors === undefined;
  return isWhole ? end : EXIT.failed;
}

const FORMS = { steps: "steps", instructions: "skill", agent: "persona" } as const;

/** What a bundle run does not run as it is, with what to do. */
function printOthers({ others = [], packages = [], unread = [], complete }: BundleReport, dir: string): void {
  for (const { path, name, description, form, remedy } of others) {
    print(`${FORMS[form].padEnd(8)}  ${path}  ${name}${description === "" ? "" : `  ${description}`}`);
    print(`    ${form === "agent" ? remedy : `to run it: ${remedy}`}`);
  }
  for (const path of packages) {
    print(`package   ${path}`);
    print(`    to run it: interlock run ${shellWord(join(dir, path), "<package>")}`);
  }
  for (const path of unread) print(`unread    ${path}  ${UNREAD_ENTRY}`);
  if (complete === false) print(MORE_BELOW);
}

function agentsIn({ agents }: BundleReport): string {
  return counted(agents.length, "agent");
}

/** How many there are of other forms, where there are any. */
function told({ others = [], packages = [] }: BundleReport): string {
  const made = packages.length === 0 ? "" : ` ${counted(packages.length, "package")}.`;
  if (others.length === 0) return made;
  const count = (form: OtherEntry["form"]): number => others.filter((other) => other.form === form).length;
  return ` To be imported: ${count("steps")} made of steps, ${counted(count("instructions"), "skill")}. ${counted(count("agent"), "persona")}.${made}`;
}

/** A directory of which nothing runs is not fine. */
function endOf(report: BundleReport, options: JsonChoice): ExitCode {
  const reason = nothingRuns(report);
  if (reason === undefined) return EXIT.done;
  if (options.json !== true) print(reason);
  return EXIT.failed;
}

function withReason(report: BundleReport): object {
  const reason = nothingRuns(report);
  return reason === undefined ? report : { ...report, reason };
}

async function reportOf(dir: string): Promise<BundleReport> {
  const path = resolve(dir);
  const entry = await stat(path).catch(() => undefined);
  if (entry?.isDirectory() !== true) throw new UsageError(`"${dir}" is no directory.`);
  return checkBundles(path, dir);
}
