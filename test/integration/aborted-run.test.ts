import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, expect, inject, test } from "vitest";
import { eventually } from "../fakes/eventually.js";
import { isAlive } from "../fakes/processes.js";
import { temporaryDirectory } from "./harness.js";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const VITEST = join(ROOT, "node_modules/vitest/vitest.mjs");

const runners: number[] = [];
afterEach(() => {
  for (const pid of runners.splice(0)) if (isAlive(pid)) process.kill(-pid, "SIGKILL");
});

/** Starts a run of tests that never ends, as a shell does, and waits until its test runs. */
async function startHangingRun() {
  const told = join(await temporaryDirectory(), "told.json");
  const { INTERLOCK_TEST_RUN: _, TMPDIR: __, ...environment } = process.env;
  const runner = spawn(process.execPath, [VITEST, "run", "--config", "test/setup/hanging.config.ts"], {
    cwd: ROOT,
    detached: true, // a process group of its own, which a Ctrl-C reaches as a whole
    env: { ...environment, INTERLOCK_TEST_CACHE: inject("cacheDir"), INTERLOCK_TEST_TOLD: told },
    stdio: "ignore",
  });
  const pid = runner.pid ?? 0;
  runners.push(pid);
  const ended = once(runner, "exit");
  await eventually(() => existsSync(told) || runner.exitCode !== null);
  const { folder, pids } = JSON.parse(readFileSync(told, "utf8")) as { folder: string; pids: number[] };
  const store = readdirSync(folder).find((name) => name.startsWith("interlock-server-")) ?? "";
  const record = readFileSync(join(folder, store, "temporal-server.json"), "utf8");
  const { pid: server } = JSON.parse(record) as { pid: number };
  return { pid, ended, folder, processes: [...pids, server] };
}

test.each([
  ["killed", (pid: number) => process.kill(pid, "SIGKILL")],
  ["ended by Ctrl-C", (pid: number) => process.kill(-pid, "SIGINT")],
])("a run of tests that is %s leaves no server, no process and no file behind", async (_, end) => {
  const { pid, ended, folder, processes } = await startHangingRun();
  expect(processes.filter(isAlive)).toEqual(processes);
  end(pid);
  await ended;
  await eventually(() => !processes.some(isAlive) && !existsSync(folder));
});
