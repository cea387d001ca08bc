import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile, readdir, writeFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { backupStore } from "../../../src/store/backup/backup-store.js";
import { restoreStore } from "../../../src/store/backup/restore-store.js";
import { eventually } from "../../fakes/eventually.js";
import { jsonLines } from "../../fakes/run-world.js";
import { compileForChildren } from "../../tools/compiled.js";
import { type BackupWorld, essence, filesBelow, openBackupWorld } from "./backup-world.js";

/** Backs up, or restores, and dies at one of its renames. */
const CHILD = `
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
const [kind, from, to, nth] = process.argv.slice(2);
let left = Number(nth);
const { renameSync } = fs;
fs.renameSync = (...paths) => {
  left -= 1;
  if (left === 0) process.kill(process.pid, "SIGKILL");
  renameSync(...paths);
};
syncBuiltinESMExports();
const { backupStore } = await import("./store/backup/backup-store.js");
const { restoreStore } = await import("./store/backup/restore-store.js");
await (kind === "backup" ? backupStore : restoreStore)(from, to);
`;

/** A run that goes on: a line in a log, then its number in a file, and so on. */
const WRITER = `
import { AppendLog } from "./store/disk/append-log.js";
import { writeFileAtomic } from "./store/disk/atomic-file.js";
import { setTimeout as pause } from "node:timers/promises";
const dir = process.argv[2];
const log = new AppendLog(dir + "/calls.jsonl", dir + "/calls.lock", () => undefined);
for (let n = 1; ; n += 1) {
  await log.append(() => [{ id: "call-" + n, result: {} }]);
  await pause(1);
  await writeFileAtomic(dir + "/status.json", String(n));
  await pause(1);
  if (n === 20) console.log("goes");
}
`;

describe("beside a process that writes, or killed in the middle", () => {
  let compiled: ReturnType<typeof compileForChildren>;
  let world: BackupWorld;
  let backup: string;
  let runId: string;
  beforeAll(async () => {
    compiled = compileForChildren("src/store/backup/backup-store.ts", "src/store/backup/restore-store.ts");
    await writeFile(join(compiled.directory, "child.js"), CHILD);
    await writeFile(join(compiled.directory, "writer.js"), WRITER);
  });
  afterAll(() => compiled.remove());

  beforeEach(async () => {
    world = await openBackupWorld();
    ({ backup, runId } = world);
  });

  /** What the writer has written last. */
  async function numberOf(dir: string): Promise<number> {
    return Number(await readFile(join(dir, "status.json"), "utf8"));
  }

  /** Whether it came to its end. */
  async function dieAt(kind: string, from: string, to: string, nth: number): Promise<boolean> {
    const child = spawn(
      process.execPath,
      [join(compiled.directory, "child.js"), kind, from, to, String(nth)],
      {
        stdio: ["ignore", "ignore", "inherit"],
      },
    );
    const [code] = (await once(child, "close")) as [number | null];
    return code === 0;
  }

  test("a backup holds each run as it stood at one moment, whatever the run writes meanwhile", async () => {
    const writer = spawn(process.execPath, [join(compiled.directory, "writer.js"), world.runDir]);
    onTestFinished(async () => {
      writer.kill("SIGKILL");
      await once(writer, "exit");
    });
    await once(writer.stdout, "data");
    const seen = new Set<number>();
    for (let nth = 0; nth < 10; nth += 1) {
      const now = await numberOf(world.runDir);
      await eventually(async () => (await numberOf(world.runDir)) > now); // else a busy machine has the writer wait
      expect((await backupStore(world.store.dir, backup)).notTaken).toEqual([]);
      const to = join(world.dir, `there-${nth}`);
      await restoreStore(backup, to);
      const dir = join(to, relative(world.store.dir, world.runDir));
      const calls = (await jsonLines(join(dir, "calls.jsonl"))).length;
      expect([0, 1]).toContain(calls - (await numberOf(dir)));
      seen.add(calls);
    }
    expect(seen.size).toBe(10);
  });

  test("a backup leaves the former one whole, whatever it was about to do, and the next one is complete", async () => {
    await backupStore(world.store.dir, backup);
    const before = await essence(world.store.dir);
    const files = await world.filesOf(runId);
    await files.audit.record({ kind: "tool.exec", toolCallId: "two" }, new Date());
    await world.newRun();
    let nth = 1;
    for (; !(await dieAt("backup", world.store.dir, backup, nth)); nth += 2) {
      const to = join(world.dir, `there-${nth}`);
      await restoreStore(backup, to);
      expect(await essence(to)).toEqual(before);
    }
    expect(nth).toBeGreaterThan(5);
    const to = join(world.dir, "there");
    await restoreStore(backup, to);
    expect(await essence(to)).toEqual(await essence(world.store.dir));
    expect((await filesBelow(backup)).filter((path) => path.includes(".tmp-"))).toEqual([]);
  });

  test("a restore leaves no store that is half of one", async () => {
    await backupStore(world.store.dir, backup);
    let nth = 1;
    for (; !(await dieAt("restore", backup, join(world.dir, `there-${nth}`), nth)); nth += 1) {
      const to = join(world.dir, `there-${nth}`);
      expect(await readdir(to)).not.toContain("store.json");
      await expect(restoreStore(backup, to)).rejects.toThrow(/cut short/);
    }
    expect(nth).toBeGreaterThan(2);
    expect(await essence(join(world.dir, `there-${nth}`))).toEqual(await essence(world.store.dir));
  });
});
