import { isServed } from "../embedded/server.js";
import { openEnvironment } from "./environment.js";
import { EXIT, type ExitCode, noSuchRun, noWorkerHint, printJson, printNote } from "./output.js";
import { notFound } from "./run-folder.js";
import { printReport, reportFromStore } from "./run-report.js";

/**
 * `interlock status`: where a run stands, from its files or, where a Temporal is configured or the embedded one runs, from
 * there. A run that nobody works on is shown as it stood, with the name of its queue.
 */
export async function statusCommand(runId: string, options: { json?: boolean }): Promise<ExitCode> {
  const { config, store } = await openEnvironment();
  const found = await store.runs.findRun(runId);
  let report = found.ok ? await reportFromStore(store, found.value) : undefined;
  const problem = report?.problem;
  const isOpen = report !== undefined && report.phase !== "completed" && report.phase !== "failed";
  const isServing = config.temporal !== undefined || (isOpen && (await isServed(store.dir)));
  if (isOpen && !isServing) printNote(noWorkerHint(true, store.taskQueue));
  if (isServing) {
    const { reportFromTemporal } = await import("./report-from-temporal.js");
    const asked = await reportFromTemporal(config, store, runId, report);
    if (asked.note !== undefined) printNote(asked.note);
    report = asked.report && { ...asked.report, ...(problem === undefined ? {} : { problem }) };
  }
  if (report === undefined) throw found.ok ? noSuchRun(runId) : notFound(runId, found.error);
  const root = found.ok ? await store.runs.projectRoot(found.value.projectId) : found;
  if (options.json === true) printJson(report);
  else printReport(report, root.ok ? root.value : undefined);
  return report.problem === undefined ? EXIT.done : EXIT.failed;
}
