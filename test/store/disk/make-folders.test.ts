import { mkdir, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { makeFolders } from "../../../src/store/disk/make-folders.js";
import { openStore } from "../../../src/store/store.js";
import { temporaryDirectory } from "../../fakes/package-fixture.js";

const modeOf = async (path: string): Promise<number> => (await stat(path)).mode & 0o777;

test("what is missing on the way is made with the mode, and what is there stays as it is", async () => {
  const dir = await temporaryDirectory();
  await mkdir(join(dir, "there"), { mode: 0o755 });
  await symlink(join(dir, "there"), join(dir, "link"));
  await makeFolders(join(dir, "link/one/two"), 0o700);
  await makeFolders(join(dir, "link/one/two"), 0o755);
  expect([await modeOf(join(dir, "there")), await modeOf(join(dir, "there/one/two"))]).toEqual([
    0o755, 0o700,
  ]);
});

test("a file on the way is named by the system's own words", async () => {
  const dir = await temporaryDirectory();
  await writeFile(join(dir, "file"), "");
  await expect(makeFolders(join(dir, "file"))).rejects.toThrow("EEXIST");
  await expect(makeFolders(join(dir, "file/below"))).rejects.toThrow(/ENOTDIR|EEXIST/);
});

// Node's own way to make a folder and its parents tries for ever where the parent is there and takes nothing.
test.runIf(process.platform === "linux")(
  "a store where nothing can be made is refused, and nobody waits for ever",
  async () => {
    await expect(openStore("/proc/none/store")).rejects.toThrow("ENOENT");
  },
);
