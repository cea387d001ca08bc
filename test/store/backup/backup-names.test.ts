import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { backupStore } from "../../../src/store/backup/backup-store.js";
import { isPlainPath } from "../../../src/store/backup/backup-format.js";
import { restoreStore } from "../../../src/store/backup/restore-store.js";
import { type BackupWorld, essence, exchangeList, openBackupWorld } from "./backup-world.js";

let world: BackupWorld;
beforeEach(async () => {
  world = await openBackupWorld();
});

const takeBackup = () => backupStore(world.store.dir, world.backup);

describe.skipIf(process.platform === "win32")("a name with a backslash", () => {
  test("is backed up and restored, in a run and in the name of a package's folder", async () => {
    await writeFile(join(world.runDir, "state", "notes\\extra.md"), "more\n");
    await mkdir(join(world.runDir, "state", "a\\b"));
    await mkdir(join(world.store.dir, "packages", "my\\pkg"));
    await writeFile(join(world.store.dir, "packages", "my\\pkg", "bmad.json"), "{}\n");
    await takeBackup();
    expect((await takeBackup()).copied).toEqual({ pieces: 0, bytes: 0 });
    const to = join(world.dir, "there");
    await restoreStore(world.backup, to);
    expect(await essence(to)).toEqual(await essence(world.store.dir));
  });
});

describe("a path in a backup", () => {
  test.each(["", "a//b", "/a", "a/", ".", "../a", "a/../b", "a/./b", "a\0b"])("is never %j", (path) => {
    expect(isPlainPath(path)).toBe(false);
  });

  test("has no backslash and no colon on Windows, where they lead elsewhere", () => {
    expect(isPlainPath("a\\b", "linux")).toBe(true);
    for (const path of ["a\\b", "..\\b", "C:", "a:b"]) expect(isPlainPath(path, "win32")).toBe(false);
  });
});

describe("a list of files that cannot be understood", () => {
  test.each(["{", '{"files":[],"folders":["../../elsewhere"]}'])(
    "is a damaged one: %s is named by a restore, and the next backup mends it",
    async (list) => {
      await takeBackup();
      const part = await exchangeList(
        world.backup,
        (name) => name.includes("/runs/"),
        () => list,
      );
      const to = join(world.dir, "there");
      await expect(restoreStore(world.backup, to)).rejects.toThrow(`the list of files of ${part}`);
      await takeBackup();
      await restoreStore(world.backup, to);
      expect(await essence(to)).toEqual(await essence(world.store.dir));
    },
  );
});
