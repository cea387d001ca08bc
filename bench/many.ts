import { randomUUID } from "node:crypto";
import { existsSync, readFileSync, statSync } from "node:fs";
import { mkdir, mkdtemp, readFile, readdir, rm, writeFile } from "node:fs/promises";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { parseArgs } from "node:util";
import { historyToJSON } from "@temporalio/common/lib/proto-utils.js";
import { InterlockClient, type RunHandle } from "../src/client/client.js";
import { loadConfig } from "../src/config.js";
import { STEP_SIZES, type StepSize } from "../src/core/step-size.js";
import { verifyAuditLog } from "../src/store/runs/audit-verify.js";
import { type Store, openStore } from "../src/store/store.js";
import { type HistoryText, actionsOf, actionsText } from "./actions.js";
import { type Child, startChild } from "./child-process.js";
import { cpuMilliseconds } from "./cpu-time.js";
import { describeEnvironment } from "./environment.js";
import type { InterlockWorkerSettings, LoopDelays } from "./interlock-worker.js";
import type { ScriptedModelSettings } from "./scripted-model.js";
import { TURNS_PER_NODE, environment, ownServer } from "./stage.js";
import { expectAnswer } from "./other-server.js";
import { WrongUsage, commandLine, count, fileToWrite, lookedUp, otherServer, placeFor } from "./usage.js";
import { writeWalkPackage } from "./walk-package.js";

/*
 * Many runs at once, with a model that takes its time: whether each gets its turn, what it takes of the worker, and whether
 * anything is lost or there twice, also when a worker is killed halfway.
 */

const USAGE = `Usage: npm run bench:many -- [options]

  --runs <n>         runs at once (200)
  --nodes <n>        nodes of each, with ${TURNS_PER_NODE} turns a node (2)
  --model-ms <n>     how long the model takes for an answer, in milliseconds (2000)
  --workers <n>      workers on the store (1)
  --steps <size>     ${STEP_SIZES.join(" or ")} (turns)
  --kill             a worker is killed when half of the turns are answered, and another one started
  --dir <path>       where the temporary store goes (the system's directory for temporary files)
  --address <a>      a Temporal server that is there, with its search attributes, instead of the embedded one
  --server-pid <n>   its process, for its CPU time; needed with --address
  --json <file>      writes what is promised of it
`;

const { runCount, nodes, afterMs, workerCount, steps, measured, withKill, directory, json } = commandLine(
  USAGE,
  (args) => {
    const { values } = parseArgs({
      args: [...args],
      options: {
        runs: { type: "string", default: "200" },
        nodes: { type: "string", default: "2" },
        "model-ms": { type: "string", default: "2000" },
        workers: { type: "string", default: "1" },
        steps: { type: "string", default: "turns" },
        kill: { type: "boolean", default: false },
        dir: { type: "string", default: tmpdir() },
        address: { type: "string" },
        "server-pid": { type: "string" },
        json: { type: "string" },
      },
    });
    return {
      runCount: count(values.runs, "--runs", 1, 100_000),
      nodes: count(values.nodes, "--nodes"),
      afterMs: count(values["model-ms"], "--model-ms", 0, 3_600_000),
      workerCount: count(values.workers, "--workers", 1, 16),
      steps: stepSize(values.steps),
      measured: otherServer(values.address, values["server-pid"]),
      withKill: values.kill,
      directory: placeFor(values.dir, "--dir"),
      json: values.json === undefined ? undefined : fileToWrite(values.json, "--json"),
    };
  },
);
await lookedUp(USAGE, () => expectAnswer(measured));
const turns = nodes * TURNS_PER_NODE;

function stepSize(said: string): StepSize {
  const size = STEP_SIZES.find((each) => each === said);
  if (size === undefined) throw new WrongUsage(`--steps is one of: ${STEP_SIZES.join(", ")}.`);
  return size;
}

/** What is promised of many runs at once. */
export interface ManyFigures {
  readonly runs: number;
  /** How many of them did not end, or have something lost or there twice. */
  readonly faulty: number;
  /** The most that a worker has had. */
  readonly memoryMb: number;
  /** Of the worst worker, in milliseconds; absent where none was looked at for long enough. */
  readonly loopDelayP99Ms?: number;
}

/** A worker, and what is to be known of it even when it is killed. */
interface Watched {
  readonly child: Child;
  readonly loopDelays: string;
  /** The most memory that it has had so far, in MB. */
  rss: number;
  cpuMs: number;
}

const workers: Watched[] = [];

async function startWorker(variables: Readonly<Record<string, string>>, address: string): Promise<Watched> {
  const loopDelays = join(dir, `delays-${workers.length}.json`);
  const settings: InterlockWorkerSettings = { address, namespace: "default", variables, loopDelays };
  const watched = {
    child: await startChild("./interlock-worker.js", settings),
    loopDelays,
    rss: 0,
    cpuMs: 0,
  };
  workers.push(watched);
  return watched;
}

