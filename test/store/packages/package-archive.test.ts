import { execFileSync } from "node:child_process";
import { readdir, readlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { crc32, deflateRawSync } from "node:zlib";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Finding } from "../../../src/core/package/findings.js";
import { unpackArchive } from "../../../src/store/packages/package-archive.js";
import {
  bytesOf,
  readTree,
  temporaryDirectory,
  validPackage,
  writePackage,
  zipPackage,
} from "../../fakes/package-fixture.js";
import { type ZipEntry, type ZipOptions, UTF8_FLAG, unixMode, writeZip } from "../../fakes/zip-writer.js";

const MIB = 1024 * 1024;
const good: ZipEntry = { name: "good.txt", data: "good" };

/** Unpacks an archive and looks at everything that came of it. */
async function unpack(archive: Uint8Array) {
  const dir = await temporaryDirectory();
  const zipFile = join(dir, "package.bmad");
  await writeFile(zipFile, archive);
  const findings = await unpackArchive(zipFile, join(dir, "target"));
  const left = (await readdir(dir)).filter((name) => name !== "package.bmad");
  const tree = left.includes("target") ? await readTree(join(dir, "target")) : {};
  return { findings, left, tree, dir };
}

/** Why an archive was refused, having made sure that nothing came of it. */
async function refusalsOf(archive: Uint8Array): Promise<readonly Finding[]> {
  const { findings, left, dir } = await unpack(archive);
  if (left.length > 0) throw new Error(`left behind: ${left.join()}`);
  if (JSON.stringify(findings).includes(dir)) throw new Error("a finding names a host path");
  return findings;
}

const refusal = (file: string, sentence: string) => ({
  severity: "error",
  file,
  path: "$",
  message: expect.stringContaining(sentence),
});

describe("archives that are taken", () => {
  test("unpack to what was packed, deflated or stored, with folders or without", async () => {
    const binary = Buffer.from(Array.from({ length: 100_000 }, (_, index) => (index * index) % 251));
    const { findings, tree } = await unpack(
      writeZip([
        { name: "a/" },
        { name: "a/deflated.bin", data: binary },
        { name: "a/stored.bin", data: binary, method: 0 },
        { name: "./b/empty.txt", data: "" },
        { name: "b/stored-empty.txt", data: "", method: 0 },
        { name: "ü/ß.txt", data: "x" },
      ]),
    );
    expect(findings).toEqual([]);
    expect(tree).toEqual({
      "a/deflated.bin": binary,
      "a/stored.bin": binary,
      "b/empty.txt": Buffer.from(""),
      "b/stored-empty.txt": Buffer.from(""),
      "ü/ß.txt": Buffer.from("x"),
    });
  });

  test("may have a comment, and names in UTF-8 without the flag or in a Unicode path field", async () => {
    const name = Buffer.from("n.txt");
    const unicode = Buffer.from("ñ.txt");
    const extra = Buffer.alloc(9);
    extra.writeUInt16LE(0x7075, 0);
    extra.writeUInt16LE(5 + unicode.length, 2);
    extra.writeUInt8(1, 4);
    extra.writeUInt32LE(crc32(name), 5);
    const entries = [
      { name: "é.txt", flags: 0, data: "1" },
      { name, flags: 0, data: "2", extra: Buffer.concat([extra, unicode]) },
    ];
    const { findings, tree } = await unpack(writeZip(entries, { comment: "hello" }));
    expect(findings).toEqual([]);
    expect(Object.keys(tree).sort()).toEqual(["é.txt", "ñ.txt"]);
  });

  test("have exactly 10,000 entries at most", async () => {
    const entries = Array.from({ length: 10_000 }, (_, index) => ({ name: `${index}`, method: 0 }));
    const dir = await writePackage(await temporaryDirectory(), { "p.bmad": writeZip(entries) });
    expect(await unpackArchive(join(dir, "p.bmad"), join(dir, "target"))).toEqual([]);
    expect(await readdir(join(dir, "target"))).toHaveLength(10_000);
  });

  test("lose what systems and version control left in them", async () => {
    const litter = ["__MACOSX/._a", ".DS_Store", "assets/.DS_Store", ".git/config"].map((name) => ({ name }));
    expect(Object.keys((await unpack(writeZip([good, ...litter]))).tree)).toEqual(["good.txt"]);
  });

  test("are named by their central directory, whatever the local header says", async () => {
    const { tree } = await unpack(writeZip([{ ...good, localName: "../../evil.txt" }]));
    expect(Object.keys(tree)).toEqual(["good.txt"]);
  });
});

