import { openEnvironment } from "./environment.js";
import { EXIT, type ExitCode, UsageError, printJson, printNote } from "./output.js";
import { printReport, reportFromStore } from "./run-report.js";

/** `interlock status`: where a run stands, from its files, or from Temporal where one is configured. */
export async function statusCommand(runId: string, options: { json?: boolean }): Promise<ExitCode> {
  const { config, store } = await openEnvironment();
  const found = await store.runs.findRun(runId);
  let report = found.ok ? await reportFromStore(store, found.value) : undefined;
  if (config.temporal !== undefined) {
    const { reportFromTemporal } = await import("./report-from-temporal.js");
    const asked = await reportFromTemporal(config, store, runId, report);
    if (asked.note !== undefined) printNote(asked.note);
    report = asked.report;
  }
  if (report === undefined)
    throw new UsageError(`There is no run ${runId} in this store. See: interlock runs`);
  const root = found.ok ? await store.runs.projectRoot(found.value.projectId) : found;
  if (options.json === true) printJson(report);
  else printReport(report, root.ok ? root.value : undefined);
  return EXIT.done;
}
