import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import type { Finding } from "../core/package/findings.js";
import { loadPackage } from "../store/package-loader.js";
import { openEnvironment } from "./environment.js";
import { EXIT, type ExitCode, UsageError, print, printJson } from "./output.js";

/** `interlock package check`: every finding with file, JSON path and sentence. */
export async function packageCheckCommand(dir: string, options: { json?: boolean }): Promise<ExitCode> {
  const path = resolve(dir);
  const entry = await stat(path).catch(() => undefined);
  if (entry === undefined) throw new UsageError(`"${dir}" does not exist.`);
  const { findings } = await loadPackage(path);
  const errors = findings.filter((finding) => finding.severity === "error").length;
  if (options.json === true) printJson({ ok: errors === 0, findings });
  else printFindings(findings, errors);
  return errors === 0 ? EXIT.done : EXIT.failed;
}

function printFindings(findings: readonly Finding[], errors: number): void {
  for (const finding of findings)
    print(`${finding.severity}  ${finding.file}  ${finding.path}  ${finding.message}`);
  const warnings = findings.length - errors;
  print(
    errors === 0 ? `The package is valid (${warnings} warnings).` : `${errors} errors, ${warnings} warnings.`,
  );
}

/** `interlock package list`: what this store has installed. */
export async function packageListCommand(options: { json?: boolean }): Promise<ExitCode> {
  const { store } = await openEnvironment();
  const installed = await store.packages.list();
  if (options.json === true) {
    printJson(installed.map(({ packageId, name, version }) => ({ packageId, name, version })));
  } else if (installed.length === 0)
    print("No packages yet. interlock run installs the package it is given.");
  else for (const item of installed) print(`${item.packageId}  ${item.name} ${item.version}`);
  return EXIT.done;
}
