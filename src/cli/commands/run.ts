import { resolve } from "node:path";
import type { Config } from "../../config.js";
import { readsPath } from "../../core/package/condition-uses.js";
import type { WorkflowGraph } from "../../core/package/graph.js";
import { resolveProject } from "../../store/runs/project-id.js";
import type { Store } from "../../store/store.js";
import {
  type BundleChoice,
  bundleRunThere,
  existing,
  prepareBundleRun,
} from "../start/prepare-bundle-run.js";
import { type RunChoice, graphRunThere, prepareRun, refuseNoPackage } from "../start/prepare-graph-run.js";
import { openEnvironment } from "../session/environment.js";
import { CommandError, EXIT, type ExitCode, UsageError, printNote, usable } from "../terminal/output.js";
import { type ModelChoice, configFor } from "../options/model-options.js";
import { printInput } from "../start/print-input.js";
import { localReader } from "../session/readers.js";
import { isElsewhere, runElsewhere } from "../start/run-elsewhere.js";
import {
  type FollowOptions,
  type PreparedRun,
  bringAnotherWorker,
  followAndReport,
  reportDetached,
} from "../follow/follow-and-report.js";
import { withTemporal } from "../session/temporal-session.js";
import { noWorkerHint } from "../session/standstill-words.js";

interface BeginOptions extends ModelChoice, FollowOptions {
  /** The store that has the project: its name or id. */
  readonly store?: string;
  readonly printInput?: boolean;
}
type RunOptions = Omit<RunChoice, "package"> & BeginOptions;
type BundleRunOptions = BundleChoice & BeginOptions;

/** `interlock run`: starts a run and follows it. */
export async function runCommand(packageArgument: string, options: RunOptions): Promise<ExitCode> {
  if (options.branches === true && options.rehearse !== true) {
    throw new UsageError("--branches is a way to rehearse: add --rehearse.");
  }
  const { store, ...here } = options;
  if (await isElsewhere({ store, project: options.project })) {
    return runElsewhere(
      options,
      (config, found) => graphRunThere(config, found, packageArgument, options),
      (project) => runCommand(packageArgument, { ...here, project }),
    );
  }
  return runPrepared(
    options,
    async (config, store) => {
      const prepared = await prepareRun(config, store, { ...options, package: packageArgument });
      if (options.conditions === true && options.story === undefined) noteClosedGates(prepared.graph);
      return prepared;
    },
    () => refuseNoPackage(packageArgument),
  );
}

/** Conditions are binding, and what some of them wait for nobody can record: only a story has gates. */
function noteClosedGates(graph: WorkflowGraph | undefined): void {
  const isGated = graph?.edges.some(
    ({ conditionExpr }) =>
      conditionExpr && readsPath(conditionExpr, (path) => path.startsWith("gateDecisions")),
  );
  if (isGated !== true) return;
  printNote(
    "Conditions of this workflow read decisions of gates, and a run without a story has none: add --story, such as --story story-1.",
  );
}

/** `interlock bundle run`: starts a bundle run and follows it. */
export async function bundleRunCommand(workflow: string, options: BundleRunOptions): Promise<ExitCode> {
  const { store: named, ...here } = options;
  if (await isElsewhere({ store: named, project: options.project })) {
    return runElsewhere(
      options,
      (config, found) => bundleRunThere(config, found, workflow, options),
      (project) => bundleRunCommand(workflow, { ...here, project }),
    );
  }
  return runPrepared(
    options,
    (config, store) => prepareBundleRun(config, store, workflow, options),
    () => existing(workflow, "file"),
  );
}

async function runPrepared(
  options: BeginOptions & Pick<RunChoice, "project">,
  prepare: (config: Config, store: Store) => Promise<PreparedRun>,
  check: () => Promise<unknown>,
): Promise<ExitCode> {
  const checkAll = async (): Promise<void> => {
    usable(await resolveProject(resolve(options.project)));
    await check();
  };
  const { config: configured, store } = await openEnvironment({ check: checkAll });
  const config = configFor(configured, options);
  const prepared = await prepare(config, store);
  if (options.printInput === true) return printInput(config, store, prepared);
  return withTemporal({ config, store }, async ({ session, signal }) => {
    const json = options.json ?? false;
    if (options.detach === true) {
      const run = await prepared.start(session.client);
      await reportDetached(session, run, { json }); // first: whoever is not told of it starts another
      if (!(await session.hasWorker())) printNote(noWorkerHint(session, session.client.taskQueue));
      return EXIT.done;
    }
    const bringsWorker = config.temporal === undefined;
    const isPolled = await session.hasWorker();
    if (bringsWorker) {
      printNote(
        "No Temporal is configured: using this store's own server, with a worker for the time of this command.",
      );
      if (!isPolled) await session.startWorker();
    } else if (!isPolled) {
      printNote(noWorkerHint(session, session.client.taskQueue));
    }
    if (signal.aborted) throw new CommandError("Stopped before the run was started.");
    const run = await prepared.start(session.client);
    printNote(`Run ${run.runId} of ${prepared.name} is started.`);
    if (bringsWorker && isPolled) await bringAnotherWorker(session, signal);
    const choice = { json, waitForAnswers: options.waitForAnswers, isShared: isPolled };
    const reader = localReader(store);
    return followAndReport({ session, store, reader, run, signal }, prepared, choice);
  });
}
