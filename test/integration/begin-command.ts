import { spawn } from "node:child_process";
import { once } from "node:events";
import { onTestFinished } from "vitest";
import { MAIN, type Shell } from "./shell.js";

/** A command that goes on beside the test. */
export function begin(shell: Shell, args: readonly string[]) {
  const child = spawn(process.execPath, [MAIN, ...args], { env: shell.environment, cwd: shell.dir });
  child.stdin.end();
  const said = { out: "", notes: "" };
  child.stdout.on("data", (chunk: Buffer) => (said.out += chunk.toString("utf8")));
  child.stderr.on("data", (chunk: Buffer) => (said.notes += chunk.toString("utf8")));
  const closed = once(child, "close");
  onTestFinished(async () => {
    child.kill("SIGKILL");
    await closed;
  });
  return { child, said, closed };
}
