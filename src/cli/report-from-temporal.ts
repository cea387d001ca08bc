import { type InterlockClient, InterlockError, type RunHandle } from "../client/client.js";
import type { Config } from "../config.js";
import { defined } from "../core/defined.js";
import type { RunState } from "../core/run/run-state.js";
import type { Store } from "../store/store.js";
import { interruption } from "./environment.js";
import { CommandError, noWorkerHint } from "./output.js";
import { queueStandingOf } from "./queue-standing.js";
import { type RunReport, filesOfRun, reportOf, webUrlOf } from "./run-report.js";
import { referenceOf } from "./run-session.js";
import { openTemporalSession } from "./temporal-session.js";

/** Temporal knows a worker that was killed for minutes. One that is alive answers sooner. */
const QUERY_TIMEOUT_MS = 5_000;

/** A run as its workflow tells it; what the store knows where no worker can answer, with a note that says so. */
export async function reportFromTemporal(
  config: Config,
  store: Store,
  runId: string,
  stored: RunReport | undefined,
): Promise<{ readonly report: RunReport | undefined; readonly note?: string }> {
  const session = await openTemporalSession(config, store, interruption()).catch((error: unknown) => {
    if (error instanceof CommandError && stored !== undefined) return error;
    throw error;
  });
  if (session instanceof CommandError) {
    const note = `${session.message} This is what the run's files say.`;
    return { report: stored, note };
  }
  const { client } = session;
  try {
    const found = await store.runs.findRun(runId);
    const run = client.handle(referenceOf(found.ok ? found.value : undefined) ?? runId);
    const executionRunId = await run.executionRunId();
    const { workflowId } = run;
    const webUrl = webUrlOf(session.webUi, client.namespace, workflowId, executionRunId);
    const work = await workOf(run);
    const standing = await queueStandingOf(session, run, store);
    const state = standing.polled ? await stateInTime(client, run) : undefined;
    const failure = state === undefined ? await run.closedBy() : undefined;
    if (failure !== undefined && stored !== undefined) {
      const { question: _, ...rest } = stored;
      return { report: { ...rest, phase: "failed", paused: false, failure, webUrl } };
    }
    if (state === undefined) {
      const note = standing.note || noWorkerHint(session.embedded, standing.taskQueue);
      if (stored === undefined) throw new CommandError(note);
      const { notPolledSince } = standing;
      return { report: { ...stored, webUrl, ...work, polled: false, ...defined({ notPolledSince }) }, note };
    }
    const places = { workflowId, webUrl, ...(await filesOfRun(store, runId)) };
    return { report: { ...reportOf(state, places), ...work } };
  } catch (error) {
    if (!(error instanceof InterlockError && error.code === "E_RUN_NOT_FOUND")) throw error;
    if (stored === undefined) return { report: undefined };
    const note = `Temporal no longer knows this run. Start it again from its document with: interlock restore ${runId}`;
    return { report: stored, note };
  } finally {
    await session.close();
  }
}

/** What the run is at; nothing where nothing is under way. */
async function workOf(run: RunHandle): Promise<Pick<RunReport, "work">> {
  const { activities } = await run.pendingWork();
  return activities.length === 0 ? {} : { work: activities };
}

/** Undefined where nobody answers. */
async function stateInTime(client: InterlockClient, run: RunHandle): Promise<RunState | undefined> {
  const signal = AbortSignal.timeout(QUERY_TIMEOUT_MS);
  try {
    return await client.temporal.withAbortSignal(signal, () => run.state());
  } catch (error) {
    if (signal.aborted) return undefined;
    throw error;
  }
}
