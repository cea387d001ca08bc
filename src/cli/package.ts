import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import type { Finding } from "../core/package/findings.js";
import type { Config } from "../config.js";
import { checkPackageSource } from "../store/package-source.js";
import type { RunMetadata } from "../store/run-index.js";
import type { Store } from "../store/store.js";
import { openEnvironment } from "./environment.js";
import { CommandError, EXIT, type ExitCode, UsageError, print, printJson } from "./output.js";

/** `interlock package check`: every finding with file, JSON path and sentence. */
export async function packageCheckCommand(dir: string, options: { json?: boolean }): Promise<ExitCode> {
  const path = resolve(dir);
  const entry = await stat(path).catch(() => undefined);
  if (entry === undefined) throw new UsageError(`"${dir}" does not exist.`);
  const findings = await checkPackageSource(path);
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

/** `interlock package install`: puts a directory or a .bmad file into the store. */
export async function packageInstallCommand(source: string, options: { json?: boolean }): Promise<ExitCode> {
  const { store } = await openEnvironment();
  const installed = await store.packages.install(resolve(source));
  if (!installed.ok) {
    if (options.json === true) printJson({ ok: false, error: installed.error });
    else print(`${installed.error.code}: ${installed.error.message}`);
    return EXIT.failed;
  }
  const { packageId, name, version, findings } = installed.value;
  if (options.json === true) printJson({ ok: true, packageId, name, version, findings });
  else {
    for (const finding of findings)
      print(`${finding.severity}  ${finding.file}  ${finding.path}  ${finding.message}`);
    print(packageId);
  }
  return EXIT.done;
}

/** `interlock package show`: workflows, agents and nodes of an installed package. */
export async function packageShowCommand(packageId: string, options: { json?: boolean }): Promise<ExitCode> {
  const { store } = await openEnvironment();
  const opened = await store.packages.open(packageId);
  if (!opened.ok) throw new UsageError(`${opened.error.message} See: interlock package list`);
  const { manifest, agents, workflows } = opened.value;
  const shown = {
    packageId,
    name: manifest.name,
    version: manifest.version,
    description: manifest.description ?? "",
    workflows: workflows.map(({ id, isEntry, graph }) => ({
      id,
      isEntry,
      nodes: graph.nodes.map((node) => node.id),
    })),
    agents: agents.map(({ id, metadata }) => ({ id, name: metadata.name, title: metadata.title })),
  };
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
export async function packageRemoveCommand(
  packageId: string,
  options: { json?: boolean },
): Promise<ExitCode> {
  const { config, store } = await openEnvironment();
  const runs = await store.runs.listAllRuns();
  const open = await stillOpen(
    { config, store },
    runs.filter((run) => run.packageId === packageId && !["completed", "failed"].includes(run.phase)),
  );
  if (open.length > 0) {
    throw new UsageError(
      `Runs that have not ended need this package: ${open.map(({ runId }) => runId).join(", ")}.`,
    );
  }
  const removed = await store.packages.remove(packageId);
  if (!removed.ok) throw new UsageError(`${removed.error.message} See: interlock package list`);
  if (options.json === true) printJson({ ok: true, packageId });
  else print(`Removed ${packageId}.`);
  return EXIT.done;
}

/** The runs that the index takes for open, without those that Temporal has closed: they are failed, whatever their files say. */
async function stillOpen(
  environment: { readonly config: Config; readonly store: Store },
  runs: readonly RunMetadata[],
): Promise<readonly RunMetadata[]> {
  if (runs.length === 0) return runs;
  const [{ withTemporal }, { InterlockError }] = await Promise.all([
    import("./run-session.js"),
    import("../client.js"),
  ]);
  return withTemporal(environment, async ({ session }) => {
    const open: RunMetadata[] = [];
    for (const run of runs) {
      const closed = await session.client
        .handle(run.runId)
        .closedBy()
        .catch((error: unknown) => {
          if (error instanceof InterlockError && error.code === "E_RUN_NOT_FOUND") return undefined; // it can be restored
          throw error;
        });
      if (closed === undefined) open.push(run);
    }
    return open;
  }).catch((error: unknown) => {
    if (error instanceof CommandError) return runs; // nobody can say that they are closed
    throw error;
  });
}
