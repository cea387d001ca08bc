import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { randomUUID } from "node:crypto";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { Client, Connection } from "@temporalio/client";
import { RUN_MEMO } from "../src/contract/run-memo.js";
import { GRAPH_RUN_WORKFLOW, SEARCH_ATTRIBUTES } from "../src/contract/names.js";
import { acquireEmbeddedServer } from "../src/embedded/server.js";

/**
 * How long `interlock runs` takes with thousands of runs on a server: workflows with the attributes and memos of runs, which no
 * worker works on. Prints seconds.
 */
const RUNS = 2_000;
const AT_A_TIME = 40;
const TRIES = 5;
const MAIN = fileURLToPath(new URL("../../../dist/cli/main.js", import.meta.url));
const environment = process.env; // oxlint-disable-line node/no-process-env -- a measurement's own

const storeDir = await mkdtemp(join(tmpdir(), "interlock-bench-"));
const cacheDir = environment["INTERLOCK_CACHE"] ?? join(tmpdir(), "interlock-test-cache");
const server = await acquireEmbeddedServer({
  storeDir,
  cacheDir,
  pathVariable: environment["PATH"] ?? "",
  environment,
  searchAttributes: SEARCH_ATTRIBUTES,
});
try {
  await startAll(server.address);
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
} finally {
  await server.release();
  await rm(storeDir, { recursive: true, force: true });
}

async function startAll(address: string): Promise<void> {
  const connection = await Connection.connect({ address });
  const client = new Client({ connection });
  let next = 0;
  const start = async (): Promise<void> => {
    for (let index = next++; index < RUNS; index = next++) {
      const runId = randomUUID();
      const phase = index % 3 === 0 ? "waiting-user" : "running";
      const since = new Date().toISOString();
      const question = "Which order do the shelves have?";
      await client.workflow.start(GRAPH_RUN_WORKFLOW, {
        workflowId: `run-${runId}`,
        taskQueue: "nobody",
        args: [],
        searchAttributes: {
          RunPhase: [phase],
          RunPackage: ["create-story-1.0.0"],
          RunProject: ["shop-0123456789ab"],
        },
        memo: {
          [RUN_MEMO]: {
            runId,
            phase,
            package: "create-story-1.0.0",
            project: "shop",
            node: "ask",
            question,
            since,
          },
        },
      });
    }
  };
  await Promise.all(Array.from({ length: AT_A_TIME }, start));
  await connection.close();
}

async function timed(args: readonly string[]): Promise<number> {
  const began = performance.now();
  const env = {
    PATH: environment["PATH"],
    HOME: storeDir,
    INTERLOCK_STORE: storeDir,
    INTERLOCK_CACHE: cacheDir,
  };
  await promisify(execFile)(process.execPath, [MAIN, ...args], { env, maxBuffer: 64 * 1024 * 1024 });
  return (performance.now() - began) / 1_000;
}
