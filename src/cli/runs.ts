import { resolve } from "node:path";
import { InterlockError } from "../client.js";
import { openEnvironment } from "./environment.js";
import { EXIT, type ExitCode, UsageError, print, printJson, printNote } from "./output.js";
import { noWorkerHint } from "./run.js";
import { type RunReport, printReport, reportFromStore, reportOf, webUrlOf } from "./run-report.js";
import { openTemporalSession } from "./temporal-session.js";

/** `interlock runs`: what this store has run. */
export async function runsCommand(options: { project?: string; json?: boolean }): Promise<ExitCode> {
  const { store } = await openEnvironment();
  const listed =
    options.project === undefined
      ? { ok: true as const, value: await store.runs.listAllRuns() }
      : await store.runs.listRuns(resolve(options.project));
  if (!listed.ok) throw new UsageError(listed.error.message);
  if (options.json === true) printJson(listed.value);
  else if (listed.value.length === 0)
    print("No runs yet. Start one with: interlock run <package> --project <dir>");
  else
    for (const run of listed.value)
      print(`${run.runId}  ${run.phase.padEnd(12)}  ${run.createdAt}  ${run.packageId}`);
  return EXIT.done;
}

/** `interlock status`: where a run stands, from its files, or from Temporal where they are elsewhere. */
export async function statusCommand(runId: string, options: { json?: boolean }): Promise<ExitCode> {
  const { config, store } = await openEnvironment();
  const found = await store.runs.findRun(runId);
  let report: RunReport | undefined;
  let projectRoot: string | undefined;
  if (found.ok) {
    report = await reportFromStore(store, found.value);
    const root = await store.runs.projectRoot(found.value.projectId);
    projectRoot = root.ok ? root.value : undefined;
  }
  if (config.temporal !== undefined) {
    const session = await openTemporalSession(config, store);
    try {
      const run = session.client.handle(runId);
      const webUrl = webUrlOf(session.webUi, session.client.namespace, runId, await run.executionRunId());
      if (await session.client.hasWorker()) {
        const places = { webUrl, stateFile: report?.stateFile ?? null, logFile: report?.logFile ?? null };
        report = reportOf(await run.state(), places);
      } else {
        printNote(noWorkerHint(false, session.client.taskQueue));
      }
    } catch (error) {
      if (report === undefined || !(error instanceof InterlockError)) throw error;
      printNote(error.message);
    } finally {
      await session.close();
    }
  }
  if (report === undefined)
    throw new UsageError(`There is no run ${runId} in this store. See: interlock runs`);
  if (options.json === true) printJson(report);
  else printReport(report, projectRoot);
  return EXIT.done;
}
