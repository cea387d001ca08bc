import { chmodSync } from "node:fs";
import { chmod, mkdir, readdir, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { backupStore } from "../../../src/store/backup/backup-store.js";
import { BackupError } from "../../../src/store/backup/manifest.js";
import { Pieces } from "../../../src/store/backup/pieces.js";
import { restoreStore } from "../../../src/store/backup/restore-store.js";
import { openStore } from "../../../src/store/store.js";
import { withoutRights } from "../../fakes/unprivileged.js";
import { type BackupWorld, essence, exchangeList, openBackupWorld } from "./backup-world.js";

let world: BackupWorld;
beforeEach(async () => {
  world = await openBackupWorld();
  await backupStore(world.store.dir, world.backup);
});

const WAYS = {
  "a backup": (place: string): Promise<unknown> => backupStore(world.store.dir, place),
  "a restore": (place: string): Promise<unknown> => restoreStore(world.backup, place),
};
const ways = Object.entries(WAYS);

/** What is said of a place, and that it is said as of an expected mistake. */
async function saidOf(outcome: Promise<unknown>): Promise<string> {
  const error = await outcome.then(
    () => new Error("it was taken"),
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(BackupError);
  return error instanceof Error ? error.message : "";
}

describe.each(ways)("%s in a place where it cannot be says so in a sentence", (_, goTo) => {
  test("a file, and below one", async () => {
    const file = join(world.dir, "file");
    await writeFile(file, "");
    expect(await saidOf(goTo(file))).toBe(`${file} is no folder. Name another place.`);
    expect(await saidOf(goTo(join(file, "a", "b")))).toBe(`${file} is no folder. Name another place.`);
  });

  test("a link that leads nowhere", async () => {
    const link = join(world.dir, "link");
    await symlink(join(world.dir, "nowhere"), link);
    for (const place of [link, join(link, "new")]) {
      expect(await saidOf(goTo(place))).toBe(`${link} is a link that leads nowhere. Name another place.`);
    }
  });

  test("a folder that we may not write to", async () => {
    const locked = join(world.dir, "locked");
    await mkdir(locked);
    await chmod(locked, 0o500);
    const said = await withoutRights(world.dir, () => saidOf(goTo(join(locked, "new"))));
    expect(said).toMatch(
      /EACCES.*locked\/new.*Let this user read and write there, or name another folder\.$/,
    );
  });

  test.skipIf(process.platform !== "linux")("/proc, where nothing can be made: it ends", async () => {
    for (const place of ["/proc/interlock-test", "/proc/interlock-test/a/b"]) {
      expect(await saidOf(goTo(place))).toMatch(/\/proc\/interlock-test.*\.$/);
    }
  });
});

test.each([
  ["ENOSPC", "ENOSPC: no space left on device, write", "ENOSPC: no space left on device, write"],
  [
    "Unknown system error -122",
    "Unknown system error -122: Unknown system error -122, write",
    "EDQUOT: disk quota exceeded, write",
  ],
])(
  "a full disk (%s) is told with what to do, and leaves the former backup as it is",
  async (code, words, shown) => {
    const before = await essence(world.store.dir);
    await world.newRun();
    const full = Object.assign(new Error(words), { code });
    const spy = vi.spyOn(Pieces.prototype, "keepText").mockImplementation(() => {
      throw full;
    });
    const said = await saidOf(backupStore(world.store.dir, world.backup));
    spy.mockRestore();
    expect(said).toBe(
      `The backup in ${world.backup} could not be brought up to date (${shown}). Make room there, and call it again.`,
    );
    const to = join(world.dir, "there");
    await restoreStore(world.backup, to);
    expect(await essence(to)).toEqual(before);
  },
);

test("a manifest that cannot be read now is not called damaged: the backup is as good as it was", async () => {
  const path = join(world.backup, "manifest.json");
  const said = await withoutRights(world.dir, async () => {
    await chmod(path, 0o000);
    return [
      await saidOf(backupStore(world.store.dir, world.backup)),
      await saidOf(restoreStore(world.backup, join(world.dir, "there"))),
    ];
  });
  await chmod(path, 0o600);
  for (const each of said) expect(each).toMatch(/EACCES.*manifest\.json.*Let this user read and write there/);
  await restoreStore(world.backup, join(world.dir, "there"));
});

test("neither are the roots, nor an index of runs: nobody is told to remove them", async () => {
  const index = join(dirname(dirname(world.runDir)), "runs.jsonl");
  const roots = join(world.store.dir, "roots.json");
  const said = await withoutRights(world.dir, async () => {
    for (const path of [index, roots]) await chmod(path, 0o000);
    const opened = openStore(world.store.dir).then(({ roots: each }) => each.list(), String);
    const { notTaken } = await backupStore(world.store.dir, world.backup);
    return [await opened, ...notTaken.map(({ why }) => why)];
  });
  expect(said).toHaveLength(3);
  for (const each of said) expect(each).toMatch(/(?:roots\.json|runs\.jsonl) cannot be read now \(EACCES\)/);
});

test("a restore that fails where it cannot clear away says what failed first", async () => {
  const to = join(world.dir, "there");
  const failing = vi.spyOn(Pieces.prototype, "read").mockImplementation(() => {
    chmodSync(to, 0o500);
    throw Object.assign(new Error("EIO: i/o error, read"), { code: "EIO" });
  });
  const said = await withoutRights(world.dir, () => saidOf(restoreStore(world.backup, to)));
  failing.mockRestore();
  chmodSync(to, 0o700);
  expect(said).toMatch(/EIO: i\/o error, read/);
  expect(await saidOf(restoreStore(world.backup, to))).toMatch(/was cut short/);
});

test("a restore whose last step the system refuses leaves the folder as empty as it was", async () => {
  await exchangeList(
    world.backup,
    (part) => part === "store",
    (list) => {
      const parts = JSON.parse(list) as { files: { path: string }[] };
      return JSON.stringify({ ...parts, files: parts.files.filter(({ path }) => path !== "store.json") });
    },
  );
  const to = join(world.dir, "there");
  expect(await saidOf(restoreStore(world.backup, to))).toMatch(
    /^The store could not be restored into .*ENOENT/,
  );
  expect(await readdir(to)).toEqual([]);
});
