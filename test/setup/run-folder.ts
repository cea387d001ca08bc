import { execFileSync, spawn } from "node:child_process";
import { chmodSync, mkdtempSync, realpathSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { Socket } from "node:net";
import { freemem, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const KEEPER = fileURLToPath(new URL("keeper.mjs", import.meta.url));
/** A disk in memory, where there is one: what survives a power cut is no test's subject, and each sync costs time. */
const IN_MEMORY = "/dev/shm";
const ENOUGH_BYTES = 4 * 1024 ** 3;

/**
 * Gives this run of the tests a folder of its own for all temporary files, which is gone after it with every process that was
 * started in it: a keeper sees to that, however the run ends. Every project is set up with this, the first one does it.
 */
export default function setup(): void {
  if (process.env["INTERLOCK_TEST_RUN"] !== undefined) return;
  process.env["INTERLOCK_TEST_CACHE"] = testCache();
  const folder = openFolder(IN_MEMORY) ?? mkdtempSync(join(realpathSync(tmpdir()), "interlock-tests-"));
  chmodSync(folder, 0o755); // tests have other users read in it
  const keeper = spawn(process.execPath, [KEEPER, folder], {
    detached: true, // a Ctrl-C is meant for the runner
    stdio: ["pipe", "ignore", "inherit"],
  });
  keeper.unref();
  if (keeper.stdin instanceof Socket) keeper.stdin.unref(); // open for as long as this process lives
  process.env["INTERLOCK_TEST_RUN"] = folder;
  process.env["TMPDIR"] = folder;
}

/** Where the Temporal CLI is kept that the tests have fetched: from one run to the next. */
export function testCache(): string {
  return process.env["INTERLOCK_TEST_CACHE"] ?? join(tmpdir(), "interlock-test-cache");
}

/** A folder there, if there is room and programs may lie in it. */
function openFolder(base: string): string | undefined {
  let folder: string | undefined;
  try {
    const { bavail, bsize } = statfsSync(base);
    if (Math.min(bavail * bsize, freemem()) < ENOUGH_BYTES) return undefined;
    folder = mkdtempSync(join(base, "interlock-tests-"));
    writeFileSync(join(folder, "trial.sh"), "#!/bin/sh\n", { mode: 0o755 });
    execFileSync(join(folder, "trial.sh"));
    return folder;
  } catch {
    if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
    return undefined;
  }
}
