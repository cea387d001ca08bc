import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { closeSync, fchmodSync, ftruncateSync } from "node:fs";
import { rm } from "node:fs/promises";
import { setTimeout as pause } from "node:timers/promises";
import { openOwnFile, readOwnText, standsThere } from "../store/disk/own-file.js";
import { isHeld, lockWithin } from "./server-lock.js";
import type { TemporalCli } from "./find-cli.js";
import { stopGate } from "./gate-process.js";
import { temporalEnvironment } from "./helper-environment.js";
import { HOST, type ServerPorts } from "./ports.js";
import { answersAsTemporal } from "./probe.js";
import { commandLine, listensOn, processIdentity } from "./process-identity.js";
import { GO_TRACES, IGNORE_USER_CONFIG } from "./run-command.js";
import { keepEndedRuns } from "./retention.js";
import { registerMissing } from "./search-attributes.js";
import {
  readServerRecord,
  removeServerRecord,
  type ServerFiles,
  type ServerRecord,
  writeServerRecord,
} from "./server-record.js";

export const NAMESPACE = "default";
/**
 * No file that the server makes is open to others, not even for a moment. The process stays the same one, and what a
 * shell adds to an environment does not reach it.
 */
const PRIVATELY = 'umask 077 && exec /usr/bin/env -i HOME="$HOME" ${USER:+USER="$USER"} "$0" "$@"';
const POLL_MS = 50;
/**
 * A server that cannot have its port has ended by then, on a busy machine as well. One whose wrapper script put it into
 * another process group is let pass after it.
 */
const PORT_REFUSAL_MS = 10_000;
/** A process that ends is gone for us before its last thread has let go of the log. */
const DYING_MS = 2_000;
/** Who only looks whether a server lives has its log for a moment. */
const LOOK_GRACE_MS = 1_000;
const STOP_GRACE_MS = 5_000;
const KILL_GRACE_MS = 5_000;
const QUOTED_LOG_LINES = 12;
const QUOTED_LINE_CHARS = 400;

/**
 * Starts the dev server of a store, in a session of its own, so that a Ctrl-C meant for us does not end it
 * under a worker that is still shutting down. It inherits its log, locked, and thereby proves for as long as
 * it lives, to whoever asks the kernel, that the store is served. Only for the holder of the turn.
 */
export async function launchServer(
  files: ServerFiles,
  cli: TemporalCli,
  ports: ServerPorts,
  searchAttributes: readonly string[],
): Promise<ServerRecord> {
  await stopGate(readServerRecord(files)); // of a server that has died: it may still have the usual ports
  await discardHalfMadeDatabase(files);
  const established = standsThere(files.database);
  const log = await lockWithin(files.log, AbortSignal.timeout(LOOK_GRACE_MS));
  if (log === null) throw new Error(`${files.log} is in use by a server that was not there before`);
  try {
    makePrivate(files);
    ftruncateSync(log.fd);
    const args = serverArguments(files, ports, searchAttributes);
    const child = spawn("/bin/sh", ["-c", PRIVATELY, cli.path, ...args], {
      cwd: files.storeDir,
      detached: true,
      env: temporalEnvironment(),
      stdio: ["ignore", log.fd, log.fd],
    });
    const spawned = once(child, "spawn");
    const record: ServerRecord = {
      pid: child.pid ?? 0,
      identity: child.pid === undefined ? "" : (processIdentity(child.pid) ?? ""),
      address: `${HOST}:${ports.port}`,
      port: ports.port,
      uiPort: ports.uiPort,
      front: { uiHost: ports.hidden.uiHost, uiPort: ports.hidden.uiPort, gate: null },
      cliPath: cli.path,
      cliVersion: cli.version,
      // An existing database keeps the search attributes it has: the server ignores new ones.
      searchAttributes: established ? [] : [...searchAttributes],
      established,
    };
    if (child.pid !== undefined) writeServerRecord(files, record);
    await spawned;
    child.unref();
    return record;
  } finally {
    log.close();
  }
}

function serverArguments(
  files: ServerFiles,
  { port, hidden }: ServerPorts,
  searchAttributes: readonly string[],
): readonly string[] {
  const flags: readonly (readonly [string, string])[] = [
    ["--db-filename", files.database],
    ["--ip", HOST],
    ["--port", String(port)],
    ["--ui-ip", hidden.uiHost],
    ["--ui-port", String(hidden.uiPort)],
    ["--metrics-port", String(hidden.metricsPort)],
    // The HTTP API, which cannot be turned off, takes a start from any web page: it answers to a name that nobody has.
    ["--dynamic-config-value", `frontend.httpAllowedHosts=["${randomUUID()}.invalid"]`],
    // Faster than the rollback journal, and no committed work is lost on power loss.
    ["--sqlite-pragma", "journal_mode=wal"],
    ["--sqlite-pragma", "synchronous=2"],
    // With the default of 20 per second, every workflow task on the one shard waits 50 ms.
    ["--dynamic-config-value", "history.transferProcessorMaxPollRPS=100000"],
    ["--dynamic-config-value", "frontend.WorkflowPauseEnabled=true"],
    ["--log-level", "warn"],
  ];
  const attributes = searchAttributes.flatMap((name) => ["--search-attribute", `${name}=Keyword`]);
  return [
    "server",
    "start-dev",
    "--ui-disable-news-fetch",
    ...IGNORE_USER_CONFIG,
    ...flags.flat(),
    ...attributes,
  ];
}

