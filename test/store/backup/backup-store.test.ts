import {
  appendFile,
  lstat,
  mkdir,
  readFile,
  readdir,
  rename,
  rm,
  stat,
  symlink,
  truncate,
  utimes,
  writeFile,
} from "node:fs/promises";
import { join, relative } from "node:path";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { backupStore } from "../../../src/store/backup/backup-store.js";
import { BackupError } from "../../../src/store/backup/manifest.js";
import { restoreStore } from "../../../src/store/backup/restore-store.js";
import { openStore } from "../../../src/store/store.js";
import { valueOf } from "../../fakes/run-world.js";
import { type BackupWorld, essence, filesBelow, openBackupWorld } from "./backup-world.js";

let world: BackupWorld;
let backup: string;
let runId: string;
let runDir: string;

beforeEach(async () => {
  world = await openBackupWorld();
  ({ backup, runId, runDir } = world);
});

const takeBackup = () => backupStore(world.store.dir, backup);
const piecesIn = () => filesBelow(join(backup, "parts"));

describe("a backup of a store", () => {
  test("tells of each run and package while it is taken and put back", async () => {
    const [onTaken, onBack] = [vi.fn<() => void>(), vi.fn<(of: number) => void>()];
    const { runs, packages } = await backupStore(world.store.dir, backup, onTaken);
    const parts = runs + packages + 1; // and the store's own
    await restoreStore(backup, join(world.dir, "there"), {}, onBack);
    expect(onTaken).toHaveBeenCalledTimes(parts);
    expect(onBack.mock.calls.length).toBe(onBack.mock.calls[0]?.[0]);
  });

  test("gives the store back as it was: runs, packages, roots and its id, and none of its secrets", async () => {
    await writeFile(join(world.store.dir, "starts.secret"), "hush\n", { mode: 0o600 });
    await writeFile(join(world.store.dir, "settings.json"), "{}\n");
    await mkdir(join(world.store.dir, "starts"));
    await writeFile(join(world.store.dir, "starts", `${"0".repeat(32)}.json`), '{"executionId":"x"}\n');
    await takeBackup();
    const to = join(world.dir, "there");
    const report = await restoreStore(backup, to);

    expect(await essence(to)).toEqual(await essence(world.store.dir));
    expect(await readdir(to)).not.toContain("starts.secret");
    expect(await readdir(to)).not.toContain("settings.json");
    const all = await Promise.all((await piecesIn()).map((path) => readFile(path, "utf8")));
    expect(all.some((text) => text.includes("hush"))).toBe(false);
    const restored = await openStore(to);
    expect(restored.storeId).toBe(world.store.storeId);
    expect(restored.taskQueue).toBe(world.store.taskQueue);
    expect(valueOf(await restored.runs.findRun(runId)).packageId).toBe(world.packageId);
    expect((await restored.packages.open(world.packageId)).ok).toBe(true);
    expect((await stat(join(to, "packages", world.packageId))).mode & 0o777).toBe(0o500);
    expect(report.roots).toEqual([world.projectRoot]);
    expect(restored.roots.permit(world.projectRoot, "write").ok).toBe(true);
  });

  test("gives the empty folders of a run back as well: it writes its first conversation there", async () => {
    const dir = relative(world.store.dir, runDir);
    expect(await readdir(join(runDir, "conversation"))).toEqual([]);
    await takeBackup();
    const to = join(world.dir, "there");
    await restoreStore(backup, to);
    expect(await readdir(join(to, dir, "conversation"))).toEqual([]);
    expect((await stat(join(to, dir, "conversation"))).mode & 0o777).toBe(0o700);
  });

  test("that is brought up to date copies what is new or has grown, and nothing else", async () => {
    await appendFile(join(runDir, "calls.jsonl"), `${JSON.stringify({ id: "x".repeat(100_000) })}\n`);
    const first = await takeBackup();
    expect(first.copied.bytes).toBe(first.bytes);
    await takeBackup();

    expect((await takeBackup()).copied).toEqual({ pieces: 0, bytes: 0 });

    const line = `${JSON.stringify({ id: "tail" })}\n`;
    await appendFile(join(runDir, "calls.jsonl"), line);
    expect((await takeBackup()).copied).toEqual({ pieces: 1, bytes: line.length });

    const second = await world.newRun();
    const { copied, runs } = await takeBackup();
    expect(runs).toBe(2);
    expect(copied.bytes).toBeLessThan(20_000);
    const to = join(world.dir, "there");
    await restoreStore(backup, to);
    expect(await essence(to)).toEqual(await essence(world.store.dir));
    expect(valueOf(await (await openStore(to)).runs.findRun(second)).runId).toBe(second);
  });

  test("copies anew what is no whole file in the backup any more, without being asked", async () => {
    const isOf = async (text: Buffer) => {
      for (const path of await piecesIn()) if (text.equals(await readFile(path))) return path;
      return "";
    };
    const { packageId, store } = world;
    await takeBackup();
    const state = await isOf(await readFile(join(runDir, "state/workflow.md")));
    const manifest = await isOf(await readFile(join(store.dir, "packages", packageId, "bmad.json")));
    await truncate(state, 0); // as after a failure of its disk
    await rm(manifest);
    await symlink(state, manifest);
    expect((await takeBackup()).copied.pieces).toBe(2);
    expect(await readFile(state)).toEqual(await readFile(join(runDir, "state/workflow.md")));
    expect((await lstat(manifest)).isFile()).toBe(true);
  });

  test("takes a log anew that another one has replaced", async () => {
    const path = join(runDir, "calls.jsonl");
    await writeFile(path, `${"a".repeat(100_000)}\n`);
    await takeBackup();
    await writeFile(`${path}.other`, `${"b".repeat(200_000)}\n`);
    await rename(`${path}.other`, path);
    await takeBackup();
    const to = join(world.dir, "there");
    await restoreStore(backup, to);
    expect(await essence(to)).toEqual(await essence(world.store.dir));
  });

  test("takes a log anew whose beginning was edited, though its end and its length are as they were", async () => {
    const path = join(runDir, "calls.jsonl");
    await writeFile(path, `${"secret".repeat(20_000)}\n`);
    await takeBackup();
    await appendFile(path, `${"end".repeat(100)}\n`);
    await takeBackup();
    const { mtime } = await stat(path);
    await writeFile(path, (await readFile(path, "utf8")).replaceAll("secret", "------"));
    await utimes(path, mtime, mtime);
    await takeBackup();
    const to = join(world.dir, "there");
    await restoreStore(backup, to);
    expect(await essence(to)).toEqual(await essence(world.store.dir));
    for (const piece of await piecesIn()) expect(await readFile(piece, "utf8")).not.toContain("secret");
  });

  test("copies of a long index of runs what is new", async () => {
    const index = join(runDir, "../../runs.jsonl");
    const line = `${JSON.stringify({ runId: "0b5a6c61-7ad4-4b3c-9b0e-6f2d2a1c1f11", removed: true })}\n`;
    await appendFile(index, line.repeat(2_000));
    await takeBackup();
    await appendFile(index, line);
    expect((await takeBackup()).copied).toEqual({ pieces: 1, bytes: line.length });
    const to = join(world.dir, "there");
    await restoreStore(backup, to);
    expect(await essence(to)).toEqual(await essence(world.store.dir));
  });

  test("holds nothing any more of what the store has given up", async () => {
    const other = await world.newRun();
    await takeBackup();
    const files = await world.filesOf(other);
    await rm(files.dir, { recursive: true });
    await appendFile(
      join(files.dir, "../../runs.jsonl"),
      `${JSON.stringify({ runId: other, removed: true })}\n`,
    );
    await takeBackup();
    expect((await piecesIn()).filter((path) => path.includes(other))).toEqual([]);
    const to = join(world.dir, "there");
    await restoreStore(backup, to);
    expect(await essence(to)).toEqual(await essence(world.store.dir));
  });

  test("leaves out a project whose index is damaged, keeps its former backup, and takes the others", async () => {
    await takeBackup();
    const index = join(runDir, "../../runs.jsonl");
    const before = await readFile(index, "utf8");
    await writeFile(index, "{\n");
    const report = await takeBackup();
    expect(report.notTaken).toMatchObject([{ why: expect.stringContaining("runs.jsonl") }]);
    const to = join(world.dir, "there");
    await restoreStore(backup, to);
    await writeFile(index, before);
    expect(await essence(to)).toEqual(await essence(world.store.dir));
  });

  test("is refused in a folder of something else, of another store, and in the store itself", async () => {
    await mkdir(backup);
    await writeFile(join(backup, "thesis.md"), "");
    await expect(takeBackup()).rejects.toThrow(/holds other things.*thesis\.md.*empty folder/);
    await rm(backup, { recursive: true });
    await takeBackup();
    const other = await openStore(join(world.dir, "other"));
    await expect(backupStore(other.dir, backup)).rejects.toThrow(/backup of another store/);
    await expect(backupStore(world.store.dir, join(world.store.dir, "backup"))).rejects.toThrow(BackupError);
    await expect(backupStore(join(world.dir, "nowhere"), backup)).rejects.toThrow(/There is no store/);
  });
});

