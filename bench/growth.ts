import { mkdir, readdir, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { workflowIdOf } from "../src/core/run/run-id.js";
import { type Line, drawLines } from "./draw-lines.js";
import { residentBytes } from "./resident-memory.js";
import { type Stage, openStage } from "./stage.js";
import { commandLine, count, fileToWrite } from "./usage.js";

/*
 * What a visit costs, by how many there were. One run goes round a circle
 * of nodes with one model turn a visit, by nodes, until its limit of turns ends it, and each visit notes a decision and an artifact.
 * What has been measured is drawn when it is interrupted, too.
 */
const USAGE = `Usage: npm run bench:growth -- [options]

  --to <n>       so many visits (10000)
  --nodes <n>    nodes of the circle (60)
  --svg <file>   where the drawing goes (the system's directory for temporary files)
`;

const { to, nodes, svg } = commandLine(USAGE, (args) => {
  const { values } = parseArgs({
    args: [...args],
    options: {
      to: { type: "string", default: "10000" },
      nodes: { type: "string", default: "60" },
      svg: { type: "string", default: join(tmpdir(), `interlock-growth-${process.pid}.svg`) },
    },
  });
  return {
    to: count(values.to, "--to", 1, 1_000_000),
    nodes: count(values.nodes, "--nodes", 2),
    svg: fileToWrite(values.svg, "--svg"),
  };
});
const SAMPLES = 40;

interface Sample {
  readonly visits: number;
  readonly seconds: number;
  readonly diskBytes: number;
  readonly documentBytes: number;
  readonly historyBytes: number;
  readonly memoryBytes: number;
  readonly syncs: number;
}

async function run(): Promise<void> {
  const stage = await openStage({
    directory: undefined,
    cpuProfile: undefined,
    countSyncs: true,
    model: { movesOn: true },
  });
  const samples: Sample[] = [];
  let isInterrupted = false;
  process.once("SIGINT", () => (isInterrupted = true));
  process.once("SIGTERM", () => (isInterrupted = true));
  try {
    await follow(stage, samples, () => isInterrupted);
  } finally {
    try {
      await stage.close(); // first: a drawing that cannot be written leaves no server behind
    } finally {
      await writeFile(svg, draw(samples));
      process.stdout.write(`Drawn in ${svg}\n`);
    }
  }
}

async function follow(stage: Stage, samples: Sample[], isInterrupted: () => boolean): Promise<void> {
  const [projectRoot = ""] = await stage.makeProjects(1);
  const source = join(projectRoot, "..", "circle");
  await writeCircle(source, nodes);
  const installed = await stage.store.packages.install(source);
  if (!installed.ok) throw new Error(installed.error.message);
  const { packageId } = installed.value;
  const { storeId } = stage.store;
  const limits = { maxTurnsPerRun: to };
  const begun = await stage.client.start({ packageId, projectRoot, storeId, limits, steps: "nodes" });
  const progress = { isOver: false };
  const ended = begun.result().then(
    () => new Error("The run came to an end that there is not."),
    (error: Error) => error,
  );
  void ended.finally(() => (progress.isOver = true));
  const handle = stage.client.temporal.workflow.getHandle(workflowIdOf(begun.runId));
  const sizes = new Map<string, number>();
  const startedAt = performance.now();
  while (!progress.isOver && !isInterrupted()) {
    await sleep(500);
    const { visit } = await begun.state().catch(() => ({ visit: 0 }));
    const { runId, historySize = 0 } = await handle.describe();
    sizes.set(runId, historySize); // of an execution that is over, as it was seen last
    if (visit < (samples.at(-1)?.visits ?? 0) + to / SAMPLES) continue;
    const run = await stage.store.runs.findRun(begun.runId);
    if (!run.ok) throw new Error(run.error.message);
    const { projectId } = run.value;
    const runDir = join(stage.store.dir, "projects", projectId, "runs", begun.runId);
    samples.push({
      visits: visit,
      seconds: (performance.now() - startedAt) / 1_000,
      diskBytes: await bytesIn(runDir),
      documentBytes: (await stat(join(runDir, "state", "workflow.md"))).size,
      historyBytes: [...sizes.values()].reduce((sum, bytes) => sum + bytes, 0),
      memoryBytes: residentBytes(stage.pids.interlock) ?? Number.NaN,
      syncs: await stage.syncs(),
    });
    process.stderr.write(`${JSON.stringify(samples.at(-1))}\n`);
  }
  if (progress.isOver) process.stderr.write(`${(await ended).message}\n`);
}

function draw(samples: readonly Sample[]): string {
  const each = (of: (sample: Sample) => number): Line["points"] =>
    samples.slice(1).flatMap((sample, index) => {
      const before = samples[index];
      if (before === undefined) return [];
      return [[sample.visits, (of(sample) - of(before)) / (sample.visits - before.visits)] as const];
    });
  const lines: readonly Line[] = [
    { title: "time of a visit", unit: "ms", points: each(({ seconds }) => seconds * 1_000) },
    { title: "bytes on disk, a visit", unit: "B", points: each(({ diskBytes }) => diskBytes) },
    { title: "bytes of history, a visit", unit: "B", points: each(({ historyBytes }) => historyBytes) },
    { title: "files synced, a visit", unit: "", points: each(({ syncs }) => syncs) },
    {
      title: "the state document",
      unit: "B",
      points: samples.map(({ visits, documentBytes }) => [visits, documentBytes] as const),
    },
    {
      title: "memory of the worker",
      unit: "MB",
      points: samples.map(({ visits, memoryBytes }) => [visits, memoryBytes / 1e6] as const),
    },
  ];
  const many = samples.at(-1)?.visits ?? 0;
  const heading = `One run, ${many.toLocaleString("en")} visits of ${nodes} nodes in a circle, a turn each, steps by node`;
  return drawLines(heading, "visits", lines);
}

async function bytesIn(dir: string): Promise<number> {
  const entries = await readdir(dir, { recursive: true, withFileTypes: true });
  let bytes = 0;
  for (const entry of entries) {
    if (!entry.isFile()) continue;
    const found = await stat(join(entry.parentPath, entry.name)).catch(() => undefined); // it was a temporary one
    bytes += found?.size ?? 0;
  }
  return bytes;
}

async function writeCircle(dir: string, count: number): Promise<void> {
  const ids = Array.from({ length: count }, (_, index) => `node-${index}`);
  const agent = {
    id: "walker",
    metadata: { name: "Walker", title: "Walker", icon: "W" },
    persona: { role: "walks", identity: "a walker", communication_style: "plain", principles: ["Go on."] },
  };
  const files: Record<string, unknown> = {
    "bmad.json": {
      schemaVersion: "1.1",
      name: "Circle",
      version: "1.0.0",
      entry: { workflow: "workflow.md", graph: "workflow.graph.json", agents: "agents.json" },
    },
    "agents.json": { schemaVersion: "1.1", agents: [agent] },
    "workflow.md": `---\nschemaVersion: "1.1"\nworkflowType: circle\n---\n# Circle\n`,
    "workflow.graph.json": {
      schemaVersion: "1.1",
      entryNodeId: ids[0],
      nodes: ids.map((id) => ({ id, type: "step", file: `steps/${id}.md` })),
      edges: ids.map((from, index) => ({ from, to: ids[(index + 1) % count], label: "next" })),
    },
  };
  for (const id of ids) {
    files[`steps/${id}.md`] = `---\nschemaVersion: "1.1"\nnodeId: ${id}\ntype: step\n---\n# ${id}\n`;
  }
  await mkdir(join(dir, "steps"), { recursive: true });
  for (const [path, content] of Object.entries(files)) {
    await writeFile(join(dir, path), typeof content === "string" ? content : JSON.stringify(content));
  }
}

await run();
