import { realpath } from "node:fs/promises";
import { makeFolders } from "../store/disk/make-folders.js";
import { standsThere } from "../store/disk/own-file.js";
import { afterWaiting } from "../within.js";
import { FileLock, isHeld, isReadOnly, lockExclusively, lockWithin } from "./server-lock.js";
import { type CliLookup, findTemporalCli, type TemporalCli } from "./find-cli.js";
import { ensureGate } from "./gate-process.js";
import { chooseServerPorts, HOST, NoPortError } from "./ports.js";
import { lives, sharesNetwork } from "./process-identity.js";
import { innerReason } from "./run-command.js";
import { startFailure } from "./start-failure.js";
import {
  findLivingServer,
  launchServer,
  NAMESPACE,
  readStartLog,
  settleServer,
  stopServer,
  waitUntilHealthy,
} from "./server-process.js";
import { type ServerFiles, readServerRecord, serverFiles, type ServerRecord } from "./server-record.js";

/*
 * The embedded Temporal server of a store. What holds, whoever dies when:
 *
 * E1  Whether a server of this store lives is asked of the kernel: it holds its log file locked. The record
 *     says which process it is; the record alone is never believed.
 * E2  Only the holder of the turn looks for, starts or stops the server: there is never a second one. Who only asks whether
 *     one lives waits for the turn for a while, and then asks the kernel without it.
 * E3  Users hold a shared lock and take it only within the turn. Who gets it exclusively within the turn is
 *     the last user, and stops the server.
 * E4  A signal is sent only to the recorded process id, and only while that process is the recorded one.
 * E5  A server whose users all died is found again by the next one who comes, who is then its user.
 */

export interface EmbeddedServerOptions extends CliLookup {
  /** The private store: it gets `temporal.db`, so that runs outlive the server. */
  readonly storeDir: string;
  readonly searchAttributes: Readonly<Record<string, "Keyword">>;
}

export interface EmbeddedServer {
  /** Host and port of the gRPC service. */
  readonly address: string;
  readonly uiUrl: string;
  readonly namespace: "default";
  readonly pid: number;
  /** False when the server was there before: started by another process, or left behind by a killed one. */
  readonly startedHere: boolean;
  /** Whether it, or one of the store's that was started in its place, is what has the address. */
  isStill(): boolean;
  /** Whether somebody else uses the server at this moment: it lasts when we release it. */
  isShared(): Promise<boolean>;
  /** Ends our use of the server; the last user stops it. Calling it again changes nothing. */
  release(): Promise<void>;
}

/** The embedded server could not be used: the message says why, where to look, and what to do. */
export class EmbeddedServerError extends Error {
  override readonly name = "EmbeddedServerError";
}

const START_TIMEOUT_MS = 30_000;
const START_ATTEMPTS = 5;
/** How long who looks waits for the turn: a server that is started may have to be fetched first. */
const LOOK_PATIENCE_MS = 2_000;
/** Whoever has the turn in passing, or stops a server that does not listen to it, is done by then. */
const LEAVE_PATIENCE_MS = 15_000;
const SAID_AFTER_MS = 1_000;
/** A living server answers sooner, on a busy machine too. */
const SILENT_MS = 2_000;
const TURN_TAKEN = "Another process is starting or stopping the Temporal server; waiting.";

/** Uses the Temporal server of this store: the one that runs, or else one that is started. */
export async function acquireEmbeddedServer(options: EmbeddedServerOptions): Promise<EmbeddedServer> {
  const { signal, onProgress } = options;
  signal?.throwIfAborted();
  const files = serverFiles(await makeStoreDirectory(options.storeDir));
  const turn = await lockExclusively(files.turn, {
    signal,
    onWait: () => onProgress?.(TURN_TAKEN),
  });
  try {
    const users = new FileLock(files.users);
    try {
      return await enter(files, users, options);
    } catch (error) {
      await leave(files, users, options);
      throw error;
    }
  } finally {
    turn.close();
  }
}

/** Whether a server of this store lives, or is being started: it is neither started nor used by being asked. */
export async function isServed(storeDir: string): Promise<boolean> {
  const files = serverFiles(await realpath(storeDir));
  if (!standsThere(files.log)) return false; // never had one, and gets no file by being asked
  const turn = await lockWithin(files.turn, AbortSignal.timeout(LOOK_PATIENCE_MS)).catch((error: unknown) => {
    if (isReadOnly(error)) return null; // nobody starts a server there
    throw error;
  });
  try {
    return isHeld(files.log);
  } finally {
    turn?.close();
  }
}

