import { appendFile, chmod, cp, readdir, rename, rm, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { collectGarbage } from "../../src/store/collect-garbage.js";
import { DamagedIndex } from "../../src/store/runs/run-index.js";
import { openStore } from "../../src/store/store.js";
import { keepPiece } from "../../src/store/uploads.js";
import { validPackage, writePackage } from "../fakes/package-fixture.js";
import { type RunWorld, openRunWorld, valueOf } from "../fakes/run-world.js";
import { withoutRights } from "../fakes/unprivileged.js";

const OLD = new Date("2020-01-01");
const BEFORE = new Date("2021-01-01");
const RUN_ID = "11111111-1111-4111-8111-111111111111";

/** The first version has a run, the second has none, the third is the newest. */
async function threeVersions() {
  const world = await openRunWorld(validPackage());
  const { store, projectRoot, packageId: used } = world;
  const run = valueOf(
    await store.runs.createRun({ projectRoot, packageId: used, activeAgentId: "author", runId: RUN_ID }),
  );
  const [unused, newest] = [await install(world, "two"), await install(world, "three")];
  for (const packageId of [used, unused, newest]) await age(world, packageId);
  await utimes(join(store.dir, "packages", newest), OLD, new Date(OLD.getTime() + 1_000));
  return { world, run, used, unused, newest };
}

async function install({ dir, store }: RunWorld, words: string): Promise<string> {
  const files = { ...validPackage(), "notes.md": words };
  return valueOf(await store.packages.install(await writePackage(join(dir, words), files))).packageId;
}

async function age({ store }: RunWorld, packageId: string): Promise<void> {
  await utimes(join(store.dir, "packages", packageId), OLD, OLD);
}

/** A folder and those below it, without those of packages, which nobody writes to. */
async function foldersOf(dir: string): Promise<readonly string[]> {
  const entries = await readdir(dir, { recursive: true, withFileTypes: true });
  const below = entries.filter(
    (entry) => entry.isDirectory() && !/[/]packages[/]/.test(`${entry.parentPath}/`),
  );
  for (const lock of entries.filter(({ name }) => name.endsWith(".lock")))
    await rm(join(lock.parentPath, lock.name));
  return [dir, ...below.map((entry) => join(entry.parentPath, entry.name))];
}

const installed = async ({ store }: RunWorld) =>
  (await store.packages.list()).map(({ packageId }) => packageId);

describe("garbage of a store", () => {
  test("are packages that no run refers to, and that are neither young nor the newest of their name", async () => {
    const { world, used, unused, newest } = await threeVersions();
    expect(await collectGarbage(world.store, { before: new Date("2019-01-01"), stays: false })).toMatchObject(
      {
        packages: [],
      },
    );
    const which = { before: BEFORE, stays: true };
    expect(await collectGarbage(world.store, which)).toMatchObject({ packages: [unused] });
    expect(await installed(world)).toHaveLength(3);
    expect(await collectGarbage(world.store, { ...which, stays: false })).toMatchObject({
      packages: [unused],
    });
    expect(await installed(world)).toEqual([used, newest].sort());
  });

  test("is told where nothing can be written, as on a disk that has become read-only", async () => {
    const { world, unused } = await threeVersions();
    const { dir, store } = world;
    await rm(join(store.dir, "store.lock"), { force: true });
    const folders = await foldersOf(store.dir);
    await withoutRights(dir, async () => {
      for (const folder of folders) await chmod(folder, 0o500);
      const looked = await openStore(store.dir, undefined, {}, { isLook: true });
      expect(await collectGarbage(looked, { before: BEFORE, stays: true })).toMatchObject({
        packages: [unused],
      });
    });
    for (const folder of folders) await chmod(folder, 0o700);
  });

  test("is no package while there are runs that no index lists: it may be theirs", async () => {
    const { world, run } = await threeVersions();
    const { store } = world;
    const files = valueOf(await store.runs.openFiles(run.projectId, run.runId));
    await files.audit.record({ kind: "run.phase", id: "1", phase: "running" }, OLD);
    await utimes(files.dir, OLD, OLD);
    await rm(join(store.dir, "projects", run.projectId, "runs.jsonl"));
    expect(await collectGarbage(store, { before: BEFORE, stays: false })).toMatchObject({
      runs: { lost: [RUN_ID] },
      packages: [],
    });
    expect(await installed(world)).toHaveLength(3);
  });

  test("are packages of pruned runs", async () => {
    const { world, run, used, newest } = await threeVersions();
    await world.store.runs.setPhase(run, "failed", OLD);
    await world.store.runs.prune(run, 1, OLD);
    await collectGarbage(world.store, { before: BEFORE, stays: false });
    expect(await installed(world)).toEqual([newest]);
    expect(await world.store.packages.has(used)).toBe(false);
  });

  test("is no package that a run takes up just then: it is put back", async () => {
    const { world, unused } = await threeVersions();
    const { store, projectRoot } = world;
    const removed = await store.packages.remove(unused, async () => {
      const late = await store.runs.createRun({ projectRoot, packageId: unused, activeAgentId: "author" });
      expect(late).toMatchObject({ error: { code: "E_PACKAGE_NOT_FOUND" } });
      return true;
    });
    expect(removed).toMatchObject({ error: { code: "E_PRECONDITION_FAILED" } });
    expect(valueOf(await store.packages.open(unused)).manifest.name).toBeDefined();
  });

  test("is no package of which nobody can say just then whether a run needs it: it is put back as well", async () => {
    const { world, unused } = await threeVersions();
    const unreadable = new Error("an index");
    await expect(world.store.packages.remove(unused, () => Promise.reject(unreadable))).rejects.toBe(
      unreadable,
    );
    expect(await world.store.packages.has(unused)).toBe(true);
  });

  test("is not looked for where the projects cannot be: no run may be concluded from that", async () => {
    const { world, run } = await threeVersions();
    const projects = join(world.store.dir, "projects");
    await withoutRights(world.dir, async () => {
      await chmod(projects, 0);
      await expect(collectGarbage(world.store, { before: BEFORE, stays: false })).rejects.toThrow("EACCES");
      const others = await openStore(world.store.dir);
      await expect(others.runs.findRun(run.runId)).rejects.toThrow("EACCES");
      await expect(others.runs.openFiles(run.projectId, run.runId)).rejects.toThrow("EACCES");
      await chmod(projects, 0o700);
    });
    expect(await installed(world)).toHaveLength(3);
  });

  test("is what a removal of a package has left that was cut short; one that was not decided yet is undone", async () => {
    const { world, unused, newest } = await threeVersions();
    const at = (name: string) => join(world.store.dir, "packages", name);
    await cp(at(unused), at(".tmp-0123456789abcdef"), { recursive: true });
    await rename(at(newest), at(`.leaving-${newest}`));
    const left = [`.leaving-${newest}`, ".tmp-0123456789abcdef"];
    const dry = await collectGarbage(world.store, { before: OLD, stays: true });
    expect([...dry.cutShort].sort()).toEqual(left);
    expect(await readdir(join(world.store.dir, "packages"))).toEqual(expect.arrayContaining(left));
    const { cutShort } = await collectGarbage(world.store, { before: OLD, stays: false });
    expect([...cutShort].sort()).toEqual(left);
    expect((await readdir(join(world.store.dir, "packages"))).sort()).toEqual(await installed(world));
    expect(await world.store.packages.has(newest)).toBe(true);
    expect(await collectGarbage(world.store, { before: OLD, stays: false })).toMatchObject({ cutShort: [] });
  });

  test("a package that cannot be removed is named, and so is why; the others go", async () => {
    const { world, unused } = await threeVersions();
    const remove = world.store.packages.remove.bind(world.store.packages);
    const full = { ok: false, error: { code: "E_INTERNAL", message: "could not be written (EIO)" } } as const;
    world.store.packages.remove = () => Promise.resolve(full);
    expect(await collectGarbage(world.store, { before: BEFORE, stays: false })).toMatchObject({
      packages: [],
      notRemoved: [{ packageId: unused, why: full.error.message }],
    });
    world.store.packages.remove = remove;
    expect(await collectGarbage(world.store, { before: BEFORE, stays: false })).toMatchObject({
      packages: [unused],
      notRemoved: [],
    });
  });

  test("are uploads that nobody has installed within an hour", async () => {
    const { world } = await threeVersions();
    const piece = { sha256: "a".repeat(64), size: 3, offset: 0, bytes: Buffer.from("abc") };
    await keepPiece(world.store, piece);
    const which = { before: BEFORE, stays: false };
    expect(await collectGarbage(world.store, which)).toMatchObject({ uploads: [] });
    const name = `${piece.sha256}-3.bmad`;
    await utimes(join(world.store.dir, "uploads", name), OLD, OLD);
    expect(await collectGarbage(world.store, { ...which, stays: true })).toMatchObject({ uploads: [name] });
    expect(await collectGarbage(world.store, which)).toMatchObject({ uploads: [name] });
    expect(await collectGarbage(world.store, which)).toMatchObject({ uploads: [] });
  });

  test("is not looked for where an index cannot be read: all stays", async () => {
    const { world, run } = await threeVersions();
    await appendFile(join(world.store.dir, "projects", run.projectId, "runs.jsonl"), "{\n");
    await expect(collectGarbage(world.store, { before: BEFORE, stays: false })).rejects.toThrow(DamagedIndex);
    expect(await installed(world)).toHaveLength(3);
    await writeFile(join(world.store.dir, "projects", run.projectId, "runs.jsonl"), "");
  });
});

describe("a run whose package is removed while it is made", () => {
  test("has failed, and says what to do", async () => {
    const { world, unused } = await threeVersions();
    const { store, projectRoot } = world;
    const open = store.packages.open.bind(store.packages);
    store.packages.open = async (packageId) => {
      const opened = await open(packageId);
      await store.packages.remove(packageId);
      return opened;
    };
    const made = await store.runs.createRun({ projectRoot, packageId: unused, activeAgentId: "author" });
    expect(made).toMatchObject({ error: { code: "E_PACKAGE_NOT_FOUND" } });
    const phases = (await store.runs.listAllRuns()).map(({ packageId, phase }) => [
      packageId === unused,
      phase,
    ]);
    expect(phases).toEqual([
      [false, "idle"],
      [true, "failed"],
    ]);
  });
});
