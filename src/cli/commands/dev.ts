import { setTimeout as sleep } from "node:timers/promises";
import type { InterlockClient } from "../../client/client.js";
import { SILENT } from "../../client/temporal/temporal-words.js";
import type { Config } from "../../config.js";
import { defined } from "../../core/defined.js";
import { type ListenAddress, notListening } from "../../environment/listen-address.js";
import type { HealthServer } from "../../instruments/health.js";
import type { Store } from "../../store/store.js";
import { openEnvironment } from "../session/environment.js";
import {
  CommandError,
  EXIT,
  type ExitCode,
  UsageError,
  outlastFullDisk,
  print,
  printNote,
} from "../terminal/output.js";
import { capacityText } from "../../worker/capacity.js";
import { type ServeLog, type ServeSettings, openLog, serveSettings } from "../serve/serve-log.js";
import { type PageServer, startPage } from "../serve/start-page.js";
import { movedStore } from "../serve/moved-store.js";
import { openTemporalSession } from "../session/temporal-session.js";
import { interruption, untilStopped } from "../terminal/interruption.js";
import { TEMPORAL_BACK } from "../session/standstill-words.js";

interface ServeOptions {
  /** Nothing is said of the runs. */
  readonly quiet?: boolean;
  /** The page is served, too. */
  readonly page?: boolean;
  /** Each of them takes the place of its variable. */
  readonly metrics?: string;
  readonly health?: string;
  readonly logFormat?: string;
  readonly logLevel?: string;
}

/** `interlock dev`: the embedded server, its Web UI and a worker, until Ctrl-C. */
export async function devCommand(options: ServeOptions): Promise<ExitCode> {
  const { config, store } = await openEnvironment();
  if (config.temporal !== undefined) {
    throw new UsageError("A Temporal is configured, and dev runs the embedded one. Use: interlock worker");
  }
  return serve(config, store, options);
}

/** `interlock worker`: a worker against the configured Temporal, until Ctrl-C. */
export async function workerCommand(options: ServeOptions): Promise<ExitCode> {
  const { config, store } = await openEnvironment({ namesStore: true });
  if (config.temporal === undefined) {
    throw new UsageError(
      "No Temporal is configured. Set TEMPORAL_ADDRESS, or use the embedded one: interlock dev",
    );
  }
  return serve(config, store, options);
}

async function serve(config: Config, store: Store, options: ServeOptions): Promise<ExitCode> {
  const signal = interruption();
  outlastFullDisk();
  const settings = serveSettings(config, options);
  const log = await openLog(settings);
  const health = settings.health && (await listen(settings.health));
  try {
    const hasPage = options.page === true;
    return await serveUntil(signal, config, store, { ...settings, log, health, hasPage });
  } catch (error) {
    if (!signal.aborted) throw error;
    printNote("Stopped before the worker was up.");
    return EXIT.done;
  } finally {
    await health?.close();
  }
}

interface Serving extends Omit<ServeSettings, "health"> {
  readonly log: ServeLog;
  readonly health: HealthServer | undefined;
  readonly hasPage: boolean;
}

async function serveUntil(
  signal: AbortSignal,
  config: Config,
  store: Store,
  { log, health, hasPage, quiet, logLevel: level, metrics }: Serving,
): Promise<ExitCode> {
  const session = await openTemporalSession(config, store, signal, { serves: true });
  const lookForStore = movedStore(store, printNote);
  const looking = setInterval(() => void lookForStore(), LOOK_MS);
  let page: PageServer | undefined;
  try {
    const { printEntry, onEvent, instruments } = log;
    let whyNotReady = (): Promise<string | undefined> => Promise.resolve(undefined);
    const onUnreached = sayOutages(() => whyNotReady(), session.awayWords);
    const runtime = { level, onUnreached, ...defined({ printEntry, metrics }) };
    session.followed(); // what the worker says is said once
    const worker = await session.startWorker(runtime, { instruments, ...(quiet ? {} : { onEvent }) });
    whyNotReady = () => worker.whyNotReady();
    health?.use(whyNotReady);
    print(`Worker polls "${store.taskQueue}" with the store ${store.dir}`);
    print(`It does ${capacityText(worker.capacity)}.`);
    if (session.embeddedAddress !== undefined) print(`Temporal: ${session.embeddedAddress}`);
    if (session.webUi !== undefined) print(`Web UI: ${session.webUi}`);
    if (hasPage) page = await startPage(session, store, {});
    print("Stop with Ctrl-C.");
    if (!session.embedded) await noteMissingSearchAttributes(session.client);
    const ended = worker.done.then(
      () => EXIT.done,
      () => EXIT.failed, // the session says why, when it closes
    );
    return await Promise.race([ended, untilStopped(signal).then(() => EXIT.done)]);
  } finally {
    clearInterval(looking);
    await page?.close();
    await session.close();
  }
}

/** How often it is looked whether the store lies where it was opened. */
const LOOK_MS = 5_000;
const AGAIN_MS = 2_000;

/** Says once that Temporal is away, or why it is not reached, and once that it is back. */
function sayOutages(
  whyNotReady: () => Promise<string | undefined>,
  awayWords: () => Promise<string>,
): () => void {
  let isLooking = false;
  const look = async (): Promise<void> => {
    const why = await whyNotReady();
    if (why === undefined) return;
    printNote(why === SILENT ? await awayWords() : why);
    do await sleep(AGAIN_MS, undefined, { ref: false });
    while ((await whyNotReady()) !== undefined);
    printNote(TEMPORAL_BACK);
  };
  return () => {
    if (isLooking) return;
    isLooking = true;
    void look().finally(() => (isLooking = false));
  };
}

/** What the endpoint of health answers is worth a worker that starts: it says that it does. */
async function listen(address: ListenAddress): Promise<HealthServer> {
  const { serveHealth } = await import("../../instruments/health.js");
  try {
    return await serveHealth(address);
  } catch (error) {
    const ways = "--health or INTERLOCK_HEALTH";
    const sentence = notListening(error, address, { port: ways, address: ways });
    if (sentence === undefined) throw error;
    throw new CommandError(`/healthz and /readyz cannot be served. ${sentence}`, { cause: error });
  }
}

/** Said by workers alone, and by `interlock doctor`: whoever answers a question can do nothing about it. */
async function noteMissingSearchAttributes(client: InterlockClient): Promise<void> {
  const missing = await client.missingSearchAttributes();
  if (missing.length === 0) return;
  printNote(
    `The namespace ${client.namespace} lacks search attributes (${missing.join(", ")}, as keywords): runs work, but cannot be searched for. How to add them says: interlock doctor`,
  );
}
