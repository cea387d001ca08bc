import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import { type BundleReport, checkBundles } from "../../tools/bundle/bundle-check.js";
import { EXIT, type ExitCode, UsageError, print, printJson } from "../output.js";

/** `interlock bundle list`: every workflow and agent of a directory, and what is missing. */
export async function bundleListCommand(dir: string, options: { json?: boolean }): Promise<ExitCode> {
  const report = await reportOf(dir);
  if (options.json === true) printJson(report);
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
    print(`${report.workflows.length} workflows, ${report.agents.length} agents.`);
  }
  return EXIT.done;
}

/** `interlock bundle check`: whether every workflow of a directory can be run. */
export async function bundleCheckCommand(dir: string, options: { json?: boolean }): Promise<ExitCode> {
  const report = await reportOf(dir);
  const broken = report.workflows.filter(({ ok }) => !ok);
  if (options.json === true) printJson(report);
  else {
    for (const { path, missing, errors } of report.workflows) {
      for (const item of errors) print(`error    ${path}  ${item}`);
      for (const item of missing) print(`missing  ${path}  ${item}`);
    }
    const lacking = report.workflows.filter(({ missing }) => missing.length > 0).length;
    print(
      `${report.workflows.length} workflows: ${broken.length} with errors, ${lacking} that lack something. ${report.agents.length} agents.`,
    );
  }
  return broken.length === 0 ? EXIT.done : EXIT.failed;
}

async function reportOf(dir: string): Promise<BundleReport> {
  const path = resolve(dir);
  const entry = await stat(path).catch(() => undefined);
  if (entry?.isDirectory() !== true) throw new UsageError(`"${dir}" is no directory.`);
  return checkBundles(path);
}
