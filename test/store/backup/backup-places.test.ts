import { readdir, symlink } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { backupStore } from "../../../src/store/backup/backup-store.js";
import { type BackupWorld, openBackupWorld } from "./backup-world.js";

let world: BackupWorld;
beforeEach(async () => {
  world = await openBackupWorld();
});

const backUpTo = (dir: string) => backupStore(world.store.dir, dir);

describe("a folder for a backup that is not there yet", () => {
  test("is none in the store, by way of a link to it neither", async () => {
    const link = join(world.dir, "link");
    await symlink(world.store.dir, link);
    const before = await readdir(world.store.dir);
    for (const dir of [join(link, "new"), join(link, "new", "folder"), join(world.store.dir, "new")]) {
      await expect(backUpTo(dir)).rejects.toThrow(/A backup lies outside of its store.*Name another folder/);
    }
    expect(await readdir(world.store.dir)).toEqual(before);
  });

  test("may lie below others that are not there yet either", async () => {
    expect((await backUpTo(join(world.dir, "a", "b", "c"))).runs).toBe(1);
  });
});
