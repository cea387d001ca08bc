import { readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, expect, test, vi } from "vitest";
import { isServed } from "../../src/embedded/server.js";
import { FileLock, isHeld } from "../../src/embedded/server-lock.js";
import { startFailure } from "../../src/embedded/start-failure.js";
import { serverFiles } from "../../src/embedded/server-record.js";
import type * as ownFile from "../../src/store/disk/own-file.js";
import { temporaryDirectory } from "./helpers.js";

const mount = vi.hoisted((): { refuses: { code: string; words: string } | null } => ({ refuses: null }));
vi.mock("../../src/store/disk/own-file.js", async (original) => {
  const real = await original<typeof ownFile>();
  return {
    ...real,
    openOwnFile(path: string, access: ownFile.OwnAccess): number {
      if (mount.refuses !== null && access !== "read") {
        const { code, words } = mount.refuses;
        throw Object.assign(new Error(`${code}: ${words}, open '${path}'`), { code });
      }
      return real.openOwnFile(path, access);
    },
  };
});

afterEach(() => {
  mount.refuses = null;
});

test("whether a store is served can be asked where nothing can be written", async () => {
  const dir = await temporaryDirectory();
  const { log, turn } = serverFiles(dir);
  await writeFile(turn, "", { mode: 0o600 });
  const server = new FileLock(log);
  expect(server.tryExclusive()).toBe(true);
  mount.refuses = { code: "EROFS", words: "read-only file system" };
  expect([await isServed(dir), isHeld(log)]).toEqual([true, true]);
  server.close();
  expect([await isServed(dir), isHeld(log)]).toEqual([false, false]);
});

test("a server that does not come up where nothing can be written is told so: its database is not to be moved away", async () => {
  const files = serverFiles(await temporaryDirectory());
  const told = () => startFailure(files, "/bin/temporal", "ended before it was up", ["disk I/O error"]);
  expect(told()).toContain("disk I/O error\nIf they speak of the database:");
  mount.refuses = { code: "ENOSPC", words: "no space left on device" };
  expect(told()).toBe(
    `The Temporal server (/bin/temporal) ended before it was up: nothing can be written in ${files.storeDir} ` +
      `(ENOSPC: no space left on device, open '${files.storeDir}/temporal-server.room'). ` +
      "Make room there, or make it writable, and try again. Its database stays as it is.",
  );
  expect(await readdir(files.storeDir)).toEqual([]);
});

test("what is refused for another reason is thrown", async () => {
  const dir = await temporaryDirectory();
  expect(() => isHeld(join(dir, "nowhere", "lock"))).toThrow("ENOENT");
});
