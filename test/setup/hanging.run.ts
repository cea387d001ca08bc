import { spawn } from "node:child_process";
import { renameSync, writeFileSync } from "node:fs";
import { expect, test } from "vitest";

test("starts a process that outlives its parent, says where all this is, and goes on for ever", async () => {
  const child = spawn(process.execPath, ["-e", "setInterval(() => undefined, 1000)"], {
    detached: true,
    stdio: "ignore",
  });
  const told = process.env["INTERLOCK_TEST_TOLD"] ?? "";
  const folder = process.env["TMPDIR"];
  writeFileSync(`${told}.tmp`, JSON.stringify({ folder, pids: [process.pid, child.pid] }));
  renameSync(`${told}.tmp`, told);
  await expect(new Promise(() => undefined)).resolves.toBe("never");
});
