import { openEnvironment, interruption } from "./environment.js";
import { EXIT, type ExitCode, UsageError, noWorkerHint, printNote } from "./output.js";
import { webUrlOf } from "./run-report.js";
import {
  type RunChoice,
  agentsOf,
  followAndReport,
  prepareRun,
  reportDetached,
  requireModel,
  startRun,
} from "./start-run.js";
import { installRuntime, openTemporalSession } from "./temporal-session.js";

export interface RunOptions extends Omit<RunChoice, "package"> {
  readonly detach?: boolean;
  readonly json?: boolean;
  readonly waitForAnswers: boolean;
}

/** `interlock run`: starts a run and follows it. */
export async function runCommand(packageArgument: string, options: RunOptions): Promise<ExitCode> {
  if (options.branches === true && options.rehearse !== true) {
    throw new UsageError("--branches is a way to rehearse: add --rehearse.");
  }
  const { config, store } = await openEnvironment();
  const prepared = await prepareRun(store, { ...options, package: packageArgument });
  const isEmbedded = config.temporal === undefined;
  if (isEmbedded) requireModel(config, prepared, agentsOf(prepared));
  const signal = interruption();
  installRuntime("ERROR");
  const session = await openTemporalSession(config, store);
  try {
    const json = options.json ?? false;
    if (options.detach === true) {
      const run = await startRun(session, prepared);
      const webUrl = webUrlOf(session.webUi, session.client.namespace, run.runId, await run.executionRunId());
      if (!(await session.client.hasWorker()))
        printNote(noWorkerHint(session.embedded, session.client.taskQueue));
      reportDetached(run, { json }, webUrl);
      return EXIT.done;
    }
    if (isEmbedded) {
      printNote(
        "No Temporal is configured: using this store's own server, with a worker for the time of this command.",
      );
      await session.startWorker();
    } else if (!(await session.client.hasWorker())) {
      printNote(noWorkerHint(session.embedded, session.client.taskQueue));
    }
    const run = await startRun(session, prepared);
    printNote(`Run ${run.runId} of ${prepared.request.packageId} is started.`);
    return await followAndReport(
      session,
      store,
      run,
      prepared,
      { json, waitForAnswers: options.waitForAnswers },
      signal,
    );
  } finally {
    await session.close();
  }
}
