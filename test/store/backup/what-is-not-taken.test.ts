import { chmod, mkdir, readFile, readdir, rename, rm, rmdir, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { backupStore } from "../../../src/store/backup/backup-store.js";
import type { BackupReport } from "../../../src/store/backup/one-backup.js";
import { restoreStore } from "../../../src/store/backup/restore-store.js";
import { collectGarbage } from "../../../src/store/collect-garbage.js";
import { openStore } from "../../../src/store/store.js";
import { withoutRights } from "../../fakes/unprivileged.js";
import { type BackupWorld, essence, openBackupWorld } from "./backup-world.js";

let world: BackupWorld;
let other: string;
beforeEach(async () => {
  world = await openBackupWorld();
  other = await world.newRun();
  await takeBackup();
});

const takeBackup = (): Promise<BackupReport> => backupStore(world.store.dir, world.backup);
const runPart = (runId: string) => expect.stringMatching(new RegExp(`^projects/.*/runs/${runId}$`));

/** What is restored is what the store was before. */
async function expectFormer(before: Record<string, string>): Promise<void> {
  const to = join(world.dir, "there");
  await restoreStore(world.backup, to);
  expect(await essence(to)).toEqual(before);
}

describe("what a backup could not take is named, and its former backup stays", () => {
  test("a run that the index lists and whose folder is missing", async () => {
    const before = await essence(world.store.dir);
    await rm(world.runDir, { recursive: true });
    const { notTaken, runs } = await takeBackup();
    expect(notTaken).toMatchObject([{ part: runPart(world.runId), why: expect.stringContaining("missing") }]);
    expect(runs).toBe(2);
    await expectFormer(before);
  });

  test.each(["packages", "projects"])("the folder of all %s, missing", async (name) => {
    const before = await essence(world.store.dir);
    await rename(join(world.store.dir, name), join(world.dir, "away"));
    const { notTaken } = await takeBackup();
    expect(notTaken).toMatchObject([{ part: name, why: expect.stringContaining("missing") }]);
    await expectFormer(before);
  });

  test("the runs of a project whose index is missing", async () => {
    const before = await essence(world.store.dir);
    await rm(join(dirname(dirname(world.runDir)), "runs.jsonl"));
    const { notTaken } = await takeBackup();
    expect(notTaken).toMatchObject([{ why: expect.stringContaining("runs.jsonl is missing") }]);
    await expectFormer(before);
  });

  test("a run whose document, or whose folder, a link has replaced", async () => {
    const before = await essence(world.store.dir);
    for (const path of [join(world.runDir, "state", "workflow.md"), world.runDir]) {
      await rename(path, join(world.dir, "away"));
      await symlink(join(world.dir, "away"), path);
      const { notTaken } = await takeBackup();
      expect(notTaken).toMatchObject([
        { part: runPart(world.runId), why: expect.stringContaining("is a link") },
      ]);
      await rm(path);
      await rename(join(world.dir, "away"), path);
    }
    await expectFormer(before);
  });

  test.runIf(process.platform === "linux")(
    "a run with a file or a folder whose name is no UTF-8",
    async () => {
      const before = await essence(world.store.dir);
      const path = Buffer.concat([Buffer.from(join(world.runDir, "state/bad")), Buffer.from([0xff])]);
      const why: unknown = expect.stringContaining("is named in no UTF-8");
      await writeFile(path, "x");
      expect((await takeBackup()).notTaken).toMatchObject([{ part: runPart(world.runId), why }]);
      await rm(path);
      await mkdir(path);
      expect((await takeBackup()).notTaken).toMatchObject([{ part: runPart(world.runId), why }]);
      await rmdir(path);
      await expectFormer(before);
    },
  );

  test("a package or a project that is no folder any more", async () => {
    const before = await essence(world.store.dir);
    const places = [join(world.store.dir, "packages", world.packageId), dirname(dirname(world.runDir))];
    for (const path of places) {
      await rename(path, join(world.dir, "away"));
      await writeFile(path, "");
      expect((await takeBackup()).notTaken).toHaveLength(1);
      await rm(path);
      await rename(join(world.dir, "away"), path);
    }
    await expectFormer(before);
  });

  test("a run of which one file cannot be read; the rest is taken", async () => {
    const path = join(world.runDir, "calls.jsonl");
    await writeFile(path, "");
    await takeBackup();
    const before = await essence(world.store.dir);
    await chmod(path, 0o000);
    const files = await world.filesOf(other);
    await writeFile(join(files.dir, "state", "news.md"), "news\n");
    const { notTaken } = await withoutRights(world.dir, takeBackup);
    expect(notTaken).toMatchObject([
      { part: runPart(world.runId), why: `${path} cannot be read (EACCES): check its permissions.` },
    ]);
    const news = join(files.dir, "state", "news.md").slice(world.store.dir.length + 1);
    await expectFormer({ ...before, [news]: "news\n" });
  });

  test("a project whose folder cannot be read", async () => {
    const before = await essence(world.store.dir);
    await chmod(dirname(dirname(world.runDir)), 0o000);
    const { notTaken, runs } = await withoutRights(world.dir, takeBackup);
    expect([notTaken.length, runs]).toEqual([1, 2]);
    await expectFormer(before);
  });

  test("a package whose folder cannot be read, and that no former backup has; the rest is taken", async () => {
    await chmod(join(world.store.dir, "packages", world.packageId), 0o000);
    const { notTaken, runs, packages } = await withoutRights(world.dir, () =>
      backupStore(world.store.dir, join(world.dir, "elsewhere")),
    );
    expect(notTaken).toMatchObject([{ part: `packages/${world.packageId}` }]);
    expect([runs, packages]).toEqual([2, 0]);
  });

  test("but the store's own files: without them it would be no store", async () => {
    const [path, before] = [join(world.store.dir, "store.json"), await essence(world.store.dir)];
    await rm(join(world.store.dir, "roots.json"));
    await mkdir(join(world.store.dir, "starts"));
    await symlink(path, join(world.store.dir, "starts", `${"0".repeat(32)}.json`));
    expect((await takeBackup()).notTaken).toMatchObject([{ part: "store" }]);
    await expectFormer(before);
    const elsewhere = join(world.dir, "elsewhere");
    await expect(backupStore(world.store.dir, elsewhere)).rejects.toThrow(/is a link.*Remove it/);
    expect(await readdir(elsewhere)).not.toContain("manifest.json");
  });
});

describe("a stray file beside the folders of a store", () => {
  beforeEach(async () => {
    await writeFile(join(world.store.dir, "packages", "README"), "");
    await writeFile(join(world.store.dir, "projects", "notes"), "");
  });

  test("is in no backup, and stops none", async () => {
    expect((await takeBackup()).notTaken).toEqual([]);
    const { "packages/README": one, "projects/notes": two, ...rest } = await essence(world.store.dir);
    expect([one, two]).toEqual(["", ""]);
    await expectFormer(rest);
  });

  test("stops neither the listing of runs nor the collection of garbage", async () => {
    const store = await openStore(world.store.dir);
    expect(await collectGarbage(store, { before: new Date(0), stays: false })).toMatchObject({
      packages: [],
    });
    expect(await store.runs.listAllRuns()).toHaveLength(2);
    expect(await readFile(join(world.store.dir, "projects", "notes"), "utf8")).toBe("");
  });
});
