import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { eventually } from "../fakes/eventually.js";
import { FAKE_MCP_SERVER } from "../fakes/mcp-world.js";
import { isAlive } from "../fakes/processes.js";

const KEEPER = fileURLToPath(new URL("../../src/mcp/keep-server.cjs", import.meta.url));
/** Stands for a worker: it starts a server as one does, and nothing else. */
const WORKER = `
  const { spawn } = require("node:child_process");
  const [keeper, ...server] = process.argv.slice(1);
  const kept = spawn(process.execPath, [keeper, String(process.pid), ...server], { stdio: ["pipe", "ignore", "ignore"] });
  console.log(kept.pid);
  setInterval(() => undefined, 1_000);
`;

/** A worker with a server of the manner that is named. */
async function started(manner: string) {
  const dir = mkdtempSync(join(tmpdir(), "interlock-keep-"));
  const log = join(dir, "log");
  const args = [KEEPER, process.execPath, FAKE_MCP_SERVER, manner, log];
  const worker = spawn(process.execPath, ["-e", WORKER, ...args], { stdio: ["ignore", "pipe", "inherit"] });
  onTestFinished(() => {
    worker.kill("SIGKILL");
    rmSync(dir, { recursive: true });
  });
  const lines = () => readFileSync(log, { encoding: "utf8", flag: "a+" }).split("\n");
  let keeper = 0;
  worker.stdout.once("data", (chunk) => (keeper = Number(String(chunk))));
  await eventually(() => keeper !== 0 && lines().some((line) => line.startsWith("begun")));
  return { worker, keeper, server: Number(lines()[0]?.split(" ")[1]), lines };
}

test("a server of a worker that was killed ends, also one that does not care for its input, and one that is stopped", async () => {
  await Promise.all(
    ["plain", "stays", "stopped"].map(async (manner) => {
      const { worker, keeper, server } = await started(manner);
      if (manner === "stopped") process.kill(server, "SIGSTOP");
      worker.kill("SIGKILL");
      await eventually(() => !isAlive(server) && !isAlive(keeper));
      expect([manner, isAlive(server)]).toEqual([manner, false]);
    }),
  );
});

test("a server hears nothing of the signals of a terminal, which are meant for its worker", async () => {
  const { worker, keeper, server, lines } = await started("plain");
  for (const signal of ["SIGINT", "SIGHUP", "SIGQUIT"] as const) process.kill(keeper, signal);
  worker.kill("SIGKILL");
  await eventually(() => !isAlive(server));
  expect(lines()).toContain("ended"); // by the end of its input
});