/** Where the Web UI of this store's server is; undefined where no server lives. */
export async function servedUi(storeDir: string): Promise<string | undefined> {
  if (!(await isServed(storeDir))) return undefined;
  const record = readServerRecord(serverFiles(await realpath(storeDir)));
  return record === null ? undefined : uiUrlOf(record);
}

/** Whether a server of the store has served once: it may know runs that the store does not. */
export function hasServed(storeDir: string): boolean {
  return standsThere(serverFiles(storeDir).database);
}

function uiUrlOf({ uiPort }: Pick<ServerRecord, "uiPort">): string {
  return `http://${HOST}:${uiPort}`;
}

/** One name for a store, however it was reached: its server is known by the path of its database. */
async function makeStoreDirectory(storeDir: string): Promise<string> {
  try {
    await makeFolders(storeDir, 0o700);
    return await realpath(storeDir);
  } catch (error) {
    throw new EmbeddedServerError(
      `The store directory ${storeDir} cannot be used: ${innerReason(error)}. Make it writable or choose another.`,
    );
  }
}

async function enter(
  files: ServerFiles,
  users: FileLock,
  options: EmbeddedServerOptions,
): Promise<EmbeddedServer> {
  const alone = users.tryExclusive();
  if (!users.tryShared()) {
    throw new EmbeddedServerError(
      `${files.users} is locked by another program; end that program, then try again.`,
    );
  }

  const running = await findRunning(files, alone, options);
  const serving = running ?? (await start(files, options));
  const record = await guard(files, await settle(files, serving, options), options);
  const isSeen = lives(record); // one in another container is not
  let released: Promise<void> | undefined;
  return {
    address: record.address,
    uiUrl: uiUrlOf(record),
    namespace: NAMESPACE,
    pid: record.pid,
    startedHere: running === null,
    isStill() {
      const now = readServerRecord(files);
      return now?.address === record.address && (!isSeen || lives(now));
    },
    isShared: () => isShared(files, users),
    release() {
      released ??= release(files, users, options);
      return released;
    },
  };
}

/**
 * Within the turn nobody comes or goes: our share is given up for a moment, and taken back. While somebody keeps the turn, it
 * cannot be said that the server lasts.
 */
async function isShared(files: ServerFiles, users: FileLock): Promise<boolean> {
  const turn = await lockWithin(files.turn, AbortSignal.timeout(LOOK_PATIENCE_MS));
  if (turn === null) return false;
  try {
    const alone = users.tryExclusive();
    users.tryShared();
    return !alone;
  } finally {
    turn.close();
  }
}

/**
 * Who keeps the turn may be stopped, or take minutes to fetch a server. Our use ends then as if we had been killed: whoever comes
 * next finds the server (E5).
 */
async function release(files: ServerFiles, users: FileLock, options: EmbeddedServerOptions): Promise<void> {
  const { signal, onProgress } = options;
  const patience = AbortSignal.timeout(LEAVE_PATIENCE_MS);
  const said = setTimeout(() => onProgress?.(TURN_TAKEN), SAID_AFTER_MS);
  const calledOff = signal === undefined || signal.aborted ? patience : AbortSignal.any([signal, patience]);
  const turn = await lockWithin(files.turn, calledOff).finally(() => clearTimeout(said));
  if (turn === null) {
    users.close();
    onProgress?.("The Temporal server was left to the process that is starting or stopping it.");
    return;
  }
  try {
    await leave(files, users, options);
  } finally {
    turn.close();
  }
}

/** Within the turn: gives up our use, and stops the server when nobody else uses it. */
async function leave(files: ServerFiles, users: FileLock, options: EmbeddedServerOptions): Promise<void> {
  try {
    users.unlock();
    if (users.tryExclusive() && !(await stopServer(files))) {
      options.onProgress?.(`The Temporal server was left running. ${unknownServer(files)}`);
    }
  } finally {
    users.close();
  }
}

/** Within the turn: the living server of this store once it answers, or null when there is none. */
async function findRunning(
  files: ServerFiles,
  alone: boolean,
  options: EmbeddedServerOptions,
): Promise<ServerRecord | null> {
  const living = await findLivingServer(files);
  if (living.kind === "none") return null;
  if (living.kind === "unknown") {
    throw new EmbeddedServerError(`${files.storeDir} cannot be used. ${unknownServer(files)}`);
  }
  const { record } = living;
  const isNear = sharesNetwork(record.pid);
  const health = isNear ? await askedAloud(files, record, options) : "silent"; // whoever answers here at its address is a stranger
  if (health === "healthy" && record.front === undefined && alone && (await stopServer(files))) return null;
  if (health === "healthy") return record;
  if (health === "ended") return null;
  if (alone && (await stopServer(files))) {
    options.onProgress?.(`The Temporal server (process ${record.pid}) did not answer and was stopped.`);
    return null;
  }
  if (!isNear && !alone) {
    throw new EmbeddedServerError(
      `The Temporal server of ${files.storeDir} (process ${record.pid}) runs in another network of this machine, such as ` +
        "a container's, and others use it: it cannot be reached from here. Run the command where they run.",
    );
  }
  throw new EmbeddedServerError(
    `The Temporal server of ${files.storeDir} (process ${record.pid}, ${record.address}) does not answer, and ` +
      `${alone ? "does not end" : "others use it"}. Look into ${files.log}; let that process go on where it was stopped, or end it, then try again.`,
  );
}

