import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { listensOn, processIdentity, sharesNetwork } from "../../src/embedded/process-identity.js";
import { listen } from "../fakes/listen.js";

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

test.runIf(process.platform === "linux")(
  "a process in a network of its own is told from one in ours: what answers here at its address is a stranger",
  async (context) => {
    const asRoot = process.getuid?.() === 0 ? [] : ["--user", "--map-root-user"];
    const command = [...asRoot, "--net", "sh", "-c", "echo there; exec sleep 60"];
    const elsewhere = spawn("unshare", command, { stdio: ["ignore", "pipe", "ignore"] });
    onTestFinished(() => void elsewhere.kill("SIGKILL"));
    const said = await Promise.race([once(elsewhere.stdout, "data"), once(elsewhere, "exit")]);
    if (String(said[0]) !== "there\n") {
      if (process.env["CI"] !== undefined) throw new Error("CI must be able to make namespaces");
      context.skip("NOT RUN: this system makes no namespaces");
    }
    expect([sharesNetwork(elsewhere.pid ?? 0), sharesNetwork(process.ppid)]).toEqual([false, true]);
  },
);

test.runIf(process.platform === "linux")(
  "a listening port is told to be of a process or its group",
  async () => {
    const program = `require("net").createServer().listen(0, "127.0.0.1", function () { console.log(this.address().port); })`;
    const lead = (script: string) => {
      const leader = spawn("/bin/sh", ["-c", script, process.execPath], { detached: true });
      onTestFinished(() => {
        process.kill(-(leader.pid ?? 0), "SIGKILL");
      });
      return leader;
    };
    const front = lead(`"$0" -e '${program}'; exit $?`);
    const stranger = lead("sleep 60");
    const [line] = (await once(front.stdout, "data")) as [Buffer];
    const port = Number(line.toString());
    expect(await listensOn(front.pid ?? 0, port)).toBe(true);
    expect(await listensOn(stranger.pid ?? 0, port)).toBe(false);

    const own = await listen(createServer());
    expect(await listensOn(process.pid, own)).toBe(true);
    expect(await listensOn(front.pid ?? 0, own)).toBe(false);
  },
);
