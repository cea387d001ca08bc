import { mkdir, readdir, rename, rm, symlink, writeFile } from "node:fs/promises";
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

describe("a link in the place of a folder of a backup is not followed:", () => {
  /** Somebody else's, in which folders lie that no backup has named. */
  const elsewhere = async (): Promise<string> => {
    const dir = join(world.dir, "elsewhere");
    for (const name of ["projects/mine", "packages/mine", "mine"]) {
      await mkdir(join(dir, name), { recursive: true });
      await writeFile(join(dir, name, "work.txt"), "mine");
    }
    return dir;
  };

  test("nothing is made where it leads", async () => {
    const dir = await elsewhere();
    const before = await readdir(dir, { recursive: true });
    await mkdir(world.backup);
    await symlink(dir, join(world.backup, "parts"));
    await expect(backUpTo(world.backup)).rejects.toThrow(/parts is a link/);
    expect(await readdir(dir, { recursive: true })).toEqual(before);
  });

  test.each(["packages", "projects"])("nothing is removed where %s leads", async (kind) => {
    const dir = await elsewhere();
    const before = await readdir(dir, { recursive: true });
    for (const each of ["packages", "projects"]) {
      await rename(join(world.store.dir, each), join(world.dir, `once-${each}`));
    }
    await backUpTo(world.backup); // of a store that has neither
    await rm(join(world.backup, "parts", kind), { recursive: true, force: true });
    await symlink(dir, join(world.backup, "parts", kind));
    await expect(backUpTo(world.backup)).rejects.toThrow(new RegExp(`${kind} is a link`));
    expect(await readdir(dir, { recursive: true })).toEqual(before);
  });
});
