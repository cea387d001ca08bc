import { chmod, mkdir, readFile, readdir, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { writeFileAtomic } from "../../../src/store/disk/atomic-file.js";
import { temporaryDirectory } from "../../fakes/package-fixture.js";

let dir: string;
beforeEach(async () => {
  dir = await temporaryDirectory();
});

describe("writeFileAtomic", () => {
  test("makes a private file, and leaves nothing beside it", async () => {
    await writeFileAtomic(join(dir, "f"), "é");
    expect(await readFile(join(dir, "f"), "utf8")).toBe("é");
    expect((await stat(join(dir, "f"))).mode & 0o777).toBe(0o600);
    expect(await readdir(dir)).toEqual(["f"]);
  });

  test("replaces a file as a whole: whoever has it open keeps the old bytes", async () => {
    await writeFile(join(dir, "f"), "old and longer");
    await chmod(join(dir, "f"), 0o644);
    const before = await stat(join(dir, "f"));
    await writeFileAtomic(join(dir, "f"), Buffer.from("new"));
    expect(await readFile(join(dir, "f"), "utf8")).toBe("new");
    const after = await stat(join(dir, "f"));
    expect([after.ino === before.ino, after.mode & 0o777]).toEqual([false, 0o600]);
  });

  test("replaces a link and not what it leads to", async () => {
    await writeFile(join(dir, "target"), "old");
    await symlink("target", join(dir, "link"));
    await writeFileAtomic(join(dir, "link"), "new");
    expect(await readFile(join(dir, "target"), "utf8")).toBe("old");
    expect(await readFile(join(dir, "link"), "utf8")).toBe("new");
  });

  test("leaves no temporary file when a directory stands in the way", async () => {
    await mkdir(join(dir, "f", "x"), { recursive: true });
    await expect(writeFileAtomic(join(dir, "f"), "new")).rejects.toThrow(/EISDIR|ENOTEMPTY|EEXIST/u);
    expect(await readdir(dir)).toEqual(["f"]);
  });

  test("fails where there is no directory", async () => {
    await expect(writeFileAtomic(join(dir, "no", "f"), "new")).rejects.toThrow("ENOENT");
  });

  test("a reader sees one version or the other, never half of one", async () => {
    const versions = ["a", "b"].map((char) => char.repeat(200_000));
    const path = join(dir, "f");
    await writeFileAtomic(path, versions[0] as string);
    const writing = (async () => {
      for (let n = 0; n < 40; n += 1) await writeFileAtomic(path, versions[n % 2] as string);
    })();
    for (let n = 0; n < 40; n += 1) expect(versions).toContain(await readFile(path, "utf8"));
    await writing;
  });
});
