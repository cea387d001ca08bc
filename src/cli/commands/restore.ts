import type { RunHandle } from "../../client/client.js";
import { hasCode } from "../../client/temporal/interlock-error.js";
import type { RunMetadata } from "../../store/runs/run-metadata.js";
import type { Store } from "../../store/store.js";
import { lookAround } from "../session/environment.js";
import { localReader } from "../session/readers.js";
import { type GoOnOptions, goOn, requestOf } from "../start/go-on.js";
import { CommandError, EXIT, type ExitCode, UsageError, printJson, printNote } from "../terminal/output.js";
import { referenceOf } from "../session/run-session.js";
import { reportDetached } from "../follow/follow-and-report.js";
import { type TemporalSession, withTemporal } from "../session/temporal-session.js";
import { wordsOf } from "../../core/system-code.js";
import { noWorkerHint } from "../session/standstill-words.js";

interface RestoreOptions extends GoOnOptions {
  readonly all?: boolean;
}

/** `interlock restore`: starts runs again that Temporal no longer knows, each from its document. One is followed. */
export async function restoreCommand(runIds: readonly string[], options: RestoreOptions): Promise<ExitCode> {
  const [runId, ...others] = new Set(runIds);
  if ((runId === undefined) !== (options.all === true)) {
    throw new UsageError("Say which runs to restore: their ids, or --all.");
  }
  if (runId === undefined || others.length > 0) return restoreSeveral([...new Set(runIds)], options);
  return goOn(runId, options, async ({ reader, session }) => ({
    run: await session.client.restore(await requestOf(reader, runId)),
  }));
}

/** Starts them and leaves them to the workers. Without ids: all that are not over and that Temporal does not know. */
async function restoreSeveral(named: readonly string[], { json = false }: RestoreOptions): Promise<ExitCode> {
  const environment = await lookAround();
  const { store } = environment;
  if (store === undefined) {
    throw new UsageError("No store is here: name one run, or restore several on the store's machine.");
  }
  const reader = localReader(store);
  const { runIds, isWhole } =
    named.length > 0 ? { runIds: named, isWhole: true } : await unfinishedRuns(store);
  if (runIds.length === 0) {
    if (isWhole) printNote("Nothing is to be restored: every run of this store is over.");
    return isWhole ? EXIT.done : EXIT.failed;
  }
  return withTemporal(environment, async ({ session, signal }) => {
    let [restored, failed] = [0, 0];
    for (const runId of runIds) {
      if (signal.aborted)
        throw new CommandError(`Stopped. ${restored} of ${runIds.length} runs are restored.`);
      try {
        if (named.length === 0 && (await isKnown(await handleOf(store, session, runId)))) continue;
        const run = await session.client.restore(await requestOf(reader, runId));
        await reportDetached(session, run, { json });
        restored += 1;
      } catch (error) {
        const message = wordsOf(error);
        failed += 1;
        if (json) printJson({ ok: false, runId, error: { message } });
        else printNote(`Run ${runId} is not restored: ${message}`);
      }
    }
    if (restored + failed === 0 && isWhole)
      printNote("Nothing is to be restored: Temporal knows every run that is not over.");
    if (restored > 0 && !(await session.hasWorker())) {
      printNote(noWorkerHint(session, session.client.taskQueue));
    }
    return failed === 0 && isWhole ? EXIT.done : EXIT.failed;
  });
}

/**
 * The runs that are not over. One that no worker has opened yet is none: nothing says what it was started with. Those of an index that
 * cannot be read are missing, and that is said.
 */
async function unfinishedRuns(
  store: Store,
): Promise<{ readonly runIds: readonly string[]; readonly isWhole: boolean }> {
  const isUnfinished = async ({ runId, projectId, phase }: RunMetadata): Promise<boolean> => {
    if (phase !== "idle") return phase === "running" || phase === "waiting-user";
    const files = await store.runs.openFiles(projectId, runId);
    // One that cannot be read now is named: its run may have been begun.
    return files.ok && (await files.value.request.read().catch(() => null)) !== undefined;
  };
  const runIds: string[] = [];
  const { runs, damaged } = await store.runs.surveyRuns();
  for (const { error } of damaged) printNote(error.message);
  for (const run of runs) if (await isUnfinished(run)) runIds.push(run.runId);
  return { runIds, isWhole: damaged.length === 0 };
}

async function handleOf(store: Store, { client }: TemporalSession, runId: string): Promise<RunHandle> {
  const found = await store.runs.findRun(runId);
  return client.handle(referenceOf(found.ok ? found.value : undefined) ?? runId);
}

async function isKnown(run: RunHandle): Promise<boolean> {
  try {
    await run.executionStatus();
    return true;
  } catch (error) {
    if (hasCode(error, "E_RUN_NOT_FOUND")) return false;
    throw error;
  }
}
