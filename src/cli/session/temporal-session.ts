import { unlessAborted } from "../../client/temporal/abortable.js";
import type { NativeConnectionOptions } from "@temporalio/worker";
import { InterlockClient, type InterlockClientOptions } from "../../client/client.js";
import { RESOURCE_EXHAUSTED, isNotLetIn, statusIn } from "../../client/temporal/grpc-status.js";
import { certificateTrouble, certificateWords, notLetIn } from "../../client/temporal/temporal-words.js";
import type { Config } from "../../config.js";
import { SEARCH_ATTRIBUTES } from "../../contract/names.js";
import { TemporalCliError } from "../../embedded/find-cli.js";
import {
  type EmbeddedServer,
  EmbeddedServerError,
  acquireEmbeddedServer,
  isServed,
} from "../../embedded/server.js";
import { defined } from "../../core/defined.js";
import type { Traces } from "../../instruments/traces.js";
import type { Store } from "../../store/store.js";
import { mayLive } from "../../worker/worker-identity.js";
import type { WorkerRuntime } from "./worker-runtime.js";
import type { RunningWorker, WorkerOptions } from "../../worker.js";
import { isNobodyThere, noStoreWords } from "./environment.js";
import { interruption } from "../terminal/interruption.js";
import { UsageError, CommandError, NoTemporal, printNote } from "../terminal/output.js";
import { signerFor } from "./signer.js";
import { unexpected } from "./unexpected.js";
import { wordsOf } from "../../core/system-code.js";
import { timeOf } from "../terminal/time-of-day.js";
import { afterWaiting } from "../../within.js";
import { SERVER_ENDED, TEMPORAL_AWAY, TEMPORAL_BACK, WORKER_ENDS } from "./standstill-words.js";

/** Temporal as a command uses it: configured or embedded. */
export interface TemporalSession {
  readonly client: InterlockClient;
  readonly embedded: boolean;
  /** Where the embedded server takes clients, as `127.0.0.1:7233`. */
  readonly embeddedAddress: string | undefined;
  /** Whether the queue is that of the store on this machine: a worker of it can be started here. */
  readonly isHere: boolean;
  readonly webUi: string | undefined;
  /** Where to ask whether it answers, if not there. */
  readonly webUiCheck: string | undefined;
  /** Whether the Web UI, where one is, lasts when the command ends: the embedded one only while others use it. */
  webUiLasts(): Promise<boolean>;
  /** Says what is waited for, unless somebody follows a run: that is said where the run stands then. */
  note(line: string): void;
  /** Aborted as long as Temporal is known not to answer. */
  readonly away: () => AbortSignal;
  /** What there is to be said when it does not answer any more. */
  readonly awayWords: () => Promise<string>;
  /** From now on somebody follows a run. */
  followed(): void;
  /** Whether a worker polls the store's queue. One that was killed elsewhere may have done so a minute ago. */
  hasWorker(): Promise<boolean>;
  /** Starts a worker of the command's own. It is stopped by `close`. */
  startWorker(
    runtime?: WorkerRuntime,
    options?: Pick<WorkerOptions, "onEvent" | "instruments">,
  ): Promise<RunningWorker>;
  /** Stops what the command started: its worker, its connection, and the embedded server when it is the last user. */
  close(): Promise<void>;
}

/** A worker that has nothing to end stops sooner than this. */
const SOON_MS = 1_000;

/** Who serves may be started together with Temporal: it asks longer than a command that somebody waits for. */
interface Patience {
  readonly serves?: boolean;
}

/**
 * Connects to the configured Temporal, or to the store's embedded server, which is started when none runs. Called off by the
 * signal, it leaves nothing behind and says so.
 */
export async function openTemporalSession(
  config: Config,
  store: Store | undefined,
  signal: AbortSignal,
  patience: Patience = {},
): Promise<TemporalSession> {
  try {
    return await open(config, store, signal, patience);
  } catch (error) {
    throw signal.aborted ? calledOff(error) : error;
  }
}

/** What a command about runs works with. */
export interface StoreSession {
  readonly config: Config;
  /** Undefined where none stands here. */
  readonly store: Store | undefined;
  readonly session: TemporalSession;
  readonly signal: AbortSignal;
}