describe("hostile names", () => {
  test.each<[string, string, string]>([
    ["an absolute path", "/etc/evil", "is absolute"],
    ["a path that climbs out", "../evil", "contains .."],
    ["a path that climbs in the middle", "a/../../evil", "contains .."],
    ["a path that climbs and returns", "a/../b", "contains .."],
    ["a path that ends in ..", "a/..", "contains .."],
    ["a backslash", "..\\evil", "contains a backslash"],
    ["a drive letter", "C:evil", "is absolute"],
    ["a drive letter with a slash", "c:/evil", "is absolute"],
    ["a network path", "//server/share", "is absolute"],
    ["a NUL byte", "good.txt\0.md", "contains a NUL byte"],
    ["a line break", "a\nb", "control character"],
    ["a dot alone", ".", "names no file"],
    ["a name longer than file systems take", "x".repeat(256), "longer than 255 bytes"],
    ["a path longer than any should be", "x/".repeat(600), "longer than 1024 bytes"],
  ])("%s", async (_, name, sentence) => {
    const shown = name.replace("\0", String.raw`\u0000`).replace("\n", String.raw`\u000a`);
    const cut = shown.length > 300 ? `${shown.slice(0, 300)}…` : shown;
    expect(await refusalsOf(writeZip([good, { name, data: "evil" }]))).toContainEqual(refusal(cut, sentence));
  });

  test("an empty name", async () => {
    expect(await refusalsOf(writeZip([{ name: "" }]))).toContainEqual(refusal(".", "is empty"));
  });
  test("a name that is not UTF-8", async () => {
    expect(await refusalsOf(writeZip([{ name: Buffer.from([0xff, 0x61]), flags: 0 }]))).toContainEqual(
      refusal(".", "is not UTF-8"),
    );
  });
  test("a Unicode path field that leads out", async () => {
    const evil = Buffer.from("../evil");
    const extra = Buffer.alloc(9);
    extra.writeUInt16LE(0x7075, 0);
    extra.writeUInt16LE(5 + evil.length, 2);
    extra.writeUInt8(1, 4);
    extra.writeUInt32LE(crc32(Buffer.from("good.txt")), 5);
    expect(await refusalsOf(writeZip([{ ...good, extra: Buffer.concat([extra, evil]) }]))).toContainEqual(
      refusal("../evil", "contains .."),
    );
  });

  test.each<[string, string[], string, string]>([
    ["the same name twice", ["a", "a"], "a", "is there twice"],
    ["the same name in two spellings", ["a", "./a"], "a", "is there twice"],
    ["the same folder twice", ["d/", "d/"], "d/", "is there twice"],
    ["names that differ by case", ["README.md", "readme.MD"], "readme.MD", "only by case"],
    ["folders that differ by case", ["Steps/a", "steps/b"], "steps", "only by case"],
    ["names that differ by Unicode form", ["\u00e9", "e\u0301"], "e\u0301", "only by case or Unicode form"],
    ["a file that is a folder later", ["a", "a/b"], "a", "a file and a folder at once"],
    ["a folder that is a file later", ["a/", "a"], "a", "a file and a folder at once"],
  ])("%s", async (_, names, file, sentence) => {
    expect(await refusalsOf(writeZip(names.map((name) => ({ name }))))).toContainEqual(
      refusal(file, sentence),
    );
  });
});

