import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect, onTestFinished, test, vi } from "vitest";
import { mayLive, workerIdentity } from "../../src/worker/worker-identity.js";

test.runIf(process.platform === "linux")(
  "a worker of this machine counts while its process runs: not while it is stopped, and not once it has ended",
  async () => {
    const child = spawn("sleep", ["60"]);
    onTestFinished(() => void child.kill("SIGKILL"));
    await once(child, "spawn");
    const identity = workerIdentity().replace(/^\d+/u, String(child.pid));

    expect(mayLive(identity)).toBe(true);
    child.kill("SIGSTOP");
    await vi.waitFor(() => expect(mayLive(identity)).toBe(false), 60_000);
    child.kill("SIGCONT");
    await vi.waitFor(() => expect(mayLive(identity)).toBe(true), 60_000);
    child.kill("SIGKILL");
    await once(child, "exit");
    expect(mayLive(identity)).toBe(false);
  },
);

test("a worker of another machine may live, whatever its process id", () => {
  expect(mayLive("999999@elsewhere/12345678")).toBe(true);
});
