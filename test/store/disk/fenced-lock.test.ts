import { fork } from "node:child_process";
import { once } from "node:events";
import { appendFile, readFile, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { AppendLog } from "../../../src/store/disk/append-log.js";
import { LockLost, withFileLock } from "../../../src/store/disk/fenced-lock.js";
import { openStateFile } from "../../../src/store/runs/state-file.js";
import { sha256 } from "../../../src/store/disk/sha256.js";
import { temporaryDirectory } from "../../fakes/package-fixture.js";
import { compileForChildren } from "../../tools/compiled.js";

/** A process that takes a lock, says so, is stopped while it holds it, and tells what becomes of its work. */
const HOLDER = `
import { withFileLock } from "./store/disk/fenced-lock.js";
const outcome = await withFileLock(process.argv[2], async (lock) => {
  const woken = new Promise((resolve) => process.once("message", resolve));
  process.send("holding");
  await woken;
  return lock.isHeld();
}).catch((error) => error.message);
process.send({ outcome });
process.disconnect();
`;

let compiled: ReturnType<typeof compileForChildren>;
let dir: string;
let lockFile: string;
beforeAll(async () => {
  compiled = compileForChildren("src/store/disk/fenced-lock.ts");
  await writeFile(join(compiled.directory, "holder.js"), HOLDER);
});
afterAll(() => compiled.remove());
beforeEach(async () => {
  dir = await temporaryDirectory();
  lockFile = join(dir, "x.lock");
});

async function startHolder() {
  const child = fork(join(compiled.directory, "holder.js"), [lockFile]);
  await once(child, "message");
  return child;
}

test("a lock whose holder was stopped is taken over once, and the holder finds that it has lost it", async () => {
  const holder = await startHolder();
  holder.kill("SIGSTOP");
  const takeOvers: string[] = [];
  const order: string[] = [];
  const locked = (name: string) =>
    withFileLock(
      lockFile,
      async (lock) => {
        lock.assertHeld();
        order.push(name);
      },
      () => {
        takeOvers.push(name);
      },
    );
  await locked("first");
  await locked("second");
  holder.kill("SIGCONT");
  holder.send("wake up");
  const [message] = (await once(holder, "message")) as [unknown];
  expect(message).toEqual({ outcome: false });
  expect(order).toEqual(["first", "second"]);
  expect(takeOvers).toEqual(["first"]);
  expect((await readdir(dir)).sort()).toEqual(["x.lock", "x.lock.1", "x.lock.1.done"]);
});

test("a lock that cannot be taken over is waited for", async () => {
  const holder = await startHolder();
  holder.kill("SIGSTOP");
  const waiting = withFileLock(lockFile, async () => "mine at last");
  await withFileLock(join(dir, "other.lock"), async () => undefined);
  holder.kill("SIGCONT");
  holder.send("wake up");
  expect(await waiting).toBe("mine at last");
  expect(await readdir(dir)).not.toContain("x.lock.1");
});

/** What a takeover by another process leaves: the next generation of the lock. */
const takeOver = () => appendFile(`${lockFile}.1`, "");

test("who has lost the lock appends nothing, and what it has open is nobody's any more", async () => {
  const path = join(dir, "log.jsonl");
  const lines: string[] = [];
  const mine = new AppendLog(path, lockFile, () => undefined);
  await mine.append(() => [{ n: 1 }]);
  await expect(
    withFileLock(lockFile, async (lock) => {
      await takeOver();
      await new AppendLog(path, join(dir, "log.lock"), () => undefined).append(() => [{ n: 2 }], lock);
    }),
  ).rejects.toThrow(LockLost);
  const other = new AppendLog(path, lockFile, (line) => lines.push(line.toString("utf8")));
  await other.append(() => [{ n: 3 }]);
  expect(lines).toEqual(['{"n":1}', '{"n":3}']);
  expect(await readFile(path, "utf8")).toBe('{"n":1}\n{"n":3}\n');
});

test("who has lost the lock replaces no state document, and leaves nothing beside it", async () => {
  const path = join(dir, "workflow.md");
  await writeFile(path, "old");
  await expect(
    withFileLock(lockFile, async (lock) => {
      await takeOver();
      await openStateFile(dir).replace(sha256("old"), Buffer.from("late"), lock);
    }),
  ).rejects.toThrow(LockLost);
  expect(await readFile(path, "utf8")).toBe("old");
  expect((await readdir(dir)).sort()).toEqual(["workflow.md", "x.lock", "x.lock.1"]);
});