function look(): void {
  for (const worker of workers) {
    const status = `/proc/${worker.child.pid}/status`;
    if (!existsSync(status)) continue;
    const most = /^VmHWM:\s+(\d+) kB/m.exec(readFileSync(status, "utf8"))?.[1];
    if (most !== undefined) worker.rss = (Number(most) * 1_024) / 1e6;
    worker.cpuMs = cpuMilliseconds(worker.child.pid) ?? worker.cpuMs;
  }
}

/** What is wrong with the files of a run that has ended; empty where each turn, call and line is there once. */
async function faultsOf(store: Store, run: RunHandle): Promise<readonly string[]> {
  const found = await store.runs.findPlaced(run.runId);
  const files = found && (await store.runs.openFiles(found.projectId, run.runId));
  if (files?.ok !== true) return ["lost: no folder"];
  const { dir: runDir, logFile } = files.value;
  const faults = (await verifyAuditLog(logFile, await run.auditHead())).findings.map(
    (finding) => `audit: ${JSON.stringify(finding)}`,
  );
  const calls = (await jsonLines(join(runDir, "calls.jsonl"))).filter((line) => line["result"] !== undefined);
  faults.push(
    ...uniqueness(
      "calls",
      calls.map(({ id }) => String(id)),
      turns,
    ),
  );
  const visits = await readdir(join(runDir, "conversation"));
  const said = await Promise.all(visits.map((name) => jsonLines(join(runDir, "conversation", name))));
  const answers = said.flat().filter(({ type }) => type === "assistant");
  faults.push(
    ...uniqueness(
      "answers",
      answers.map(({ visit, turn }) => `${String(visit)} ${String(turn)}`),
      turns,
    ),
  );
  return faults;
}

function uniqueness(what: string, names: readonly string[], expected: number): readonly string[] {
  const distinct = new Set(names).size;
  return [
    ...(distinct < expected ? [`lost: ${expected - distinct} ${what}`] : []),
    ...(names.length > distinct ? [`doubled: ${names.length - distinct} ${what}`] : []),
    ...(distinct > expected ? [`doubled: ${distinct - expected} ${what} more than there are`] : []),
  ];
}

async function jsonLines(path: string): Promise<readonly Record<string, unknown>[]> {
  const lines = (await readFile(path, "utf8")).split("\n").filter((line) => line !== "");
  return lines.map((line) => JSON.parse(line) as Record<string, unknown>); // written by the engine
}

async function bytesBelow(folder: string): Promise<number> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  return files.reduce((sum, entry) => sum + statSync(join(entry.parentPath, entry.name)).size, 0);
}

/** Some at a time. */
async function atOnce<T>(
  items: readonly T[],
  many: number,
  action: (item: T) => Promise<void>,
): Promise<void> {
  const rest = [...items];
  const lane = async (): Promise<void> => {
    for (let item = rest.shift(); item !== undefined; item = rest.shift()) await action(item);
  };
  await Promise.all(Array.from({ length: many }, lane));
}

function quantile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

function note(line: string): void {
  process.stderr.write(`${line}\n`);
}

const dir = await mkdtemp(join(directory, "interlock-many-"));
const config = loadConfig({ ...environment(), INTERLOCK_STORE: join(dir, "store") });
const store = await openStore(config.storeDir);
const releasing: (() => Promise<unknown>)[] = [];
const server = measured ?? (await ownServer(config, store.dir, releasing));
const model = await startChild("./scripted-model.js", { afterMs } satisfies ScriptedModelSettings);
const { taskQueue } = store;
const client = await InterlockClient.connect({ connection: { address: server.address }, taskQueue });
const watch = setInterval(look, 500);

async function answered(): Promise<number> {
  return Number(await (await fetch(model.ready)).text());
}

/** Kills the first worker when half of the turns are answered, and starts another one. */
async function killHalfway(start: () => Promise<Watched>): Promise<void> {
  while ((await answered()) < (runCount * turns) / 2) await pause(200);
  look();
  await workers[0]?.child.kill();
  note("Killed the first worker.");
  await start();
}

