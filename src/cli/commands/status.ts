import type { Config } from "../../config.js";
import type { RunFacts, StoreReader } from "../../contract/reads.js";
import { defined } from "../../core/defined.js";
import { belowInStore } from "../report/below-in-store.js";
import { isNobodyThere, lookAround, noStoreWords, whereAsked } from "../session/environment.js";
import { embeddedWebUi, isTemporalSilent, isTemporalThere } from "../session/temporal-there.js";
import { UsageError, EXIT, type ExitCode, printJson, printNote } from "../terminal/output.js";
import { localReader } from "../session/readers.js";
import { isPruned, notFound, noSuchRun } from "../session/run-folder.js";
import { type RunReport, reportFromStore } from "../report/run-report.js";
import { printReport } from "../report/print-report.js";
import { EMBEDDED_WEB_UI } from "../session/web-link.js";
import { isOverPhase } from "../../core/run/phase.js";
import type { JsonChoice } from "../options/common-options.js";
import type { Store } from "../../store/store.js";
import { noWorkerHint } from "../session/standstill-words.js";

/**
 * `interlock status`: where a run stands, from its files or, where a Temporal is configured or the embedded one runs, from
 * there. A run that nobody works on is shown as it stood, with the name of its queue.
 */
export async function statusCommand(runId: string, options: JsonChoice): Promise<ExitCode> {
  const { config, store } = await lookAround();
  if (isNobodyThere(config, store)) throw new UsageError(noStoreWords(config));
  const here = store && localReader(store);
  const found = await here?.ask("read.run", { run: runId });
  if (found?.ok === false && isPruned(found.error)) throw notFound(runId, found.error);
  const files = found?.ok === true ? found.value : undefined;
  const filed = files && reportFromStore(files);
  const isServing = await isServed(config, store, filed);
  const told = isServing
    ? await toldByTemporal(config, store, runId, filed)
    : await toldByFiles(store, filed);
  if (told.report === undefined)
    throw found?.ok === false
      ? notFound(runId, found.error, isServing || !isTemporalSilent(store))
      : noSuchRun(runId, true, whereAsked(config, store));
  const below = told.isOfFiles ? await belowHere(here, files) : undefined;
  const report = { ...told.report, ...defined({ problem: filed?.problem, below }) };
  if (options.json === true) printJson(report);
  else printReport(report, files?.projectRoot ?? told.projectRoot, told.webUi);
  return report.problem === undefined ? EXIT.done : EXIT.failed;
}

/** Whether there is a Temporal to be asked, and anything to ask it. */
async function isServed(
  config: Config,
  store: Store | undefined,
  filed: RunReport | undefined,
): Promise<boolean> {
  if (config.temporal !== undefined) return true;
  // One that the store does not know may be opened only now, or have failed before it was; one that has failed may have been let go on since.
  return filed?.phase !== "completed" && (await isTemporalThere(config, store));
}

async function belowHere(here: StoreReader | undefined, files: RunFacts | undefined) {
  return here === undefined || files === undefined ? undefined : belowInStore(here, files);
}

interface Told {
  readonly report: RunReport | undefined;
  /** The run itself was not asked, or could not say. */
  readonly isOfFiles: boolean;
  readonly webUi: string | undefined;
  readonly projectRoot?: string | undefined;
}

async function toldByTemporal(
  config: Config,
  store: Store | undefined,
  runId: string,
  filed: RunReport | undefined,
): Promise<Told> {
  const { reportFromTemporal } = await import("../report/report-from-temporal.js");
  const { report, note, webUi, projectRoot } = await reportFromTemporal(config, store, runId, filed);
  if (note !== undefined) printNote(note);
  const elsewise = config.temporal === undefined ? EMBEDDED_WEB_UI : undefined;
  return { report, isOfFiles: note !== undefined, webUi: webUi ?? elsewise, projectRoot };
}

/** Says how a run that is not over goes on. */
async function toldByFiles(store: Store | undefined, filed: RunReport | undefined): Promise<Told> {
  if (filed !== undefined && !isOverPhase(filed.phase) && store !== undefined)
    printNote(noWorkerHint({ embedded: true, isHere: true }, store.taskQueue));
  return { report: filed, isOfFiles: true, webUi: await embeddedWebUi(store) };
}
