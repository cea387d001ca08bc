import { lstatSync } from "node:fs";
import { readFile, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { backupStore } from "../../../src/store/backup/backup-store.js";
import { restoreStore } from "../../../src/store/backup/restore-store.js";
import { collectGarbage } from "../../../src/store/collect-garbage.js";
import { openStore } from "../../../src/store/store.js";
import { validPackage, writePackage } from "../../fakes/package-fixture.js";
import { valueOf } from "../../fakes/run-world.js";
import { type BackupWorld, exchangeList, openBackupWorld } from "./backup-world.js";

const OLD = new Date("2020-01-01T00:00:00.000Z");
const OLDER = new Date("2019-01-01T00:00:00.000Z");

let world: BackupWorld;
beforeEach(async () => {
  world = await openBackupWorld();
});

const takeBackup = () => backupStore(world.store.dir, world.backup);

/** Another build of the version that is there. */
async function install(words: string): Promise<string> {
  const files = { ...validPackage(), "notes.md": words };
  return valueOf(await world.store.packages.install(await writePackage(join(world.dir, words), files)))
    .packageId;
}

async function restored() {
  const to = join(world.dir, "there");
  await restoreStore(world.backup, to);
  return openStore(to);
}

describe("a restored store", () => {
  /** Two builds beside the one that has a run, as they are sorted. */
  async function twoBuilds(...times: readonly [Date, Date]): Promise<readonly [string, string]> {
    const [first = "", second = ""] = [await install("one"), await install("two")].sort();
    const ages = [[world.packageId, OLDER] as const, [first, times[0]] as const, [second, times[1]] as const];
    for (const [id, time] of ages) await utimes(join(world.store.dir, "packages", id), time, time);
    return [first, second];
  }

  test("runs the build of a package that was installed last, and removes none but the older one", async () => {
    const [newer, older] = await twoBuilds(OLD, OLDER);
    await takeBackup();
    const store = await restored();
    expect(valueOf(await store.packages.resolve("Tiny Story"))).toBe(newer);
    const { packages } = await collectGarbage(store, { before: new Date("2021-01-01"), stays: false });
    expect(packages).toEqual([older]);
  });

  test("knows when a package was installed that was removed and installed again since its backup", async () => {
    const [again] = await twoBuilds(OLDER, OLD);
    await takeBackup();
    valueOf(await world.store.packages.remove(again));
    for (const words of ["one", "two"]) if (!(await world.store.packages.has(again))) await install(words);
    await takeBackup();
    expect(valueOf(await (await restored()).packages.resolve("Tiny Story"))).toBe(again);
  });

  test("says since when a run waits", async () => {
    const status = join(world.runDir, "status.json");
    await writeFile(status, "{}\n");
    await utimes(status, OLD, OLD);
    await takeBackup();
    const store = await restored();
    const { projectId } = valueOf(await store.runs.findRun(world.runId));
    const path = join(store.dir, "projects", projectId, "runs", world.runId, "status.json");
    expect(lstatSync(path).mtime).toEqual(OLD);
  });
});

test("a backup of an earlier version, without times, is restored, and gets them with the next backup", async () => {
  await utimes(join(world.store.dir, "packages", world.packageId), OLD, OLD);
  await utimes(join(world.runDir, "state", "workflow.md"), OLD, OLD);
  await takeBackup();
  for (const kind of ["packages/", "/runs/"]) {
    await exchangeList(
      world.backup,
      (part) => part.includes(kind),
      (list) => list.replaceAll(/,"mtimeMs":[0-9.]+/g, ""),
    );
  }
  await restoreStore(world.backup, join(world.dir, "early"));
  expect((await takeBackup()).copied).toEqual({ pieces: 0, bytes: 0 });
  const store = await restored();
  expect(lstatSync(join(store.dir, "packages", world.packageId)).mtime).toEqual(OLD);
  const { projectId } = valueOf(await store.runs.findRun(world.runId));
  const run = join(store.dir, "projects", projectId, "runs", world.runId);
  expect(lstatSync(join(run, "state", "workflow.md")).mtime).toEqual(OLD);
  expect(await readFile(join(run, "state", "workflow.md"), "utf8")).not.toBe("");
});

test("a backup of an earlier version, whose lists name no folders, is restored", async () => {
  await takeBackup();
  for (const kind of [/^store$/, /^packages/, /^projects\/[^/]+$/, /\/runs\//]) {
    await exchangeList(
      world.backup,
      (part) => kind.test(part),
      (list) => list.replaceAll(/,"mtimeMs":[0-9.]+/g, "").replace(/,"folders":\[[^\]]*\]/, ""),
    );
  }
  const store = await restored();
  const { projectId } = valueOf(await store.runs.findRun(world.runId));
  const files = valueOf(await store.runs.openFiles(projectId, world.runId));
  expect(await files.state.read()).toMatchObject({ ok: true });
  expect(await store.packages.open(world.packageId)).toMatchObject({ ok: true });
});
