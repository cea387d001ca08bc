import { tmpdir } from "node:os";
import { join } from "node:path";
import { SEARCH_ATTRIBUTES } from "../../src/contract/names.js";
import { findTemporalCli } from "../../src/embedded/find-cli.js";
import { chooseServerPorts } from "../../src/embedded/ports.js";
import { isHeld } from "../../src/embedded/file-lock.js";
import { launchServer, settleServer, waitUntilHealthy } from "../../src/embedded/server-process.js";
import { serverFiles } from "../../src/embedded/server-record.js";
import { writeEarlyCli } from "../fakes/early-server.js";

/** A Temporal server that can be killed and comes back on its database, under its address. */
export interface MortalServer {
  readonly address: string;
  /** By SIGKILL; resolves when it is gone. */
  kill(): Promise<void>;
  /** Resolves when it answers. */
  start(): Promise<void>;
}

const ATTRIBUTES = Object.keys(SEARCH_ATTRIBUTES);
const START_TIMEOUT_MS = 60_000;
/** Most runs continue as new several times. */
const EVENTS_BEFORE_CONTINUE_AS_NEW = 40;

export async function startMortalServer(dir: string): Promise<MortalServer> {
  const files = serverFiles(dir);
  const found = await findTemporalCli({
    pathVariable: process.env["PATH"] ?? "",
    environment: process.env,
    cacheDir: process.env["INTERLOCK_TEST_CACHE"] ?? join(tmpdir(), "interlock-test-cache"),
    onProgress: (line) => process.stderr.write(`${line}\n`),
  });
  const cli = { ...found, path: writeEarlyCli(dir, found.path, EVENTS_BEFORE_CONTINUE_AS_NEW) };
  const ports = await chooseServerPorts(new Set([7233, 8233])); // the usual ones are somebody's
  let pid: number | undefined;
  function signal(): void {
    if (pid === undefined) return;
    try {
      process.kill(-pid, "SIGKILL");
    } catch {
      // it is gone
    }
    pid = undefined;
  }
  process.once("exit", signal);
  async function start(): Promise<void> {
    const record = await launchServer(files, cli, ports, ATTRIBUTES);
    pid = record.pid;
    const health = await waitUntilHealthy(files, record, { timeoutMs: START_TIMEOUT_MS });
    if (health !== "healthy") throw new Error(`The Temporal server is ${health}: see ${files.log}`);
    await settleServer(files, record, ATTRIBUTES);
  }
  await start();
  return {
    address: `127.0.0.1:${ports.port}`,
    async kill() {
      signal();
      while (isHeld(files.log)) await new Promise((resolve) => setTimeout(resolve, 20));
    },
    start,
  };
}
