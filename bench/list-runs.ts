import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { SEARCH_ATTRIBUTES } from "../src/contract/names.js";
import { acquireEmbeddedServer } from "../src/embedded/server.js";
import { cpuMilliseconds } from "./cpu-time.js";
import { endRun, plantRuns } from "./plant-runs.js";
import { commandLine, positionals, wordsAmong } from "./usage.js";
import { type WatchedModel, silentModel, writingModel } from "./watched-models.js";

/**
 * How long `interlock runs` takes with thousands of runs on a server: workflows with the attributes and memos of runs, which no
 * worker works on. Then what somebody who watches a run costs that server, at hand and from elsewhere: one whose model says nothing,
 * and one that goes on, its answers streamed. Windows with and without somebody who watches take turns, so that what else the server
 * does is in all of them.
 */
const RUNS = 2_000;
const TRIES = 5;
const GOAL_SECONDS = 1.5;
const GOAL_PERCENT = 2;
const ROUNDS = 3;
const WINDOW_MS = 20_000;
/** Until a command that watches has shown what was there. */
const SETTLED_MS = 5_000;
const MAIN = fileURLToPath(new URL("../../../dist/cli/main.js", import.meta.url));
const EXAMPLE = fileURLToPath(new URL("../../../examples/create-story/package", import.meta.url));
const environment = process.env; // oxlint-disable-line node/no-process-env -- a measurement's own

const USAGE = `Usage: npm run bench:list -- [watch]

  watch   only what a watch costs the server
`;
const watchOnly = commandLine(USAGE, (args) => wordsAmong(positionals(args), ["watch"]).length > 0);

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
  await plantRuns(server.address, RUNS);
  if (!watchOnly) await measureListing();
  await measureWatching("whose model says nothing", await silentModel());
  await measureWatching("that goes on", await writingModel());
} finally {
  await server.release();
  await rm(storeDir, { recursive: true, force: true });
}

async function measureListing(): Promise<void> {
  for (const args of [
    ["runs"],
    ["runs", "--waiting"],
    ["runs", "--limit", String(RUNS)],
    ["runs", "--json"],
  ]) {
    const tries: Taken[] = [];
    for (let index = 0; index < TRIES; index += 1) tries.push(await taken(args));
    const seconds = tries.map((each) => each.seconds).sort((one, other) => one - other);
    const middle = seconds[Math.floor(TRIES / 2)] ?? 0;
    const most = seconds.at(-1) ?? 0;
    const cpu = tries.reduce((sum, each) => sum + each.cpuSeconds, 0) / TRIES;
    const verdict =
      args.length > 1 ? "" : `, goal ${GOAL_SECONDS} s ${middle < GOAL_SECONDS ? "met" : "missed"}`;
    process.stdout.write(
      `interlock ${args.join(" ")} with ${RUNS} runs: ${middle.toFixed(2)} s (median of ${TRIES}), at most ${most.toFixed(2)}, CPU ${cpu.toFixed(2)} s${verdict}\n`,
    );
  }
}

/** A run is watched; the server's CPU time is compared with that of windows in which nobody watches. */
async function measureWatching(what: string, model: WatchedModel): Promise<void> {
  const here = {
    ...own,
    INTERLOCK_MODEL: "watched",
    INTERLOCK_MODEL_STREAM: "true",
    OPENAI_API_KEY: "key",
    OPENAI_BASE_URL: model.baseUrl,
  };
  const worker = spawn(process.execPath, [MAIN, "dev", "--quiet", "--no-page"], {
    env: here,
    stdio: ["ignore", "pipe", "inherit"],
  });
  await once(worker.stdout, "data");
  const project = await mkdtemp(join(tmpdir(), "interlock-bench-project-"));
  const started = await promisify(execFile)(
    process.execPath,
    [MAIN, "run", EXAMPLE, "--project", project, "--detach", "--json"],
    { env: here },
  );
  const { runId } = JSON.parse(started.stdout) as { readonly runId: string };
  const there = { PATH: environment["PATH"], HOME: "/nonexistent", TEMPORAL_ADDRESS: server.address };
  const places = { nobody: undefined, "at hand": here, "from elsewhere": there };
  const used = new Map<string, number>();
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const [place, env] of Object.entries(places)) {
      used.set(place, (used.get(place) ?? 0) + (await serverShare(runId, env)) / ROUNDS);
    }
  }
  const alone = used.get("nobody") ?? 0;
  process.stdout.write(
    `a run ${what}, ${RUNS} others on the server: the server takes ${alone.toFixed(2)} % of a core\n`,
  );
  for (const place of ["at hand", "from elsewhere"]) {
    const more = (used.get(place) ?? 0) - alone;
    const verdict = more < GOAL_PERCENT ? "met" : "missed";
    process.stdout.write(`  watched ${place}: ${more.toFixed(2)} more, goal ${GOAL_PERCENT} ${verdict}\n`);
  }
  await endRun(server.address, runId); // the next worker has another model
  worker.kill("SIGTERM");
  await once(worker, "exit");
  model.close();
  await rm(project, { recursive: true, force: true });
}

/** The server's CPU, in percent of a core, over a window, in which somebody watches in this environment. */
async function serverShare(runId: string, env: NodeJS.ProcessEnv | undefined): Promise<number> {
  const watching = env && spawn(process.execPath, [MAIN, "watch", runId], { env, stdio: "ignore" });
  await sleep(SETTLED_MS);
  const [began, from] = [performance.now(), cpuMilliseconds(server.pid) ?? 0];
  await sleep(WINDOW_MS);
  const share = (((cpuMilliseconds(server.pid) ?? 0) - from) / (performance.now() - began)) * 100;
  // One that has ended was told that the run has ended or asks: then nothing was measured.
  if (watching !== undefined && watching.exitCode !== null)
    throw new Error("The run was not at work to the end.");
  watching?.kill("SIGKILL");
  return share;
}

interface Taken {
  readonly seconds: number;
  /** Of the command alone. */
  readonly cpuSeconds: number;
}

/** What a command takes: the time, and by its shell the CPU time, which says something on a busy machine too. */
async function taken(args: readonly string[]): Promise<Taken> {
  const began = performance.now();
  const line = ["-c", '"$@" > /dev/null && times', "sh", process.execPath, MAIN, ...args];
  const { stdout } = await promisify(execFile)("/bin/sh", line, { env: own });
  const [, ofChildren = ""] = stdout.split("\n");
  const cpuSeconds = [...ofChildren.matchAll(/(\d+)m([\d.]+)s/g)].reduce(
    (sum, [, minutes, seconds]) => sum + Number(minutes) * 60 + Number(seconds),
    0,
  );
  return { seconds: (performance.now() - began) / 1_000, cpuSeconds };
}