async function measure(packageId: string): Promise<void> {
  const { node, cores, load, syncMs } = describeEnvironment(dir);
  const variables = {
    ...environment(),
    INTERLOCK_STORE: store.dir,
    INTERLOCK_PROJECT_ROOTS: dir,
    INTERLOCK_MODEL: "scripted",
    OPENAI_BASE_URL: model.ready,
  };
  const start = (): Promise<Watched> => startWorker(variables, server.address);
  for (let count = 0; count < workerCount; count += 1) await start();
  const serverCpu = cpuMilliseconds(server.pid) ?? 0;
  const startedAt = performance.now();
  const ended: number[] = [];
  const runs: RunHandle[] = [];
  const results: Promise<void>[] = [];
  const failures: string[] = [];
  const broken = new Set<RunHandle>();
  const halfway = withKill ? killHalfway(start) : Promise.resolve();
  await atOnce(Array.from({ length: runCount }, randomUUID), 20, async (id) => {
    const projectRoot = join(dir, "projects", id);
    await mkdir(projectRoot, { recursive: true });
    const run = await client.start({ packageId, projectRoot, storeId: store.storeId, steps });
    runs.push(run);
    const end = run.result().then(
      () => void ended.push((performance.now() - startedAt) / 1_000),
      (error: unknown) => {
        failures.push(String(error));
        broken.add(run);
      },
    );
    results.push(end);
  });
  const allStarted = (performance.now() - startedAt) / 1_000;
  note(`All ${runCount} runs are started after ${allStarted.toFixed(1)} s.`);
  await Promise.all([halfway, ...results]);
  look();
  const faults = new Map<string, number>();
  await atOnce(runs, 16, async (run) => {
    const found = await faultsOf(store, run);
    if (found.length > 0) broken.add(run);
    for (const fault of found) faults.set(fault, (faults.get(fault) ?? 0) + 1);
  });
  const history = await runs[0]?.history();
  const actions = history && actionsOf(JSON.parse(historyToJSON(history)) as HistoryText);
  const sorted = ended.sort((a, b) => a - b);
  const first = sorted[0] ?? Number.NaN;
  const last = sorted.at(-1) ?? Number.NaN;
  const least = (turns * afterMs) / 1_000;
  const lines = [
    `Node ${node}, ${cores} cores, load ${load.toFixed(1)} before and ${(loadavg()[0] ?? 0).toFixed(1)} after, a synced file ${syncMs.median.toFixed(1)} ms.`,
    `${runCount} runs of ${turns} turns at once, steps by ${steps}, model ${afterMs} ms, workers ${workerCount}${withKill ? ", one killed halfway" : ""}.`,
    `ended: ${sorted.length} of ${runCount}, failed ${failures.length}${failures[0] === undefined ? "" : ` (${failures[0]})`}`,
    `end of the first, 10 %, half, 90 %, the last, in s: ${[first, quantile(sorted, 0.1), quantile(sorted, 0.5), quantile(sorted, 0.9), last].map((value) => value.toFixed(1)).join(", ")} (the model alone takes ${least} s)`,
    `turns a second: ${((runCount * turns) / last).toFixed(1)}; model requests beyond one a turn: ${(await answered()) - runCount * turns}`,
    `store's bytes a run: ${Math.round((await bytesBelow(join(store.dir, "projects"))) / runCount)}`,
    `server's CPU a run: ${(((cpuMilliseconds(server.pid) ?? 0) - serverCpu) / runCount).toFixed(0)} ms`,
    `one run at Temporal Cloud, without heartbeats: ${actions === undefined ? "not known" : actionsText(actions)}`,
    `lost or doubled: ${faults.size === 0 ? "nothing" : [...faults].map(([fault, count]) => `${fault} (${count} runs)`).join("; ")}`,
    ...workers.map(textOf),
  ];
  process.stdout.write(`${lines.join("\n")}\n`);
  if (json !== undefined) await writeFile(json, JSON.stringify(figuresOf(broken.size)));
  if (faults.size > 0 || sorted.length < runCount) process.exitCode = 1;
}

function figuresOf(faulty: number): ManyFigures {
  const delays = workers.flatMap((worker) => delaysOf(worker) ?? []).map(({ p99 }) => p99);
  return {
    runs: runCount,
    faulty,
    memoryMb: Math.max(...workers.map(({ rss }) => rss)),
    ...(delays.length === 0 ? {} : { loopDelayP99Ms: Math.max(...delays) }),
  };
}

function delaysOf({ loopDelays }: Watched): LoopDelays | undefined {
  if (!existsSync(loopDelays)) return undefined;
  return JSON.parse(readFileSync(loopDelays, "utf8")) as LoopDelays; // written by the worker
}

function textOf(worker: Watched, index: number): string {
  const { rss, cpuMs } = worker;
  const delays = delaysOf(worker);
  const loop =
    delays === undefined
      ? "not known"
      : `${delays.p50.toFixed(0)} ms half, ${delays.p99.toFixed(0)} ms p99, ${delays.max.toFixed(0)} ms at most`;
  return `worker ${index + 1}: ${rss.toFixed(0)} MB at most, CPU ${(cpuMs / 1_000).toFixed(1)} s, event loop delay ${loop}`;
}

async function close(): Promise<void> {
  clearInterval(watch);
  await Promise.all(workers.map(({ child }) => child.stop()));
  await model.stop();
  for (const release of releasing) await release();
  await rm(dir, { recursive: true, force: true });
  await client.close(); // last: what still waits for a run is told by that
}

for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.once(signal, () => void close().finally(() => process.exit(1)));
}
try {
  await writeWalkPackage(join(dir, "package"), nodes);
  const installed = await store.packages.install(join(dir, "package"));
  if (!installed.ok) throw new Error(installed.error.message);
  await measure(installed.value.packageId);
} finally {
  await close();
}
