import { chmod, mkdir, readFile, readdir, rm, stat, writeFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { openStore, readStoreIdentity } from "../../src/store/store.js";
import { temporaryDirectory, validPackage } from "../fakes/package-fixture.js";
import { openRunWorld, valueOf } from "../fakes/run-world.js";

let dir: string;
beforeEach(async () => {
  dir = await temporaryDirectory();
});
const modeOf = async (path: string) => (await stat(path)).mode & 0o777;

describe("opening a store", () => {
  test("makes it, private, with an id and a task queue", async () => {
    const store = await openStore(join(dir, "a", "store"), "queue");
    expect(store.storeId).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/u);
    expect([store.taskQueue, store.dir]).toEqual(["queue", join(dir, "a", "store")]);
    expect(JSON.parse(await readFile(join(store.dir, "store.json"), "utf8"))).toEqual({
      storeId: store.storeId,
      taskQueue: "queue",
      name: expect.stringMatching(/^[A-Za-z0-9-]+-[0-9a-f]{4}$/),
    });
    expect(await modeOf(store.dir)).toBe(0o700);
    expect(await modeOf(join(store.dir, "store.json"))).toBe(0o600);
  });

  test("gives an existing one back as it was made, whatever queue is asked for", async () => {
    const first = await openStore(join(dir, "store"));
    const second = await openStore(join(dir, "store"), "another");
    expect([second.storeId, second.taskQueue]).toEqual([first.storeId, "interlock"]);
  });

  test("eight times at once makes one", async () => {
    const stores = await Promise.all(Array.from({ length: 8 }, () => openStore(join(dir, "store"))));
    expect(new Set(stores.map(({ storeId }) => storeId)).size).toBe(1);
    expect((await readdir(join(dir, "store"))).sort()).toEqual([
      "roots.json",
      "roots.lock",
      "store.json",
      "store.lock",
    ]);
  });

  test("to look at it writes nothing: it may lie on a file system that has become read-only", async () => {
    const { storeId } = await openStore(dir);
    await rm(join(dir, "store.lock"));
    const before = await readdir(dir);
    expect((await openStore(dir, "interlock", {}, { isLook: true })).storeId).toBe(storeId);
    expect(await readdir(dir)).toEqual(before);
  });

  test("that has lost its own file gives it the id that its runs go on under", async () => {
    const { store, packageId, projectRoot } = await openRunWorld(validPackage());
    const run = { projectRoot, packageId, activeAgentId: "author" };
    for (const input of [{ storeId: store.storeId }, {}]) {
      const { projectId, runId } = valueOf(await store.runs.createRun(run));
      await valueOf(await store.runs.openFiles(projectId, runId)).request.keep("graph", { ...run, ...input });
    }
    await rm(join(store.dir, "store.json"));
    expect((await openStore(store.dir)).storeId).toBe(store.storeId);
    expect((await readStoreIdentity(store.dir))?.storeId).toBe(store.storeId);
  });

  test("takes a relative path for the place it is now", async () => {
    const store = await openStore(relative(process.cwd(), join(dir, "store")));
    expect(store.dir).toBe(join(dir, "store"));
  });

  test("makes an empty directory private, and leaves one alone that others use", async () => {
    await mkdir(join(dir, "empty"));
    await mkdir(join(dir, "shared", "theirs"), { recursive: true });
    await chmod(join(dir, "shared"), 0o755);
    await openStore(join(dir, "empty"));
    await openStore(join(dir, "shared"));
    expect([await modeOf(join(dir, "empty")), await modeOf(join(dir, "shared"))]).toEqual([0o700, 0o755]);
  });

  test.each(["", "{", "{}", '{"storeId":"x","taskQueue":"q"}'])(
    "a store.json that holds %j is told, not replaced",
    async (content) => {
      await writeFile(join(dir, "store.json"), content);
      await expect(openStore(dir)).rejects.toThrow(
        "store.json is damaged: it must hold the store's id and task queue. Restore it from a backup.",
      );
      expect(await readFile(join(dir, "store.json"), "utf8")).toBe(content);
    },
  );

  test("a file where the store should be is an error", async () => {
    await writeFile(join(dir, "file"), "");
    await expect(openStore(join(dir, "file"))).rejects.toThrow("EEXIST");
  });

  test("where a restore was cut short is refused: a new store would lie beside what is half of one", async () => {
    await mkdir(join(dir, "store", ".restoring", "projects"), { recursive: true });
    await expect(openStore(join(dir, "store"))).rejects.toThrow(
      `A restore into ${join(dir, "store")} was cut short, or is under way. When it is not: make it writable (its packages are read-only: chmod -R u+w), remove what lies in it, names with a dot as well, and restore again.`,
    );
    expect(await readdir(join(dir, "store"))).toEqual([".restoring"]);
  });

  test("that is whole, where a restore had no time to clear up, opens it", async () => {
    const { storeId } = await openStore(join(dir, "store"));
    await mkdir(join(dir, "store", ".restoring"));
    expect((await openStore(join(dir, "store"))).storeId).toBe(storeId);
  });
});

test("a list of directories that is made again has those of every project whose index can be read", async () => {
  const { dir: place, store, packageId, projectRoot } = await openRunWorld(validPackage());
  const other = join(place, "other");
  await mkdir(other);
  const request = { packageId, activeAgentId: "author" };
  valueOf(await store.runs.createRun({ ...request, projectRoot: other }));
  const { projectId } = valueOf(await store.runs.createRun({ ...request, projectRoot }));
  await writeFile(join(store.dir, "projects", projectId, "runs.jsonl"), "{\n");
  await rm(join(store.dir, "roots.json"));
  const { roots } = await openStore(store.dir);
  expect(roots.list().map(({ path }) => path)).toEqual([other]);
});
