import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { listensOn, processIdentity } from "../../src/embedded/process-identity.js";

test("a living process has one identity, another process another, a dead one none", async () => {
  const child = spawn(process.execPath, ["-e", "setInterval(() => undefined, 1000)"], { stdio: "ignore" });
  await once(child, "spawn");
  const pid = child.pid!;
  const identity = processIdentity(pid);
  expect(identity).not.toBeNull();
  expect(processIdentity(pid)).toBe(identity);
  child.kill("SIGKILL");
  await once(child, "exit");
  expect(processIdentity(pid)).toBeNull();
});

test.runIf(process.platform === "linux")("a listening port is told to be of its process only", async () => {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  expect(await listensOn(process.pid, port)).toBe(true);
  expect(await listensOn(process.ppid, port)).toBe(false);
});