describe("hostile entries", () => {
  test.each<[string, Partial<ZipEntry>, string]>([
    ["a link", { externalAttributes: unixMode(0o120777) }, "is a link"],
    ["a Windows reparse point", { externalAttributes: 0x400 }, "is a link"],
    ["a device", { externalAttributes: unixMode(0o020666) }, "neither a regular file nor a folder"],
    ["a pipe", { externalAttributes: unixMode(0o010666) }, "neither a regular file nor a folder"],
    [
      "a folder without a slash",
      { externalAttributes: unixMode(0o040755) },
      "neither a regular file nor a folder",
    ],
    ["an encrypted entry", { flags: UTF8_FLAG | 1 }, "is encrypted"],
    ["an encrypted directory", { flags: UTF8_FLAG | 0x2001 }, "is encrypted"],
    ["an unknown compression", { method: 12 }, "method 12"],
    ["AES", { method: 99 }, "method 99"],
    ["patch data", { flags: UTF8_FLAG | 0x20 }, "not supported"],
    ["two sizes for one stored entry", { method: 0, declaredSize: 5 }, "two sizes"],
    ["a wrong checksum", { checksum: 1 }, "checksum"],
    ["a wrong checksum of nothing", { data: "", method: 0, checksum: 1 }, "checksum"],
    ["less than declared", { declaredSize: 1000 }, "less than the 1000 bytes"],
    ["more than declared", { declaredSize: 1 }, "more than the 1 bytes"],
    ["more than the nothing declared", { declaredSize: 0 }, "more than the 0 bytes"],
    ["garbage for compressed data", { rawData: Buffer.from("garbage, no doubt") }, "damaged"],
    ["half of the compressed data", { data: "x".repeat(9999), declaredCompressedSize: 5 }, "damaged"],
    ["data beyond the archive", { declaredCompressedSize: 200 }, "not a readable zip"],
    ["data where there is no entry", { localOffset: 3 }, "not a readable zip"],
    ["data far outside", { localOffset: 0xfffffff0 }, "not a readable zip"],
  ])("%s", async (_, change, sentence) => {
    expect(
      await refusalsOf(writeZip([{ ...good, ...change }, { name: "z" }], { comment: "a little longer" })),
    ).toContainEqual(refusal("good.txt", sentence));
  });

  test("a folder with content", async () => {
    expect(await refusalsOf(writeZip([{ name: "d/", data: "x", externalAttributes: 0 }]))).toContainEqual(
      refusal("d/", "folder with content"),
    );
  });

  test("an entry with strong encryption", async () => {
    expect(await refusalsOf(writeZip([{ ...good, flags: 0x41 }]))).toContainEqual(
      refusal(".", "is encrypted"),
    );
  });

  test("a late failure takes back what was unpacked before", async () => {
    const { findings, left } = await unpack(writeZip([good, { name: "d/bad", data: "x", checksum: 1 }]));
    expect(findings).toHaveLength(1);
    expect(left).toEqual([]);
  });
});

test("a report on an archive is bounded", async () => {
  const entries = Array.from({ length: 9000 }, (_, index) => ({ name: `../${index}`, method: 0 }));
  expect((await unpack(writeZip(entries))).findings).toHaveLength(100);
});

describe("bombs", () => {
  test("10,001 entries", async () => {
    expect(
      await refusalsOf(
        writeZip(Array.from({ length: 10_001 }, (_, index) => ({ name: `${index}`, method: 0 }))),
      ),
    ).toContainEqual(refusal(".", "more than 10000 entries"));
  });

  test("a ratio above 200:1 in an entry over 1 MiB", async () => {
    const zeros = Buffer.alloc(1024 * 1024 + 1);
    expect(await refusalsOf(writeZip([{ name: "bomb", data: zeros }]))).toContainEqual(
      refusal("bomb", "more than 200:1"),
    );
    const small = await unpack(writeZip([{ name: "small", data: zeros.subarray(1) }]));
    expect(small.findings).toEqual([]);
  });

  test("more than 256 MiB declared, spread over entries", async () => {
    const data = Buffer.alloc(30 * MIB);
    const rawData = deflateRawSync(data);
    const entries = Array.from({ length: 9 }, (_, index) => ({
      name: `${index}`,
      rawData,
      declaredSize: data.length,
      checksum: crc32(data),
    }));
    expect(await refusalsOf(writeZip(entries))).toContainEqual(
      refusal(".", "unpacks to more than 268435456 bytes"),
    );
  });

  test("a header that declares little of a lot", async () => {
    const rawData = deflateRawSync(Buffer.alloc(64 * MIB));
    expect(await refusalsOf(writeZip([{ name: "liar", rawData, declaredSize: 100 }]))).toContainEqual(
      refusal("liar", "more than the 100 bytes"),
    );
  });

  test("entries that share their data", async () => {
    const data = Buffer.from(Array.from({ length: 4096 }, (_, index) => (index * 7919) % 256));
    const entries = Array.from({ length: 100 }, (_, index) => ({
      name: `${index}`,
      rawData: index === 0 ? data : Buffer.alloc(0),
      method: 0,
      localOffset: 0,
      declaredSize: data.length,
      declaredCompressedSize: data.length,
      checksum: crc32(data),
    }));
    expect(await refusalsOf(writeZip(entries))).toContainEqual(refusal(".", "entries overlap or lie"));
  });
});

