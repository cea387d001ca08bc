import { defined } from "../../core/defined.js";
import { belowInStore } from "../report/below-in-store.js";
import { isNobodyThere, lookAround, noStoreWords, whereAsked } from "../session/environment.js";
import { embeddedWebUi, isTemporalSilent, isTemporalThere } from "../session/temporal-there.js";
import { UsageError, EXIT, type ExitCode, printJson, printNote } from "../terminal/output.js";
import { localReader } from "../session/readers.js";
import { isPruned, notFound, noSuchRun } from "../session/run-folder.js";
import { printReport, reportFromStore } from "../report/run-report.js";
import { EMBEDDED_WEB_UI } from "../session/web-link.js";
import { isOverPhase } from "../../core/run/phase.js";
import type { JsonChoice } from "../options/common-options.js";
import { noWorkerHint } from "../session/standstill-words.js";

/**
 * `interlock status`: where a run stands, from its files or, where a Temporal is configured or the embedded one runs, from
 * there. A run that nobody works on is shown as it stood, with the name of its queue.
 */
export async function statusCommand(runId: string, options: JsonChoice): Promise<ExitCode> {
  const { config, store } = await lookAround();
  if (isNobodyThere(config, store)) throw new UsageError(noStoreWords(config));
  const here = store && localReader(store, config);
  const found = await here?.ask("read.run", { run: runId });
  if (found?.ok === false && isPruned(found.error)) throw notFound(runId, found.error);
  let report = found?.ok === true ? reportFromStore(found.value) : undefined;
  let projectRoot = found?.ok === true ? (found.value.projectRoot ?? undefined) : undefined;
  let isOfFiles = report !== undefined;
  const problem = report?.problem;
  const isOpen = report !== undefined && !isOverPhase(report.phase);
  // One that the store does not know may be opened only now, or have failed before it was; one that has failed may have been let go on since.
  const isAsked = report?.phase !== "completed";
  const isServing = config.temporal !== undefined || (isAsked && (await isTemporalThere(config, store)));
  if (isOpen && !isServing && store !== undefined)
    printNote(noWorkerHint({ embedded: true, isHere: true }, store.taskQueue));
  let webUi = config.temporal === undefined && !isServing ? await embeddedWebUi(store) : undefined;
  if (isServing) {
    const { reportFromTemporal } = await import("../report/report-from-temporal.js");
    const asked = await reportFromTemporal(config, store, runId, report);
    if (asked.note !== undefined) printNote(asked.note);
    webUi = asked.webUi ?? (config.temporal === undefined ? EMBEDDED_WEB_UI : undefined);
    projectRoot ??= asked.projectRoot;
    isOfFiles = asked.note !== undefined;
    report = asked.report && { ...asked.report, ...defined({ problem }) };
  }
  if (report === undefined)
    throw found?.ok === false
      ? notFound(runId, found.error, isServing || !isTemporalSilent(store))
      : noSuchRun(runId, true, whereAsked(config, store));
  if (isOfFiles && here !== undefined && found?.ok === true)
    report = { ...report, ...defined({ below: await belowInStore(here, found.value) }) };
  if (options.json === true) printJson(report);
  else printReport(report, projectRoot, webUi);
  return report.problem === undefined ? EXIT.done : EXIT.failed;
}
