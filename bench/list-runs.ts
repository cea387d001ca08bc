import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { basename, join } from "node:path";
import { performance } from "node:perf_hooks";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { SEARCH_ATTRIBUTES } from "../src/contract/names.js";
import { acquireEmbeddedServer } from "../src/embedded/server.js";
import { cpuMilliseconds } from "./cpu-time.js";
import { plantRuns } from "./plant-runs.js";

/**
 * How long `interlock runs` takes with thousands of runs on a server: workflows with the attributes and memos of runs, which no
 * worker works on. Then what somebody who watches a run at work costs that server, at hand and from elsewhere.
 */
const RUNS = 2_000;
const TRIES = 5;
const WATCHED_MS = 60_000;
const MAIN = fileURLToPath(new URL("../../../dist/cli/main.js", import.meta.url));
const EXAMPLE = fileURLToPath(new URL("../../../examples/create-story/package", import.meta.url));
const environment = process.env; // oxlint-disable-line node/no-process-env -- a measurement's own

const storeDir = await mkdtemp(join(tmpdir(), "interlock-bench-"));
const cacheDir = environment["INTERLOCK_CACHE"] ?? join(tmpdir(), "interlock-test-cache");
const own = {
  PATH: environment["PATH"],
  HOME: storeDir,
  INTERLOCK_STORE: storeDir,
  INTERLOCK_CACHE: cacheDir,
};
const server = await acquireEmbeddedServer({
  storeDir,
  cacheDir,
  pathVariable: environment["PATH"] ?? "",
  environment,
  searchAttributes: SEARCH_ATTRIBUTES,
});
try {
  if (process.argv[2] !== "watch") await measureListing();
  await measureWatching();
} finally {
  await server.release();
  await rm(storeDir, { recursive: true, force: true });
}

async function measureListing(): Promise<void> {
  await plantRuns(server.address, RUNS);
  for (const args of [
    ["runs"],
    ["runs", "--waiting"],
    ["runs", "--limit", String(RUNS)],
    ["runs", "--json"],
  ]) {
    const seconds: number[] = [];
    for (let index = 0; index < TRIES; index += 1) seconds.push(await timed(args));
    const middle = seconds.sort((a, b) => a - b)[Math.floor(TRIES / 2)] ?? 0;
    process.stdout.write(`interlock ${args.join(" ")}: ${middle.toFixed(2)} s (median of ${TRIES})\n`);
  }
}

/** A run whose model never answers is watched; the server's CPU time is compared with that of the same time before. */
async function measureWatching(): Promise<void> {
  const model = createServer(() => undefined); // it never answers
  await new Promise<void>((resolve) => model.listen(0, "127.0.0.1", resolve));
  const { port } = model.address() as AddressInfo; // it listens on a port
  const here = {
    ...own,
    INTERLOCK_MODEL: "silent",
    OPENAI_API_KEY: "key",
    OPENAI_BASE_URL: `http://127.0.0.1:${port}/v1`,
  };
  const worker = spawn(process.execPath, [MAIN, "dev", "--quiet"], {
    env: here,
    stdio: ["ignore", "pipe", "inherit"],
  });
  await once(worker.stdout, "data");
  const project = join(storeDir, "..", `${basename(storeDir)}-project`);
  await mkdir(project);
  const started = await promisify(execFile)(
    process.execPath,
    [MAIN, "run", EXAMPLE, "--project", project, "--detach", "--json"],
    { env: here },
  );
  const { runId } = JSON.parse(started.stdout) as { readonly runId: string };
  const there = { PATH: environment["PATH"], HOME: "/nonexistent", TEMPORAL_ADDRESS: server.address };
  const before = await serverShare();
  process.stdout.write(`the server while a run is at work: ${before.toFixed(2)} % of a core\n`);
  for (const [place, env] of Object.entries({ "at hand": here, "from elsewhere": there })) {
    const watching = spawn(process.execPath, [MAIN, "watch", runId], { env, stdio: "ignore" });
    await sleep(5_000);
    const share = await serverShare();
    watching.kill("SIGKILL");
    process.stdout.write(`watched ${place}: ${share.toFixed(2)} %, ${(share - before).toFixed(2)} more\n`);
  }
  worker.kill("SIGTERM");
  await once(worker, "exit");
  model.closeAllConnections();
  model.close();
  await rm(project, { recursive: true, force: true });
}

/** The server's CPU, in percent of a core, over some time. */
async function serverShare(): Promise<number> {
  const [began, from] = [performance.now(), cpuMilliseconds(server.pid) ?? 0];
  await sleep(WATCHED_MS);
  return (((cpuMilliseconds(server.pid) ?? 0) - from) / (performance.now() - began)) * 100;
}

async function timed(args: readonly string[]): Promise<number> {
  const began = performance.now();
  await promisify(execFile)(process.execPath, [MAIN, ...args], { env: own, maxBuffer: 64 * 1024 * 1024 });
  return (performance.now() - began) / 1_000;
}
