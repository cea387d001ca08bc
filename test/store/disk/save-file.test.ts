import { readFile, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { saveFile } from "../../../src/store/disk/save-file.js";
import { temporaryDirectory } from "../../fakes/package-fixture.js";

test("a file that cannot be written whole leaves nothing, and keeps nobody from the next try", async () => {
  const dir = await temporaryDirectory();
  const file = join(dir, "statement.json");
  const full = async (path: string): Promise<void> => {
    await writeFile(path, "{");
    throw Object.assign(new Error("no space left"), { code: "ENOSPC" });
  };
  await expect(saveFile(file, full)).rejects.toThrow("no space left");
  expect(await readdir(dir)).toEqual([]);
  await saveFile(file, (path) => writeFile(path, "{}"));
  await expect(saveFile(file, (path) => writeFile(path, "other"))).rejects.toMatchObject({ code: "EEXIST" });
  await expect(saveFile(file, full, { replaces: true })).rejects.toThrow("no space left");
  expect(await readFile(file, "utf8")).toBe("{}");
  await saveFile(file, (path) => writeFile(path, "other"), { replaces: true });
  expect([await readFile(file, "utf8"), await readdir(dir)]).toEqual(["other", ["statement.json"]]);
});
