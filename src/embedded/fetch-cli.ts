import { chmod, lstat, mkdtemp, open, readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { makeFolders } from "../store/disk/make-folders.js";
import { FETCHED_CLI_VERSION, platformKey } from "./cli-release.js";
import { type CliCheck, checkCli } from "./cli-version.js";
import type { FetchJob, FetchWay } from "./fetch-way.js";
import { lockExclusively } from "./server-lock.js";
import { type Environment, fetchEnvironment } from "./helper-environment.js";
import { innerReason } from "./run-command.js";

const ATTEMPT_PREFIX = "fetch-";
const STILL_WORKING_MS = 10_000;

export interface FetchRequest {
  readonly cacheDir: string;
  readonly ways: readonly FetchWay[];
  /** The user's; what the fetch needs is taken from it. */
  readonly environment?: Environment | undefined;
  readonly onProgress?: ((line: string) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** A way that was tried to come by the CLI, and why it did not work. */
export interface FailedWay {
  readonly way: string;
  readonly reason: string;
}

export type FetchOutcome =
  | { readonly kind: "fetched" | "cached"; readonly path: string; readonly version: string }
  | { readonly kind: "failed"; readonly ways: readonly FailedWay[] };

/** Where the fetched CLI of this version and platform lies. */
export function cachedCliPath(cacheDir: string): string {
  return join(cacheDirectory(cacheDir), "temporal");
}

function cacheDirectory(cacheDir: string): string {
  return join(cacheDir, "temporal-cli", FETCHED_CLI_VERSION, platformKey());
}

/** What is in the cache counts only if it runs and is the version it lies under. */
export async function checkCachedCli(cacheDir: string, signal?: AbortSignal): Promise<CliCheck> {
  const path = cachedCliPath(cacheDir);
  const stats = await lstat(path).catch(() => null);
  if (stats === null) return { usable: false, reason: `${path} does not exist` };
  return checkPinnedVersion(path, signal);
}

/**
 * Brings the CLI into the cache. One process at a time does so, under a kernel lock; the others wait and then
 * find it. A program takes its place only by a rename, after it was checked and run, so whatever kills a fetch
 * leaves nothing but an attempt directory, and the next fetch removes that.
 */
export async function fetchTemporalCli(request: FetchRequest): Promise<FetchOutcome> {
  const { cacheDir, onProgress, signal } = request;
  const directory = cacheDirectory(cacheDir);
  try {
    await makeFolders(directory, 0o700);
    const lock = await lockExclusively(join(directory, "lock"), {
      signal,
      onWait: () => onProgress?.("Another process is fetching the Temporal CLI; waiting for it."),
    });
    try {
      const cached = await checkCachedCli(cacheDir, signal);
      if (cached.usable) return { kind: "cached", path: cachedCliPath(cacheDir), version: cached.version };
      await removeLeftovers(directory);
      return await tryWays(directory, request);
    } finally {
      lock.close();
    }
  } catch (error) {
    signal?.throwIfAborted();
    return { kind: "failed", ways: [{ way: `cache directory ${directory}`, reason: innerReason(error) }] };
  }
}

async function tryWays(directory: string, request: FetchRequest): Promise<FetchOutcome> {
  const { cacheDir, ways, onProgress, signal } = request;
  const environment = fetchEnvironment(request.environment ?? {});
  const failed: FailedWay[] = [];
  for (const way of ways) {
    const attempt = await mkdtemp(join(directory, ATTEMPT_PREFIX));
    try {
      onProgress?.(`Fetching the Temporal CLI ${FETCHED_CLI_VERSION} with ${way.name} (45 MB, once).`);
      const path = await bringPatiently(way, { directory: attempt, environment, onProgress, signal });
      const version = await install(path, cachedCliPath(cacheDir), signal);
      await sync(directory);
      onProgress?.(`The Temporal CLI ${version} is ready.`);
      return { kind: "fetched", path: cachedCliPath(cacheDir), version };
    } catch (error) {
      signal?.throwIfAborted();
      failed.push({ way: way.name, reason: innerReason(error) });
    } finally {
      await rm(attempt, { recursive: true, force: true });
    }
  }
  return { kind: "failed", ways: failed };
}

async function bringPatiently(way: FetchWay, job: FetchJob): Promise<string> {
  const startedAt = performance.now();
  const timer = setInterval(() => {
    const seconds = Math.round((performance.now() - startedAt) / 1000);
    job.onProgress?.(`Still fetching the Temporal CLI (${seconds} s).`);
  }, STILL_WORKING_MS);
  try {
    return await way.bring(job);
  } finally {
    clearInterval(timer);
  }
}

async function install(path: string, target: string, signal?: AbortSignal): Promise<string> {
  if (!(await lstat(path)).isFile()) throw new Error("what came is not a regular file");
  await chmod(path, 0o755);
  await sync(path);
  const check = await checkPinnedVersion(path, signal);
  if (!check.usable) throw new Error(check.reason);
  await rename(path, target);
  return check.version;
}

async function checkPinnedVersion(path: string, signal?: AbortSignal): Promise<CliCheck> {
  const check = await checkCli(path, signal);
  if (!check.usable || check.version === FETCHED_CLI_VERSION) return check;
  return { usable: false, reason: `${path} is version ${check.version}, not ${FETCHED_CLI_VERSION}` };
}

async function removeLeftovers(directory: string): Promise<void> {
  for (const name of await readdir(directory)) {
    if (name.startsWith(ATTEMPT_PREFIX)) await rm(join(directory, name), { recursive: true, force: true });
  }
}

/** Makes what was written to a file, or to a directory's list, durable. */
async function sync(path: string): Promise<void> {
  const handle = await open(path, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