/** Opens Temporal for a command, and closes it afterwards. */
export async function withTemporal<T>(
  { config, store }: Pick<StoreSession, "config" | "store">,
  action: (place: StoreSession) => Promise<T>,
  patience: Patience = {},
): Promise<T> {
  const signal = interruption();
  const session = await openTemporalSession(config, store, signal, patience);
  try {
    return await action({ config, store, session, signal });
  } finally {
    await session.close();
  }
}

function calledOff(cause: unknown): CommandError {
  return new CommandError("Stopped while Temporal was being started or connected to.", { cause });
}

/** The same session, for the store of another task queue. */
export function sessionAt(session: TemporalSession, taskQueue: string): TemporalSession {
  const client = session.client.onQueue(taskQueue);
  const isHere = session.isHere && taskQueue === session.client.taskQueue;
  return { ...session, client, isHere, hasWorker: () => client.hasWorker(mayLive) };
}

/** Of the embedded server where there is one: it is where it says. */
function webUiOf(
  config: Config,
  embedded: string | undefined,
): Pick<TemporalSession, "webUi" | "webUiCheck"> {
  if (embedded !== undefined) return { webUi: embedded, webUiCheck: undefined };
  return { webUi: config.webUi, webUiCheck: config.webUiCheck };
}

async function open(
  config: Config,
  store: Store | undefined,
  signal: AbortSignal,
  { serves = false }: Patience,
): Promise<TemporalSession> {
  if (isNobodyThere(config, store)) throw new UsageError(noStoreWords(config));
  const server = await embeddedServer(config, store, signal);
  const connection: NativeConnectionOptions = config.temporal?.connectionOptions ?? {
    address: server?.address ?? "",
  };
  const namespace = config.temporal?.namespace ?? "default";
  let client: InterlockClient;
  const { onReach, ...notes } = notesOfSession(() => awayWords(server && store));
  let traces: Traces | undefined;
  try {
    traces = await tracesOf(config);
    client = await unlessAborted(
      signal,
      connect({
        connection: {
          ...connection,
          ...defined({ apiKey: config.temporalKey, connectTimeout: serves ? SERVES_MS : undefined }),
        },
        namespace,
        taskQueue: store?.taskQueue ?? config.taskQueue,
        ...defined({
          sign: await signerFor(config, store),
          sealKeys: config.sealKeys,
          onReach,
          isStill: server && (() => server.isStill()),
          interceptors: traces?.clientInterceptors,
        }),
      }),
      (late) => late.close(),
    );
  } catch (error) {
    await traces?.close();
    await server?.release();
    throw error;
  }
  const workers: RunningWorker[] = [];
  const webUi = webUiOf(config, server?.uiUrl);
  return {
    client,
    embedded: server !== undefined,
    embeddedAddress: server?.address,
    isHere: store !== undefined,
    ...webUi,
    webUiLasts: async () => server === undefined || server.isShared(),
    ...notes,
    hasWorker: () => client.hasWorker(mayLive),
    async startWorker(runtime, { instruments = [], ...options } = {}) {
      if (store === undefined) throw new CommandError("There is no store here for a worker to work with.");
      const { IN_PASSING, startOnlyWorker } = await import("./worker-runtime.js");
      const watching = traces === undefined ? instruments : [traces.instrument, ...instruments];
      try {
        const starting = startOnlyWorker(
          { ...config, ...webUi },
          { connection, namespace, store, ...options, instruments: watching },
          runtime ?? IN_PASSING,
        );
        const worker = await unlessAborted(signal, starting, (late) => late.shutdown());
        workers.push(worker);
        return worker;
      } catch (error) {
        throw signal.aborted ? calledOff(error) : error;
      }
    },
    async close() {
      const late = setTimeout(() => printNote(WORKER_ENDS), SOON_MS);
      for (const worker of workers)
        await worker.shutdown().catch(async (error: unknown) => printNote(await unexpected(error)));
      clearTimeout(late);
      await client.close();
      await traces?.close();
      await server?.release();
    },
  };
}

