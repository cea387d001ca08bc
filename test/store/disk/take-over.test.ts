import { closeSync, openSync, readdirSync, statSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { tryLock } from "fs-native-extensions";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { turnsDuring } from "../../fakes/other-work.js";
import { temporaryDirectory } from "../../fakes/package-fixture.js";

const CONVERSATIONS = 60;

let dir: string;
let stopped: number | undefined;
beforeEach(async () => {
  dir = await temporaryDirectory();
  await mkdir(join(dir, "conversation"));
  for (let visit = 1; visit <= CONVERSATIONS; visit += 1) {
    await writeFile(join(dir, "conversation", `visit-${visit}.jsonl`), "{}\n");
  }
  stopped = openSync(join(dir, "conversation.lock"), "a");
  tryLock(stopped); // a process that was stopped while it held the lock
});
afterEach(() => {
  if (stopped !== undefined) closeSync(stopped);
});

/** The files of the run as a process has them that has just started: nothing of an earlier one is in its memory. */
async function inNewProcess() {
  vi.resetModules();
  const { RunFiles } = await import("../../../src/store/runs/run-files.js");
  return new RunFiles(dir);
}

/** Who a conversation is, on disk: a copy in its place is another one. */
function identities(): readonly number[] {
  const names = readdirSync(join(dir, "conversation")).toSorted();
  return names.map((name) => statSync(join(dir, "conversation", name)).ino);
}

test("a run's conversations are taken over once, not by each process that comes later", async () => {
  const before = identities();
  await (await inNewProcess()).fence();
  const taken = identities();
  expect(taken.filter((inode, index) => inode === before[index])).toEqual([]);
  for (let process = 0; process < 3; process += 1) {
    const files = await inNewProcess();
    await files.conversation("visit-1").append([{ type: "user", id: `${process}`, nodeId: "a", text: "x" }]);
  }
  expect(identities()).toEqual(taken);
});

test("while conversations are taken over, the process does other work", async () => {
  const files = await inNewProcess();
  expect(await turnsDuring(() => files.fence())).toBeGreaterThan(CONVERSATIONS / 8);
});

test("a takeover that was cut short is done by the next process", async () => {
  const { FencedLock } = await import("../../../src/store/disk/fenced-lock.js");
  const lockFile = join(dir, "conversation.lock");
  const lock = new FencedLock(lockFile, () => Promise.reject(new Error("the machine is off")));
  await expect(lock.fence()).rejects.toThrow("the machine is off");
  const before = identities();
  await (await inNewProcess()).fence();
  expect(identities().filter((inode, index) => inode === before[index])).toEqual([]);
});