/** Whether a living server answers: who waits for one that was stopped is told so. */
async function askedAloud(
  files: ServerFiles,
  record: ServerRecord,
  { signal, onProgress }: EmbeddedServerOptions,
) {
  const seconds = START_TIMEOUT_MS / 1_000;
  const sentence = `The Temporal server (process ${record.pid}, ${record.address}) does not answer. It is asked for ${seconds} s.`;
  const callOff = afterWaiting(SILENT_MS, () => onProgress?.(sentence));
  try {
    return await waitUntilHealthy(files, record, { timeoutMs: START_TIMEOUT_MS, signal });
  } finally {
    callOff();
  }
}

/** Within the turn, when no server of this store lives: starts one, and leaves none behind on failure. */
async function start(files: ServerFiles, options: EmbeddedServerOptions): Promise<ServerRecord> {
  const cli = await findTemporalCli(options);
  try {
    return await startOnFreePorts(files, cli, options);
  } catch (error) {
    await stopServer(files);
    throw error;
  }
}

async function startOnFreePorts(
  files: ServerFiles,
  cli: TemporalCli,
  options: EmbeddedServerOptions,
): Promise<ServerRecord> {
  const tried = new Set<number>();
  for (let attempt = 1; ; attempt += 1) {
    const ports = await chooseServerPorts(tried).catch((error: unknown) => {
      if (!(error instanceof NoPortError)) throw error;
      throw new EmbeddedServerError(
        `The Temporal server cannot be started: ${error.message}. Mend that, or use a Temporal of your own (TEMPORAL_ADDRESS).`,
      );
    });
    const record = await launchServer(files, cli, ports, Object.keys(options.searchAttributes));
    const health = await waitUntilHealthy(files, record, {
      timeoutMs: START_TIMEOUT_MS,
      signal: options.signal,
    });
    if (health === "healthy") return record;
    const { portTaken, lastLines } = await readStartLog(files);
    if (health === "silent" || !portTaken || attempt === START_ATTEMPTS) {
      const how =
        health === "ended" ? "ended before it was up" : `was not up after ${START_TIMEOUT_MS / 1000} s`;
      throw new EmbeddedServerError(startFailure(files, cli.path, how, lastLines));
    }
    tried.add(ports.port).add(ports.hidden.uiPort).add(ports.hidden.metricsPort); // somebody was faster: other ports
  }
}

async function settle(
  files: ServerFiles,
  record: ServerRecord,
  options: EmbeddedServerOptions,
): Promise<ServerRecord> {
  try {
    return await settleServer(files, record, Object.keys(options.searchAttributes), options.signal);
  } catch (error) {
    options.signal?.throwIfAborted();
    throw new EmbeddedServerError(
      `The namespace ${NAMESPACE} of the Temporal server at ${record.address} could not be set up: ` +
        `${innerReason(error)}. The server's log is ${files.log}.`,
    );
  }
}

/** The announced address of the Web UI serves again, whoever died, before we tell it. */
async function guard(
  files: ServerFiles,
  record: ServerRecord,
  options: EmbeddedServerOptions,
): Promise<ServerRecord> {
  if (record.front === undefined) {
    options.onProgress?.(
      `The Temporal server was started by an earlier version of Interlock, and others use it: its Web UI is open to web ` +
        `pages in your browser until they have ended.`,
    );
  }
  options.signal?.throwIfAborted();
  try {
    return await ensureGate(files, record);
  } catch (error) {
    throw new EmbeddedServerError(
      `The Temporal server of ${files.storeDir} runs, but ${innerReason(error)}. Try again.`,
    );
  }
}

function unknownServer(files: ServerFiles): string {
  return (
    `A Temporal server holds ${files.log}, but ${files.record} does not say which process it is, so it can be ` +
    `neither used nor stopped. End the process that has the log open (\`lsof ${files.log}\` names it), then try again.`
  );
}
