import { chmod, mkdir, readFile, readdir, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { backupStore } from "../../../src/store/backup/backup-store.js";
import { restoreStore } from "../../../src/store/backup/restore-store.js";
import { withFileLock } from "../../../src/store/disk/fenced-lock.js";
import { openStore } from "../../../src/store/store.js";
import { withoutRights } from "../../fakes/unprivileged.js";
import { type BackupWorld, essence, filesBelow, openBackupWorld } from "./backup-world.js";

let world: BackupWorld;
let to: string;
beforeEach(async () => {
  world = await openBackupWorld();
  to = join(world.dir, "there");
  await backupStore(world.store.dir, world.backup);
});

describe("a restore", () => {
  test("waits for a backup that is being taken: it names nothing as damaged that is only not there yet", async () => {
    const path = (await filesBelow(join(world.backup, "parts"))).at(0) ?? "";
    const outcomes: string[] = [];
    const restored = await withFileLock(join(world.backup, "backup.lock"), async () => {
      await rename(path, `${path}.away`);
      const restoring = restoreStore(world.backup, to).then(
        () => outcomes.push("restored"),
        (error: unknown) => outcomes.push(String(error)),
      );
      for (let turn = 0; turn < 500 && outcomes.length === 0; turn += 1) await readdir(world.backup);
      await rename(`${path}.away`, path);
      expect(outcomes).toEqual([]);
      return { restoring };
    });
    await restored.restoring;
    expect(outcomes).toEqual(["restored"]);
    expect(await essence(to)).toEqual(await essence(world.store.dir));
  });

  test("is made from a backup that cannot be written to: nobody brings that one up to date", async () => {
    const before = await essence(world.store.dir);
    const folders = (await readdir(world.backup, { recursive: true, withFileTypes: true }))
      .filter((entry) => entry.isDirectory())
      .map((entry) => join(entry.parentPath, entry.name));
    await withoutRights(world.dir, async () => {
      await chmod(join(world.backup, "backup.lock"), 0o400);
      for (const folder of [...folders, world.backup]) await chmod(folder, 0o500);
      await restoreStore(world.backup, to);
    });
    for (const folder of [world.backup, ...folders]) await chmod(folder, 0o700);
    expect(await essence(to)).toEqual(before);
  });

  test("is refused in a backup and in a store, also by way of a folder that is not there yet", async () => {
    const other = await openStore(join(world.dir, "other"));
    const places = [
      [join(world.backup, "parts", "x"), /lies in a backup.*Name a folder outside of it/],
      [join(world.backup, "new", "folder"), /lies in a backup.*Name a folder outside of it/],
      [join(world.store.dir, "projects", "x"), /lies in a store.*Name a folder outside of it/],
      [join(other.dir, "new", "folder"), /lies in a store.*Name a folder outside of it/],
    ] as const;
    const before = [await readdir(world.backup), await readdir(other.dir)];
    for (const [place, why] of places) await expect(restoreStore(world.backup, place)).rejects.toThrow(why);
    expect([await readdir(world.backup), await readdir(other.dir)]).toEqual(before);
  });

  test("is not refused beside other folders that have a file store.json or manifest.json", async () => {
    const place = join(world.dir, "site");
    await mkdir(place);
    await writeFile(join(place, "store.json"), "[]");
    await writeFile(join(place, "manifest.json"), "{}");
    await restoreStore(world.backup, join(place, "there"));
    expect(await readFile(join(place, "there", "store.json"), "utf8")).toContain(world.store.storeId);
  });
});
