import { resolve } from "node:path";
import { type Finding, isError, whereOf } from "../../core/package/findings.js";
import { checkPackageSource } from "../../store/packages/package-source.js";
import { someAtOnce } from "../../core/some-at-once.js";
import { counted, excerpt } from "../../core/text.js";
import { type Result, fail } from "../../core/errors.js";
import type { JsonAnswers, StoredPackage, StoredRun } from "../../contract/reads.js";
import {
  CommandError,
  EXIT,
  type ExitCode,
  UsageError,
  asError,
  print,
  printError,
  printJson,
  usable,
} from "../terminal/output.js";
import { leadsSomewhere } from "../../store/disk/is-there.js";
import { type StorePlace, withStore } from "../session/store-place.js";
import type { TemporalSession } from "../session/temporal-session.js";
import { uploadPackage } from "../session/upload-package.js";
import type { JsonChoice } from "../options/common-options.js";

/** `interlock package check`: every finding with file, JSON path and sentence. */
export async function packageCheckCommand(dir: string, options: JsonChoice): Promise<ExitCode> {
  const findings = await checkPackageSource(await somethingAt(dir));
  const errors = findings.filter(isError).length;
  if (options.json === true) printJson({ ok: errors === 0, findings });
  else {
    printFindings(findings);
    const warnings = findings.length - errors;
    print(
      errors === 0
        ? `The package is valid (${counted(warnings, "warning")}).`
        : `${counted(errors, "error")}, ${counted(warnings, "warning")}.`,
    );
  }
  return errors === 0 ? EXIT.done : EXIT.failed;
}

/** The path that was given, where there is something at it. */
export async function somethingAt(given: string): Promise<string> {
  const path = resolve(given);
  if (!(await leadsSomewhere(path))) throw new UsageError(`"${excerpt(given)}" does not exist.`);
  return path;
}

/** One line for each finding. */
export function printFindings(findings: readonly Finding[], tell = print): void {
  for (const finding of findings)
    tell(`${finding.severity}  ${whereOf(finding)}  ${finding.path}  ${finding.message}`);
}

/** `interlock package list`: what the store has installed. */
export async function packageListCommand(options: JsonChoice): Promise<ExitCode> {
  const none = (): JsonAnswers["read.packages"] => ({ packages: [] });
  const { packages } = await withStore({ makes: false, none }, async ({ reader }) =>
    usable(await reader.ask("read.packages", {})),
  );
  if (options.json === true) printJson(packages);
  else if (packages.length === 0) print("No packages yet. interlock run installs the package it is given.");
  else for (const item of packages) print(`${item.packageId}  ${item.name} ${item.version}`);
  return EXIT.done;
}

type Installed = StoredPackage & { readonly findings: readonly object[] };

/** `interlock package install`: puts a directory or a .bmad file into the store; a .bmad file into one elsewhere as well. */
export async function packageInstallCommand(source: string, options: JsonChoice): Promise<ExitCode> {
  const path = resolve(source);
  const install = ({ store, reader }: StorePlace): Promise<Result<Installed>> =>
    store === undefined ? uploadPackage(reader, path) : store.packages.install(path);
  // No store is made for a name that was mistyped.
  const installed = (await leadsSomewhere(path))
    ? await withStore<Result<Installed>>({ makes: true }, install)
    : fail("E_PACKAGE_NOT_FOUND", `There is no package directory or .bmad archive at ${path}.`);
  if (!installed.ok) {
    const { code, message } = installed.error;
    if (options.json === true) printJson({ ok: false, error: installed.error });
    else printError(`${code}: ${message}`); // standard output is for the id
    return code === "E_PACKAGE_NOT_FOUND" ? EXIT.usage : EXIT.failed;
  }
  const { packageId, name, version } = installed.value;
  const findings = installed.value.findings as readonly Finding[]; // as the store has found them
  if (options.json === true) printJson({ ok: true, packageId, name, version, findings });
  else {
    printFindings(findings);
    print(packageId);
  }
  return EXIT.done;
}

/** `interlock package show`: workflows, agents and nodes of an installed package. */
export async function packageShowCommand(named: string, options: JsonChoice): Promise<ExitCode> {
  const opened = await withStore({ makes: false }, ({ reader }) =>
    reader.ask("read.package", { packageId: named }),
  );
  if (!opened.ok) throw asError(opened.error, opened.error.message, " See: interlock package list");
  const shown = opened.value;
  if (options.json === true) {
    printJson(shown);
    return EXIT.done;
  }
  print(`${shown.name} ${shown.version}  ${shown.description}`.trimEnd());
  for (const workflow of shown.workflows) print(`  workflow ${workflow.id}: ${workflow.nodes.join(", ")}`);
  for (const agent of shown.agents) print(`  agent ${agent.id}: ${agent.name}, ${agent.title}`);
  return EXIT.done;
}

/** `interlock package remove`: takes a package out of the store, unless a run that has not ended needs it. */
export async function packageRemoveCommand(packageId: string, options: JsonChoice): Promise<ExitCode> {
  await withStore({ makes: false }, async (place) => {
    const { runs, damaged } = usable(await place.reader.ask("read.runs", {}));
    const [first] = damaged;
    if (first !== undefined) throw new CommandError(first);
    const needing = runs.filter(
      (run) => run.packageId === packageId && !["completed", "failed"].includes(run.phase),
    );
    const closedRuns = await closedByTemporal(place, needing);
    const removed = await place.reader.ask("package.remove", { packageId, closedRuns });
    if (removed.ok) return;
    if (removed.error.code !== "E_PACKAGE_NOT_FOUND") throw asError(removed.error);
    // What a name stands for changes with what is installed: only an id is removed.
    const meant = await place.reader.ask("read.package", { packageId });
    throw new UsageError(
      meant.ok
        ? `A package is removed by its id. "${excerpt(packageId)}" is now: ${meant.value.packageId}`
        : `${removed.error.message} See: interlock package list`,
    );
  });
  if (options.json === true) printJson({ ok: true, packageId });
  else print(`Removed ${packageId}.`);
  return EXIT.done;
}

/** Those of the runs that Temporal has closed: they are failed, whatever their files say. */
async function closedByTemporal(
  { config, store, session }: StorePlace,
  runs: readonly StoredRun[],
): Promise<string[]> {
  if (runs.length === 0) return [];
  if (session !== undefined) return closedOf(session, runs);
  const { withTemporal } = await import("../session/temporal-session.js");
  return withTemporal({ config, store }, (place) => closedOf(place.session, runs)).catch((error: unknown) => {
    if (error instanceof CommandError) return []; // nobody can say that they are closed
    throw error;
  });
}

const ASKED_AT_ONCE = 16;

async function closedOf({ client }: TemporalSession, runs: readonly StoredRun[]): Promise<string[]> {
  const { hasCode } = await import("../../client/temporal/interlock-error.js");
  const asked = await someAtOnce(runs, ASKED_AT_ONCE, async ({ runId }) => {
    const why = await client
      .handle(runId)
      .closedBy()
      .catch((error: unknown) => {
        if (hasCode(error, "E_RUN_NOT_FOUND")) return undefined; // it can be restored
        throw error;
      });
    return why === undefined ? [] : [runId];
  });
  return asked.flat();
}
