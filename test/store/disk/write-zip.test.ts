import { mkdir, readdir, readlink, symlink } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import { expect, test } from "vitest";
import { ZipFile } from "yazl";
import { addFile, writeZip } from "../../../src/store/disk/write-zip.js";
import { temporaryDirectory } from "../../fakes/package-fixture.js";

/** A zip of one file, and the stream that its bytes come from. */
function zipOf(bytes: AsyncIterable<Uint8Array>) {
  const zip = new ZipFile();
  const stream = Readable.from(bytes, { objectMode: false });
  addFile(zip, "one", {}, () => stream);
  return { zip, stream };
}

async function* someBytes() {
  yield await Promise.resolve(Buffer.from("some bytes"));
}

async function* brokenBytes() {
  yield await Promise.resolve(Buffer.from("some bytes"));
  throw new Error("The store is gone.");
}

test("a file that breaks off while it is archived is the archive's failure, and nothing is left of it", async () => {
  const dir = await temporaryDirectory();
  await expect(writeZip(join(dir, "run.zip"), zipOf(brokenBytes()).zip)).rejects.toThrow(
    "The store is gone.",
  );
  expect(await readdir(dir)).toEqual([]);
});

test("what was opened for an archive that cannot be written is closed, and what comes of it later hurts nobody", async () => {
  const dir = await temporaryDirectory();
  const { zip, stream } = zipOf(someBytes());
  await expect(writeZip(join(dir, "none/run.zip"), zip)).rejects.toThrow("ENOENT");
  expect(stream.destroyed).toBe(true);
  stream.emit("error", new Error("The connection is closed."));
});

test("an archive takes the place of a file alone: a link, such as /dev/stdout, and a device stay what they are", async () => {
  const dir = await temporaryDirectory();
  await mkdir(join(dir, "folder"));
  await symlink("/dev/null", join(dir, "link"));
  await expect(writeZip(join(dir, "link"), zipOf(someBytes()).zip)).rejects.toThrow("is no file");
  await expect(writeZip(join(dir, "folder"), zipOf(someBytes()).zip)).rejects.toThrow("is a folder");
  expect(await readlink(join(dir, "link"))).toBe("/dev/null");
  expect((await readdir(dir)).sort()).toEqual(["folder", "link"]);
  await writeZip(join(dir, "run.zip"), zipOf(someBytes()).zip);
  await writeZip(join(dir, "run.zip"), zipOf(someBytes()).zip);
  expect((await readdir(dir)).sort()).toEqual(["folder", "link", "run.zip"]);
});

test("an archive may have a name as long as a file system takes", async () => {
  const dir = await temporaryDirectory();
  const name = `${"n".repeat(251)}.zip`;
  await writeZip(join(dir, name), zipOf(someBytes()).zip);
  expect(await readdir(dir)).toEqual([name]);
});
