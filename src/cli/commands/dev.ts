import type { Config } from "../../config.js";
import type { RunEvent } from "../../core/run/run-event.js";
import type { Store } from "../../store/store.js";
import { interruption, openEnvironment } from "../environment.js";
import { EXIT, type ExitCode, UsageError, print, printNote } from "../output.js";
import { eventLine } from "../event-lines.js";
import { type PageServer, startPage } from "../start-page.js";
import { openTemporalSession } from "../temporal-session.js";

export interface ServeOptions {
  /** Nothing is said of the runs. */
  readonly quiet?: boolean;
  /** The page is served, too. */
  readonly page?: boolean;
}

/** `interlock dev`: the embedded server, its Web UI and a worker, until Ctrl-C. */
export async function devCommand(options: ServeOptions = {}): Promise<ExitCode> {
  const { config, store } = await openEnvironment();
  if (config.temporal !== undefined) {
    throw new UsageError("A Temporal is configured, and dev runs the embedded one. Use: interlock worker");
  }
  return serve(config, store, options);
}

/** `interlock worker`: a worker against the configured Temporal, until Ctrl-C. */
export async function workerCommand(options: ServeOptions = {}): Promise<ExitCode> {
  const { config, store } = await openEnvironment();
  if (config.temporal === undefined) {
    throw new UsageError(
      "No Temporal is configured. Set TEMPORAL_ADDRESS, or use the embedded one: interlock dev",
    );
  }
  return serve(config, store, options);
}

async function serve(config: Config, store: Store, options: ServeOptions): Promise<ExitCode> {
  const signal = interruption();
  try {
    return await serveUntil(signal, config, store, options);
  } catch (error) {
    if (!signal.aborted) throw error;
    printNote("Stopped before the worker was up.");
    return EXIT.done;
  }
}

async function serveUntil(
  signal: AbortSignal,
  config: Config,
  store: Store,
  options: ServeOptions,
): Promise<ExitCode> {
  const session = await openTemporalSession(config, store, signal);
  let page: PageServer | undefined;
  try {
    const onEvent = options.quiet === true ? undefined : printCarried;
    const worker = await session.startWorker("INFO", onEvent === undefined ? {} : { onEvent });
    print(`Worker polls "${store.taskQueue}" with the store ${store.dir}`);
    if (session.webUi !== undefined) print(`Web UI: ${session.webUi}`);
    if (options.page === true) page = await startPage(session, { config, store }, {});
    print("Stop with Ctrl-C.");
    const interrupted = new Promise<void>((resolve) => {
      if (signal.aborted) resolve();
      else signal.addEventListener("abort", () => resolve(), { once: true });
    });
    await Promise.race([worker.done, interrupted]);
    return EXIT.done;
  } finally {
    await page?.close();
    await session.close();
  }
}

/** One line a turn, for every run that this worker carries. */
function printCarried(event: RunEvent): void {
  const line = eventLine(event);
  if (line !== undefined) print(`${event.runId.slice(0, SHORT_ID_CHARS)}  ${line}`);
}

/** Enough of a run's id for a command to know it by. */
const SHORT_ID_CHARS = 8;
