import { randomUUID } from "node:crypto";
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { fileURLToPath } from "node:url";
import { parseArgs, promisify } from "node:util";
import { placeRun } from "../src/store/runs/place-run.js";
import { RunIndex } from "../src/store/runs/run-index.js";
import type { RunMetadata } from "../src/store/runs/run-metadata.js";
import { type Line, drawLines } from "./draw-lines.js";
import { commandLine, count, fileToWrite } from "./usage.js";

/*
 * What a store with many runs costs. Stores are made directly; a phase change, a start and a
 * listing are measured in each, and compared with the smallest. Every hundredth run is not over, and so has a status to be read.
 */
const USAGE = `Usage: npm run bench:index -- [options]

  --runs <n,n>   runs in the stores (1000,10000,50000,100000)
  --svg <file>   where they are drawn
  --json <file>  where the figures of each are written
`;
const { sizes, svg, json } = commandLine(USAGE, (args) => {
  const { values } = parseArgs({
    args: [...args],
    options: {
      runs: { type: "string", default: "1000,10000,50000,100000" },
      svg: { type: "string" },
      json: { type: "string" },
    },
  });
  return {
    sizes: values.runs.split(",").map((text) => count(text, "--runs", 1, 1_000_000)),
    svg: values.svg === undefined ? undefined : fileToWrite(values.svg, "--svg"),
    json: values.json === undefined ? undefined : fileToWrite(values.json, "--json"),
  };
});
const TRIES = 15;
const MAIN = fileURLToPath(new URL("../../../dist/cli/main.js", import.meta.url));
const PROJECT = "shop-0123456789ab";

/** What a store with so many runs costs, in milliseconds, medians. */
export interface StoreFigures {
  readonly runs: number;
  readonly phaseMs: number;
  readonly endMs: number;
  readonly startMs: number;
  readonly listMs: number;
  readonly commandMs: number;
}

const rows: StoreFigures[] = [];
for (const runs of sizes) rows.push(await measure(runs));
const [least] = rows;
const times = (ms: number, of = Number.NaN): string => `${ms.toFixed(2)} ms (${(ms / of).toFixed(1)})`;
process.stdout.write(
  "| runs in the project | a question is asked | a run ends | a run is made | all are read anew | `interlock runs` |\n| --- | --- | --- | --- | --- | --- |\n",
);
for (const { runs, phaseMs, endMs, startMs, listMs, commandMs } of rows) {
  const cells = [
    times(phaseMs, least?.phaseMs),
    times(endMs, least?.endMs),
    times(startMs, least?.startMs),
    times(listMs, least?.listMs),
    times(commandMs, least?.commandMs),
  ];
  process.stdout.write(`| ${runs} | ${cells.join(" | ")} |\n`);
}
if (json !== undefined) await writeFile(json, JSON.stringify(rows));
if (svg !== undefined) {
  await writeFile(svg, draw());
  process.stdout.write(`Drawn in ${svg}\n`);
}

function draw(): string {
  const line = (title: string, of: (row: StoreFigures) => number): Line => ({
    title,
    unit: "ms",
    points: rows.map((row) => [row.runs, of(row)] as const),
  });
  return drawLines("One store, by how many runs there are in a project of it", "runs", [
    line("a run asks its question", ({ phaseMs }) => phaseMs),
    line("a run ends", ({ endMs }) => endMs),
    line("a run is made", ({ startMs }) => startMs),
    line("interlock runs", ({ commandMs }) => commandMs),
  ]);
}

async function measure(count: number): Promise<StoreFigures> {
  const storeDir = await mkdtemp(join(tmpdir(), "interlock-bench-"));
  const projectDir = join(storeDir, "projects", PROJECT);
  try {
    await makeStore(projectDir, count);
    const index = new RunIndex(projectDir);
    const made = aRun(count);
    await index.add(made);
    await index.setPhase(made.runId, "running", new Date());
    const asked = await median(() => index.setPhase(made.runId, "waiting-user", new Date()));
    let isOver = false;
    const ended = await median(async () => {
      isOver = !isOver;
      await index.setPhase(made.runId, isOver ? "completed" : "running", new Date());
    });
    const started = await median((nth) => placeNext(storeDir, index, aRun(count + 1 + nth)));
    const listed = await median(async () => void (await new RunIndex(projectDir).list()));
    const env = { PATH: process.env["PATH"], HOME: storeDir, INTERLOCK_STORE: storeDir }; // oxlint-disable-line node/no-process-env -- a measurement's own
    const command = await median(async () => {
      await promisify(execFile)(process.execPath, [MAIN, "runs", "--limit", "20"], { env });
    });
    return {
      runs: count,
      phaseMs: asked,
      endMs: ended,
      startMs: started,
      listMs: listed,
      commandMs: command,
    };
  } finally {
    await rm(storeDir, { recursive: true, force: true });
  }
}

async function placeNext(storeDir: string, index: RunIndex, run: RunMetadata): Promise<void> {
  const project = { projectId: PROJECT, root: storeDir };
  const placed = await placeRun(join(storeDir, "projects"), project, index, run);
  if (!placed.ok) throw new Error(placed.error.message);
}

async function makeStore(projectDir: string, count: number): Promise<void> {
  await mkdir(join(projectDir, "runs"), { recursive: true, mode: 0o700 });
  await writeFile(join(projectDir, "project.json"), `${JSON.stringify({ root: "/nowhere/shop" })}\n`);
  const runs = Array.from({ length: count }, (_, nth) => aRun(nth));
  const over = { phase: "completed", lastUpdatedAt: new Date().toISOString() };
  const open: RunMetadata[] = [];
  const lines = runs.map((run, nth) => {
    if (nth % 100 === 0) open.push(run);
    const last = nth % 100 === 0 ? { phase: "running", lastUpdatedAt: over.lastUpdatedAt } : over;
    return `${JSON.stringify(run)}\n${JSON.stringify({ runId: run.runId, ...last })}\n`;
  });
  await writeFile(join(projectDir, "runs.jsonl"), lines.join(""));
  for (const { runId } of runs) await mkdir(join(projectDir, "runs", runId));
  for (const { runId } of open) {
    await writeFile(
      join(projectDir, "runs", runId, "status.json"),
      JSON.stringify({ phase: "waiting-user" }),
    );
  }
}

function aRun(nth: number): RunMetadata {
  const at = new Date(Date.UTC(2026, 0, 1) + nth * 1_000).toISOString();
  return {
    runId: randomUUID(),
    projectId: PROJECT,
    packageId: "create-story-1.0.0-0123456789ab",
    workflowRef: "create-story",
    activeAgentId: "author",
    phase: "idle",
    createdAt: at,
    lastUpdatedAt: at,
  };
}

async function median(action: (nth: number) => Promise<void>): Promise<number> {
  const taken: number[] = [];
  for (let nth = 0; nth < TRIES; nth += 1) {
    const began = performance.now();
    await action(nth);
    taken.push(performance.now() - began);
  }
  return taken.sort((a, b) => a - b)[Math.floor(TRIES / 2)] ?? Number.NaN;
}