describe("files that are no archives", () => {
  const end = writeZip([good]).subarray(-22);
  test.each<[string, Uint8Array]>([
    ["nothing", Buffer.alloc(0)],
    ["text", Buffer.from("not a zip")],
    ["a header alone", Buffer.from("PK\u0003\u0004")],
    ["an archive cut short", writeZip([good]).subarray(0, -10)],
    ["an archive without its beginning", writeZip([good]).subarray(10)],
    ["a directory beyond the end", end],
    ["more entries than there are", writeZip([good], { entryCount: 3 })],
    ["fewer entries than there are", writeZip([good, { name: "more" }], { entryCount: 1 })],
    ["a directory offset beyond the end", writeZip([good], { directoryOffset: 0xfffffffe })],
    ["an extra field that overruns", writeZip([{ ...good, extra: Buffer.from([1, 0, 255, 255]) }])],
  ])("%s", async (_, archive) => {
    expect(await refusalsOf(archive)).toContainEqual(refusal(".", "is not a readable zip"));
  });

  test.each<[string, NonNullable<ZipOptions["zip64"]>]>([
    ["zip64 entry counts without end", { entryCount: 2n ** 63n, directoryOffset: 0n }],
    ["a zip64 directory offset without end", { entryCount: 1n, directoryOffset: 2n ** 64n - 1n }],
    ["a zip64 directory offset past what numbers hold", { entryCount: 1n, directoryOffset: 2n ** 53n + 1n }],
  ])("%s", async (_, zip64) => {
    const { findings, left } = await unpack(writeZip([good], { zip64 }));
    expect(findings).toHaveLength(1);
    expect(left).toEqual([]);
  });

  test("a zip64 data offset without end", async () => {
    const extra = Buffer.alloc(12);
    extra.writeUInt16LE(1, 0);
    extra.writeUInt16LE(8, 2);
    extra.writeBigUInt64LE(2n ** 64n - 1n, 4);
    const entry = { ...good, localOffset: 0xffffffff, extra };
    expect(await refusalsOf(writeZip([entry]))).toContainEqual(refusal("good.txt", "is not a readable zip"));
  });

  test("a pipe, a folder and nothing at all block and break nothing", async () => {
    const dir = await temporaryDirectory();
    execFileSync("sh", ["-c", 'mkfifo "$0"', join(dir, "pipe")]);
    for (const name of ["pipe", ".", "none"]) {
      const findings = await unpackArchive(join(dir, name), join(dir, "target"));
      expect(findings).toMatchObject([{ severity: "error", file: "." }]);
      expect(JSON.stringify(findings)).not.toContain(dir);
    }
    expect(await readdir(dir)).toEqual(["pipe"]);
  });

  test("a target that exists is left alone", async () => {
    const dir = await writePackage(await temporaryDirectory(), {
      "p.bmad": writeZip([good]),
      "target/mine": "x",
    });
    await expect(unpackArchive(join(dir, "p.bmad"), join(dir, "target"))).rejects.toThrow("EEXIST");
    expect(Object.keys(await readTree(join(dir, "target")))).toEqual(["mine"]);
  });
});

describe("any damage", () => {
  const archive = zipPackage(validPackage());
  const files = Object.fromEntries(
    Object.entries(validPackage()).map(([path, data]) => [path, bytesOf(data)]),
  );
  const damage = fc.array(
    fc.record({ at: fc.nat({ max: archive.length - 1 }), byte: fc.integer({ min: 0, max: 255 }) }),
    { minLength: 1, maxLength: 6 },
  );

  test("is refused or changes no content, leaves nothing half done and no descriptor open", async () => {
    const openBefore = await openDescriptors();
    await fc.assert(
      fc.asyncProperty(damage, fc.boolean(), async (changes, nearTheEnd) => {
        const copy = Buffer.from(archive);
        for (const { at, byte } of changes) {
          copy[nearTheEnd ? archive.length - 1 - (at % 600) : at] = byte;
        }
        const { findings, left, tree } = await unpack(copy);
        expect(left).toEqual(findings.length > 0 ? [] : ["target"]);
        const contents = Object.values(files).map((content) => content.toString("hex"));
        for (const content of Object.values(tree)) expect(contents).toContain(content.toString("hex"));
      }),
      { numRuns: 400 },
    );
    expect(await openDescriptors()).toBe(openBefore);
  });
});

/** How many descriptors of this process lead to files of these tests. */
async function openDescriptors(): Promise<number> {
  const names = await readdir("/proc/self/fd").catch(() => []);
  const targets = await Promise.all(names.map((name) => readlink(`/proc/self/fd/${name}`).catch(() => "")));
  return targets.filter((target) => target.includes("interlock-test-")).length;
}
