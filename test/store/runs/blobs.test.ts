import { readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { Blobs } from "../../../src/store/runs/blobs.js";
import { sha256 } from "../../../src/store/disk/sha256.js";
import { namesListed } from "../../fakes/names-listed.js";
import { temporaryDirectory } from "../../fakes/package-fixture.js";

const bytes = Buffer.from("content\n");
const hash = sha256(bytes);

test("keeps a content once, and gives it back by its hash", async () => {
  const dir = join(await temporaryDirectory(), "blobs");
  const blobs = new Blobs(dir);
  blobs.keep(bytes);
  blobs.keep(bytes);
  expect(await readdir(dir)).toEqual([hash]);
  expect(blobs.read(hash)).toEqual(bytes);
  expect(blobs.read("../blobs")).toBeUndefined();
});

test("does not give back what was torn", async () => {
  const dir = await temporaryDirectory();
  await writeFile(join(dir, hash), "cont");
  expect(new Blobs(dir).read(hash)).toBeUndefined();
});

test("removes what an attempt has left that was cut short", async () => {
  const dir = await temporaryDirectory();
  await writeFile(join(dir, `.tmp-${hash}-${hash.slice(0, 12)}`), "cont");
  new Blobs(dir).keep(bytes);
  expect(await readdir(dir)).toEqual([hash]);
});

test("looks at none of the others to keep one more", async () => {
  const dir = await temporaryDirectory();
  const blobs = new Blobs(dir);
  for (let other = 0; other < 100; other += 1) blobs.keep(Buffer.from(`content ${other}`));
  expect(await namesListed(() => blobs.keep(bytes))).toBe(0);
  expect(blobs.read(hash)).toEqual(bytes);
});

test("a content that cannot be looked at now is not kept, and the write it came from has succeeded", async () => {
  const blobs = new Blobs(await temporaryDirectory());
  const away = Object.assign(new Error("EMFILE: too many open files"), { code: "EMFILE" });
  const look = vi.spyOn(blobs, "read").mockImplementation(() => {
    throw away;
  });
  expect(() => blobs.keep(bytes)).not.toThrow();
  look.mockRestore();
  expect(blobs.read(hash)).toBeUndefined();
});