describe("a restore", () => {
  test("names each damaged or missing file, leaves the folder empty, and the next backup mends it", async () => {
    await takeBackup();
    const state = await readFile(join(runDir, "state/workflow.md"));
    const log = await readFile(join(runDir, "state/logs/execution.jsonl"));
    for (const path of await piecesIn()) {
      const bytes = await readFile(path);
      if (bytes.equals(state)) await writeFile(path, bytes.fill("!", 0, 1));
      if (bytes.equals(log)) await rm(path);
    }
    const to = join(world.dir, "there");
    const refusal = await restoreStore(backup, to).then(
      () => "",
      (error: unknown) => String(error),
    );
    expect(refusal).toMatch(/runs\/.*\/state\/workflow\.md: .*is damaged/);
    expect(refusal).toMatch(/runs\/.*\/state\/logs\/execution\.jsonl: .*is missing/);
    expect(await readdir(to)).toEqual([]);

    const damaged = /workflow\.md: (\S+) is damaged/.exec(refusal)?.[1] ?? "";
    await rm(damaged);
    await takeBackup();
    await restoreStore(backup, to);
    expect(await essence(to)).toEqual(await essence(world.store.dir));
  });

  test("refuses a damaged manifest, and a folder that is no backup", async () => {
    await takeBackup();
    const path = join(backup, "manifest.json");
    await writeFile(path, (await readFile(path, "utf8")).replace(world.store.storeId, crypto.randomUUID()));
    await expect(restoreStore(backup, join(world.dir, "there"))).rejects.toThrow(/manifest\.json is damaged/);
    await expect(restoreStore(world.dir, join(world.dir, "there"))).rejects.toThrow(/There is no backup/);
  });

  test("refuses a folder in which a store or anything else lies, and says what to do", async () => {
    await takeBackup();
    await expect(restoreStore(backup, world.store.dir)).rejects.toThrow(/A store stands in.*empty one/);
    await expect(restoreStore(backup, world.projectRoot)).rejects.toThrow(
      /is not empty.*artifacts.*empty one/,
    );
  });

  test("does not open what an exchanged folder or a missing one was registered for", async () => {
    const gone = join(world.dir, "gone");
    await mkdir(gone);
    valueOf(await world.store.roots.add(gone, "write"));
    await takeBackup();
    await rm(gone, { recursive: true });
    const to = join(world.dir, "there");
    const { roots, missingRoots } = await restoreStore(backup, to);
    expect(roots).toEqual([world.projectRoot]);
    expect(missingRoots).toMatchObject([{ path: gone }]);
    await mkdir(gone);
    expect((await openStore(to)).roots.permit(gone, "write").ok).toBe(false);
  });
});