/** A first start that was cut off may leave a database without its tables, with which no server ever starts. */
async function discardHalfMadeDatabase(files: ServerFiles): Promise<void> {
  if (readServerRecord(files)?.established !== false) return;
  for (const file of databaseFiles(files)) await rm(file, { force: true });
  removeServerRecord(files);
}

/** Throws `NotOurFile` for a link in place of one of them: the server would follow it, and so would a change of its mode. */
function makePrivate(files: ServerFiles): void {
  for (const file of [...databaseFiles(files), files.log].filter(standsThere)) {
    const fd = openOwnFile(file, "read");
    try {
      fchmodSync(fd, 0o600);
    } finally {
      closeSync(fd);
    }
  }
}

function databaseFiles(files: ServerFiles): readonly string[] {
  return [files.database, `${files.database}-wal`, `${files.database}-shm`];
}

/** Polls until the server answers, has ended, or has had its time. */
export async function waitUntilHealthy(
  files: ServerFiles,
  record: ServerRecord,
  limits: { readonly timeoutMs: number; readonly signal?: AbortSignal | undefined },
): Promise<"healthy" | "ended" | "silent"> {
  const startedAt = performance.now();
  for (;;) {
    limits.signal?.throwIfAborted();
    const answers = await answersAsTemporal(record.address, NAMESPACE);
    if (!isHeld(files.log)) return "ended";
    const waitedMs = performance.now() - startedAt;
    if (answers && (waitedMs > PORT_REFUSAL_MS || (await listensOnBoth(record)))) return "healthy";
    if (waitedMs > limits.timeoutMs) return "silent";
    await pause(POLL_MS);
  }
}

/** Whoever answers may be a stranger who took one of the ports first: then ours is about to end. */
async function listensOnBoth(record: ServerRecord): Promise<boolean> {
  return (
    (await listensOn(record.pid, record.port)) && listensOn(record.pid, record.front?.uiPort ?? record.uiPort)
  );
}

export type LivingServer =
  | { readonly kind: "none" }
  | { readonly kind: "recorded"; readonly record: ServerRecord }
  /** One lives, and the record does not say which process it is. */
  | { readonly kind: "unknown" };

/** Asks the kernel whether a server of this store lives, and the record which process it is. */
export async function findLivingServer(files: ServerFiles): Promise<LivingServer> {
  const deadline = performance.now() + DYING_MS;
  while (isHeld(files.log)) {
    const record = readServerRecord(files);
    if (record !== null && (await isRecordedServer(files, record))) return { kind: "recorded", record };
    if (performance.now() > deadline) return { kind: "unknown" };
    await pause(POLL_MS);
  }
  return { kind: "none" };
}

/** Whether the recorded process lives, is the one that was recorded, and serves the database of this store. */
async function isRecordedServer(files: ServerFiles, record: ServerRecord): Promise<boolean> {
  if (record.identity === "" || processIdentity(record.pid) !== record.identity) return false;
  const args = await commandLine(record.pid);
  return args === null || args.includes(files.database);
}

/**
 * Stops the recorded server and waits for its end. False when a server lives that is not the recorded process,
 * or that does not end: it is left alone. Only for the holder of the turn.
 */
export async function stopServer(files: ServerFiles): Promise<boolean> {
  for (const [signal, graceMs] of [
    ["SIGTERM", STOP_GRACE_MS],
    ["SIGKILL", KILL_GRACE_MS],
  ] as const) {
    const living = await findLivingServer(files);
    if (living.kind === "none") break;
    if (living.kind === "unknown") return false;
    signalGroup(living.record.pid, signal);
    const deadline = performance.now() + graceMs;
    while (isHeld(files.log) && performance.now() < deadline) await pause(POLL_MS);
  }
  if (isHeld(files.log)) return false;
  await stopGate(readServerRecord(files));
  await discardHalfMadeDatabase(files);
  removeServerRecord(files);
  return true;
}

/** The server leads a process group of its own; what a wrapper script started under it goes with it. */
function signalGroup(pid: number, signal: "SIGTERM" | "SIGKILL"): void {
  try {
    process.kill(-pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

/** Registers what is missing, has ended runs kept; what was recorded is brought up to date. */
export async function settleServer(
  files: ServerFiles,
  record: ServerRecord,
  searchAttributes: readonly string[],
  signal?: AbortSignal,
): Promise<ServerRecord> {
  const missing = searchAttributes.filter((name) => !record.searchAttributes.includes(name));
  if (record.established && missing.length === 0) return record;
  const target = { ...record, namespace: NAMESPACE };
  await Promise.all([
    missing.length > 0 ? registerMissing(target, missing, signal) : undefined,
    record.established ? undefined : keepEndedRuns(target, signal),
  ]);
  const settled = {
    ...record,
    searchAttributes: [...record.searchAttributes, ...missing],
    established: true,
  };
  writeServerRecord(files, settled);
  return settled;
}

export interface StartLog {
  readonly portTaken: boolean;
  /** The end of it, without the stack traces in which a panic of the server ends. */
  readonly lastLines: readonly string[];
}

/** What a server that did not come up has said. */
export async function readStartLog(files: ServerFiles): Promise<StartLog> {
  const text = await readOwnText(files.log).catch(() => "");
  const [said = ""] = text.split(GO_TRACES);
  const lines = said.split("\n").filter((line) => line.trim() !== "");
  return {
    portTaken: text.includes("address already in use"),
    lastLines: lines.slice(-QUOTED_LOG_LINES).map((line) => line.slice(0, QUOTED_LINE_CHARS)),
  };
}