/** What a session says by itself: each time that Temporal does not answer any more, or again. Which of both holds is kept. */
function notesOfSession(awayWords: () => Promise<string>) {
  let isFollowed = false;
  let away = new AbortController();
  const note = (line: string): void => {
    if (!isFollowed) printNote(line);
  };
  return {
    note,
    followed: () => void (isFollowed = true),
    away: () => away.signal,
    awayWords,
    onReach(this: void, isReached: boolean) {
      if (isReached) {
        away = new AbortController();
        note(TEMPORAL_BACK);
      } else {
        away.abort();
        void awayWords().then((words) => away.signal.aborted && note(words));
      }
    },
  };
}

/** An embedded server that has died is one that nobody starts again by itself: `served` is the store that it was of. */
async function awayWords(served: Store | undefined): Promise<string> {
  const isThere = served === undefined || (await isServed(served.dir).catch(() => true)); // a store that cannot be looked at says nothing
  return isThere ? TEMPORAL_AWAY : SERVER_ENDED;
}

/** The store's own server, where no other one is configured. */
async function embeddedServer(config: Config, store: Store | undefined, signal: AbortSignal) {
  if (config.temporal !== undefined || store === undefined) return undefined;
  return embeddedServerIn(store.dir, config, signal).catch((error: unknown) => {
    const isNone = error instanceof TemporalCliError || error instanceof EmbeddedServerError;
    throw isNone ? new NoTemporal(error.message, { cause: error }) : error;
  });
}

/** The embedded server of a directory, started where none runs. */
export function embeddedServerIn(
  storeDir: string,
  config: Config,
  signal: AbortSignal,
): Promise<EmbeddedServer> {
  return acquireEmbeddedServer({
    ...defined({ cliPath: config.temporalCli }),
    pathVariable: config.pathVariable,
    cacheDir: config.cacheDir,
    environment: config.fetchEnvironment,
    storeDir,
    searchAttributes: SEARCH_ATTRIBUTES,
    onProgress: printNote,
    signal,
  });
}

/** Where the environment asks for traces; nothing of theirs is loaded otherwise. */
async function tracesOf({ traces }: Config): Promise<Traces | undefined> {
  if (traces === undefined) return undefined;
  const { TracesMissing, openTraces } = await import("../../instruments/traces.js");
  try {
    return await openTraces({ ...traces, onTrouble: printNote });
  } catch (error) {
    throw error instanceof TracesMissing ? new CommandError(error.message, { cause: error }) : error;
  }
}

/** How long Temporal is asked for its first answer; a command gives up sooner where the address refuses. */
const SERVES_MS = 10_000;
const SILENCE_MS = 2_200;

async function connect(options: InterlockClientOptions): Promise<InterlockClient> {
  const address = options.connection?.address ?? "127.0.0.1:7233";
  const now = new Date();
  const until = timeOf(new Date(now.getTime() + SERVES_MS).toISOString(), now);
  const callOff = afterWaiting(SILENCE_MS, () => {
    printNote(`Temporal does not answer at ${address}. It is asked until ${until}.`);
  });
  try {
    return await InterlockClient.connect(options);
  } catch (error) {
    const reason = wordsOf(error);
    throw new NoTemporal(unreachedWords(address, reason, error), { cause: error });
  } finally {
    callOff();
  }
}

/** Pure. Who shows a certificate, or refuses, does answer: another address is no remedy. `error` is what it ended with, where it was asked. */
export function unreachedWords(address: string, reason: string, error?: unknown): string {
  if (isNotLetIn(error)) return notLetIn(reason.replace(/\.$/, ""), address);
  if (statusIn(error)?.code === RESOURCE_EXHAUSTED) {
    return `Temporal at ${address} is asked for more than it is set to answer (${reason}). Try again later. See: interlock doctor`;
  }
  const trouble = certificateTrouble(reason);
  if (trouble !== undefined) return certificateWords(trouble, reason, address);
  // Where something listens, it may want TLS, or a certificate: most servers that refuse one say nothing.
  const tls = /ECONNREFUSED|Name resolution/i.test(reason)
    ? ""
    : " and the TLS settings (TEMPORAL_TLS and its kin)";
  return `No Temporal answers at ${address} (${reason}). Check TEMPORAL_ADDRESS${tls}, or the profile in Temporal's configuration file; with neither, the embedded server is used.`;
}
