import { randomUUID } from "node:crypto";
import { appendFile, mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openRun } from "../src/activities/open-run.js";
import { loadConfig } from "../src/config.js";
import type { Result } from "../src/core/errors.js";
import type { RunFiles } from "../src/store/runs/run-files.js";
import { sha256 } from "../src/store/disk/sha256.js";
import { openStore } from "../src/store/store.js";
import { createBundleHost } from "../src/tools/bundle/bundle-host.js";
import { spreadOf } from "./statistics.js";
import { commandLine, count, positionals } from "./usage.js";

/**
 * How long it takes to open a long run in a new process, where it begins (or continues as new) and where it is retried:
 * with the logs that so many visits leave, each with a state document of so many bytes, four calls and a conversation.
 *
 * Usage: npm run bench:open -- [visits] [bytes of a document]
 */

const AT = "2026-01-02T03:04:05.000Z";
const PACKAGE = "examples/create-story/package";
const CALLS = 4;
const ROUNDS = 5;

interface Time {
  readonly wallMs: number;
  readonly cpuMs: number;
}

async function main(visits: number, documentBytes: number): Promise<void> {
  const dir = await mkdtemp(join(tmpdir(), "interlock-bench-"));
  try {
    const { storeDir } = loadConfig({ INTERLOCK_STORE: join(dir, "store") });
    const projectRoot = join(dir, "project");
    await mkdir(projectRoot);
    const store = await openStore(storeDir, "bench");
    const { packageId } = unwrap(await store.packages.install(PACKAGE));
    unwrap(await store.roots.add(projectRoot, "write"));
    const input = { runId: randomUUID(), projectRoot, packageId };
    const open = async (resume: boolean): Promise<Time> => {
      const fresh = await openStore(storeDir, "bench"); // as a new process has it
      await fresh.packages.open(packageId);
      const begun = performance.now();
      const cpu = process.cpuUsage();
      await openRun(
        { store: fresh, bundles: createBundleHost({ store: fresh }) },
        { kind: "graph", input: resume ? { ...input, resume } : input },
      );
      const { user, system } = process.cpuUsage(cpu);
      return { wallMs: performance.now() - begun, cpuMs: (user + system) / 1_000 };
    };
    await open(false);
    const { projectId } = unwrap(await store.runs.findRun(input.runId));
    await fill(unwrap(await store.runs.openFiles(projectId, input.runId)), visits, documentBytes);
    print("the first time, without indexes", [await open(true)]);
    const times = async (resume: boolean): Promise<Time[]> => {
      const all: Time[] = [];
      for (let round = 0; round < ROUNDS; round += 1) all.push(await open(resume));
      return all;
    };
    print("as it continues", await times(false));
    print("as it is retried", await times(true));
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

/** What a run of so many visits leaves, as a version without indexes has left it. */
async function fill(files: RunFiles, visits: number, documentBytes: number): Promise<void> {
  const document = "x".repeat(documentBytes);
  const documentSha256 = sha256(Buffer.from(document));
  for (let visit = 1; visit <= visits; visit += 1) {
    const ids = Array.from({ length: CALLS }, (_, index) => `call_${visit}_${index}`);
    const boundary = { visit, nodeId: "a", next: "b", timestamp: AT, calls: visit * CALLS };
    await append(join(files.dir, "boundaries.jsonl"), [{ ...boundary, documentSha256, document }]);
    const results = ids.map((id) => ({
      id,
      result: { ok: true, path: "@project/a.md", content: "y".repeat(500) },
    }));
    await append(join(files.dir, "calls.jsonl"), results);
    const turn = { kind: "model.turn", id: `${visit}.1`, promptTokens: 1, completionTokens: 1, cost: 0 };
    const calls = ids.map((toolCallId) => ({ kind: "tool.exec", toolCallId, input: "z".repeat(200) }));
    await append(files.logFile, [turn, ...calls]);
    await append(join(files.dir, "conversation", `visit-${visit}.jsonl`), [
      { type: "begin", visit, messages: [] },
    ]);
  }
}

function append(path: string, lines: readonly object[]): Promise<void> {
  return appendFile(path, lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
}

function print(what: string, times: readonly Time[]): void {
  const wall = spreadOf(times.map(({ wallMs }) => wallMs)).median.toFixed(0);
  const cpu = spreadOf(times.map(({ cpuMs }) => cpuMs)).median.toFixed(0);
  process.stdout.write(`${what}: ${wall} ms, ${cpu} ms of CPU\n`);
}

function unwrap<T>(result: Result<T>): T {
  if (!result.ok) throw new Error(result.error.message);
  return result.value;
}

const USAGE = "Usage: npm run bench:open -- [visits] [bytes]    (10000 and 20000)";
const { visits, documentBytes } = commandLine(USAGE, (args) => {
  const [first = "10000", second = "20000"] = positionals(args, 2);
  return {
    visits: count(first, "[visits]", 1, 1_000_000),
    documentBytes: count(second, "[bytes]", 1, 100_000),
  };
});
process.stdout.write(`${visits} visits, documents of ${documentBytes} bytes\n`);
await main(visits, documentBytes);
