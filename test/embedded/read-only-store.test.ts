import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, expect, test, vi } from "vitest";
import { isServed } from "../../src/embedded/server.js";
import { FileLock, isHeld } from "../../src/embedded/server-lock.js";
import { serverFiles } from "../../src/embedded/server-record.js";
import type * as ownFile from "../../src/store/disk/own-file.js";
import { temporaryDirectory } from "./helpers.js";

const mount = vi.hoisted(() => ({ isReadOnly: false }));
vi.mock("../../src/store/disk/own-file.js", async (original) => {
  const real = await original<typeof ownFile>();
  return {
    ...real,
    openOwnFile(path: string, access: ownFile.OwnAccess): number {
      if (mount.isReadOnly && access !== "read")
        throw Object.assign(new Error(`EROFS: read-only file system, open '${path}'`), { code: "EROFS" });
      return real.openOwnFile(path, access);
    },
  };
});

afterEach(() => {
  mount.isReadOnly = false;
});

test("whether a store is served can be asked where nothing can be written", async () => {
  const dir = await temporaryDirectory();
  const { log, turn } = serverFiles(dir);
  await writeFile(turn, "", { mode: 0o600 });
  const server = new FileLock(log);
  expect(server.tryExclusive()).toBe(true);
  mount.isReadOnly = true;
  expect([await isServed(dir), isHeld(log)]).toEqual([true, true]);
  server.close();
  expect([await isServed(dir), isHeld(log)]).toEqual([false, false]);
});

test("what is refused for another reason is thrown", async () => {
  const dir = await temporaryDirectory();
  expect(() => isHeld(join(dir, "nowhere", "lock"))).toThrow("ENOENT");
});
