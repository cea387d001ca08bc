import { InterlockError } from "../client.js";
import type { Config } from "../config.js";
import type { Store } from "../store/store.js";
import { noWorkerHint } from "./output.js";
import { type RunReport, filesOfRun, reportOf, webUrlOf } from "./run-report.js";
import { openTemporalSession } from "./temporal-session.js";

/** A run as its workflow tells it; what the store knows where no worker can answer, with a note that says so. */
export async function reportFromTemporal(
  config: Config,
  store: Store,
  runId: string,
  stored: RunReport | undefined,
): Promise<{ readonly report: RunReport | undefined; readonly note?: string }> {
  const session = await openTemporalSession(config, store);
  try {
    const run = session.client.handle(runId);
    const webUrl = webUrlOf(session.webUi, session.client.namespace, runId, await run.executionRunId());
    if (!(await session.client.hasWorker())) {
      const report = stored === undefined ? undefined : { ...stored, webUrl };
      return { report, note: noWorkerHint(false, session.client.taskQueue) };
    }
    const places = { webUrl, ...(await filesOfRun(store, runId)) };
    return { report: reportOf(await run.state(), places) };
  } catch (error) {
    if (stored === undefined || !(error instanceof InterlockError)) throw error;
    return { report: stored, note: error.message };
  } finally {
    await session.close();
  }
}
