import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { backupStore } from "../../../src/store/backup/backup-store.js";
import { restoreStore } from "../../../src/store/backup/restore-store.js";
import { sha256 } from "../../../src/store/disk/sha256.js";
import { openStore } from "../../../src/store/store.js";
import { type BackupWorld, essence, exchangeList, openBackupWorld } from "./backup-world.js";

const DAMAGED = '{"roots":[{"path":';

let world: BackupWorld;
let to: string;
beforeEach(async () => {
  world = await openBackupWorld();
  to = join(world.dir, "there");
});

const takeBackup = () => backupStore(world.store.dir, world.backup);
const damageRoots = () => writeFile(join(world.store.dir, "roots.json"), DAMAGED);

/** All but the roots are there, and none is registered. */
async function expectNoRoots(): Promise<void> {
  expect(await restoreStore(world.backup, to)).toMatchObject({ roots: [], rootsLost: true });
  expect(await essence(to)).toEqual(await essence(world.store.dir));
  expect((await openStore(to)).roots.list()).toEqual([]);
}

describe("a store whose list of registered roots is damaged", () => {
  test("has it named by a backup, which keeps the former one", async () => {
    await takeBackup();
    await damageRoots();
    const { notTaken } = await takeBackup();
    expect(notTaken).toMatchObject([{ part: "store", why: expect.stringMatching(/roots\.json is damaged/) }]);
    const { roots, rootsLost } = await restoreStore(world.backup, to);
    expect([roots, rootsLost]).toEqual([[world.projectRoot], false]);
  });

  test("is restored with its roots where one of them says when it was registered in words", async () => {
    const path = join(world.store.dir, "roots.json");
    const text = await readFile(path, "utf8");
    await writeFile(path, text.replace(/"registeredAt": "[^"]*"/, '"registeredAt": "by hand"'));
    await takeBackup();
    expect(await restoreStore(world.backup, to)).toMatchObject({ roots: [world.projectRoot] });
  });

  test("is backed up without it where no former backup has it, and restored so", async () => {
    await damageRoots();
    const { notTaken } = await takeBackup();
    expect(notTaken).toMatchObject([{ part: "roots.json" }]);
    await expectNoRoots();
  });

  test("is restored from the backup of an earlier version, which had taken it as it was", async () => {
    await takeBackup();
    const good = await readFile(join(world.store.dir, "roots.json"), "utf8");
    await writeFile(join(world.backup, "parts", "store", sha256(DAMAGED)), DAMAGED);
    await exchangeList(
      world.backup,
      (part) => part === "store",
      (list) =>
        list
          .replace(sha256(good), sha256(DAMAGED))
          .replace(`"bytes":${good.length}`, `"bytes":${DAMAGED.length}`)
          .replaceAll(/,"stamp":"[^"]*"/g, ""), // of files that are others now
    );
    await expectNoRoots();
    await rm(to, { recursive: true });
    await takeBackup();
    expect((await restoreStore(world.backup, to)).roots).toEqual([world.projectRoot]);
  });
});
