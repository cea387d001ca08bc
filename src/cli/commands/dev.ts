import type { Config } from "../../config.js";
import type { Store } from "../../store/store.js";
import { interruption, openEnvironment } from "../environment.js";
import { EXIT, type ExitCode, UsageError, print, printNote } from "../output.js";
import { openTemporalSession } from "../temporal-session.js";

/** `interlock dev`: the embedded server, its Web UI and a worker, until Ctrl-C. */
export async function devCommand(): Promise<ExitCode> {
  const { config, store } = await openEnvironment();
  if (config.temporal !== undefined) {
    throw new UsageError("A Temporal is configured, and dev runs the embedded one. Use: interlock worker");
  }
  return serve(config, store);
}

/** `interlock worker`: a worker against the configured Temporal, until Ctrl-C. */
export async function workerCommand(): Promise<ExitCode> {
  const { config, store } = await openEnvironment();
  if (config.temporal === undefined) {
    throw new UsageError(
      "No Temporal is configured. Set TEMPORAL_ADDRESS, or use the embedded one: interlock dev",
    );
  }
  return serve(config, store);
}

async function serve(config: Config, store: Store): Promise<ExitCode> {
  const signal = interruption();
  try {
    return await serveUntil(signal, config, store);
  } catch (error) {
    if (!signal.aborted) throw error;
    printNote("Stopped before the worker was up.");
    return EXIT.done;
  }
}

async function serveUntil(signal: AbortSignal, config: Config, store: Store): Promise<ExitCode> {
  const session = await openTemporalSession(config, store, signal);
  try {
    const worker = await session.startWorker("INFO");
    print(`Worker polls "${store.taskQueue}" with the store ${store.dir}`);
    if (session.webUi !== undefined) print(`Web UI: ${session.webUi}`);
    print("Stop with Ctrl-C.");
    const interrupted = new Promise<void>((resolve) => {
      if (signal.aborted) resolve();
      else signal.addEventListener("abort", () => resolve(), { once: true });
    });
    await Promise.race([worker.done, interrupted]);
    return EXIT.done;
  } finally {
    await session.close();
  }
}
