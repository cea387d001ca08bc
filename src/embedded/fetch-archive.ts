import { createWriteStream } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { ReadableStream } from "node:stream/web";
import { FETCHED_CLI_VERSION, type PinnedRelease } from "./cli-release.js";
import { type FetchJob, type FetchWay, verifySha256 } from "./fetch-way.js";
import { runCommand } from "./run-command.js";

const TEMPORAL_ARCHIVE = "https://temporal.download/cli/archive";
const STALL_MS = 30_000;
const MAX_ARCHIVE_BYTES = 256 * 1024 * 1024;
const PROGRESS_STEP_PERCENT = 20;

export interface ArchiveSource {
  /** Without it, no archive is published for this platform. */
  readonly release: PinnedRelease | undefined;
  readonly baseUrl?: string;
}

/** The CLI from Temporal's own download archive, over TLS. */
export function archiveWay(source: ArchiveSource): FetchWay {
  const { release, baseUrl } = source;
  return {
    name: "Temporal's download archive",
    async bring(job) {
      if (release === undefined) throw new Error("there is no archive for this platform");
      const archive = join(job.directory, "temporal.tar.gz");
      await download(archiveUrl(release, baseUrl), archive, job);
      await verifySha256(archive, release.archiveSha256);
      await runCommand("tar", ["-xzf", archive, "-C", job.directory, "temporal"], {
        cwd: job.directory,
        env: job.environment,
        signal: job.signal,
      });
      return join(job.directory, "temporal");
    },
  };
}

export function archiveUrl(release: PinnedRelease, baseUrl: string = TEMPORAL_ARCHIVE): string {
  const query = `platform=${release.archivePlatform}&arch=${release.archiveArch}`;
  return `${baseUrl}/v${FETCHED_CLI_VERSION}?${query}`;
}

async function download(url: string, target: string, job: FetchJob): Promise<void> {
  const stalled = new AbortController();
  const signal = job.signal === undefined ? stalled.signal : AbortSignal.any([stalled.signal, job.signal]);
  const timer = setTimeout(() => {
    stalled.abort(new Error(`nothing came from ${url} for ${STALL_MS / 1000} seconds`));
  }, STALL_MS);
  try {
    const response = await fetch(url, { signal });
    if (new URL(response.url).protocol !== new URL(url).protocol) {
      throw new Error(`${url} led away from TLS to ${response.url}`);
    }
    if (!response.ok || response.body === null) {
      throw new Error(`${url} answered with HTTP status ${response.status}`);
    }
    const total = Number(response.headers.get("content-length") ?? 0);
    const body = Readable.fromWeb(response.body as ReadableStream<Uint8Array>);
    const watched = watchBytes(total, job, () => timer.refresh());
    await pipeline(body, watched, createWriteStream(target, { flags: "wx" }), { signal });
  } catch (error) {
    if (stalled.signal.aborted) throw stalled.signal.reason;
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

/** Passes the bytes on, tells the progress, and ends a download that is larger than any archive can be. */
function watchBytes(total: number, job: FetchJob, onBytes: () => void) {
  return async function* watched(source: AsyncIterable<Uint8Array>) {
    let bytes = 0;
    let nextPercent = PROGRESS_STEP_PERCENT;
    for await (const chunk of source) {
      bytes += chunk.length;
      onBytes();
      if (bytes > MAX_ARCHIVE_BYTES) throw new Error(`more than ${MAX_ARCHIVE_BYTES} bytes came`);
      if (total > 0 && (bytes * 100) / total >= nextPercent) {
        const percent = Math.floor((bytes * 100) / total);
        job.onProgress?.(`Fetched ${percent} % of the Temporal CLI.`);
        nextPercent = percent + PROGRESS_STEP_PERCENT;
      }
      yield chunk;
    }
  };
}
