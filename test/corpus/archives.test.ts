import { symlinkSync, unlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { crc32, deflateRawSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { bytesOf, validPackage } from "../fakes/package-fixture.js";
import { UTF8_FLAG, type ZipEntry, unixMode, writeZip } from "../fakes/zip-writer.js";
import { sharedPackageWorld } from "./package-world.js";

const INVALID = "E_PACKAGE_INVALID";
const world = sharedPackageWorld();

const PACKAGE: readonly ZipEntry[] = Object.entries(validPackage()).map(([name, content]) => ({
  name,
  data: bytesOf(content),
}));

async function install(archive: Uint8Array) {
  const place = world();
  writeFileSync(place.archive, archive);
  return place.install(place.archive);
}

describe("a valid package with one entry more", () => {
  const names: readonly (string | Uint8Array)[] = [
    "/etc/evil",
    "//server/share",
    "../evil",
    "../../../../../../tmp/evil",
    "a/../../evil",
    "a/../b",
    "a/..",
    "..",
    "..\\evil",
    "a\\..\\..\\evil",
    "\\evil",
    "C:\\evil",
    "C:/evil",
    "c:evil",
    "a\0b",
    "\0",
    "a\nb",
    "a\u0085b",
    "a\u2028b",
    "\u001b[2J",
    "",
    ".",
    "./",
    "/",
    "./.",
    "x".repeat(256),
    `${"x/".repeat(600)}y`,
    `${"d/".repeat(70)}y`,
    Buffer.from([0x61, 0xff]),
    Buffer.from([0xed, 0xa0, 0x80]),
    Buffer.from([0xc0, 0xae, 0xc0, 0xae, 0x2f, 0x78]),
    "bmad.json",
    "./bmad.json",
    "BMAD.json",
    "bmad.json/x",
    "Steps/x.md",
    "steps/DRAFT.md",
    "steps",
    "steps/draft.md/",
    "workflow.md/../evil",
  ];
  test.each(names.map((name) => ({ name })))("called $name", async ({ name }) => {
    const { code } = await install(writeZip([...PACKAGE, { name, data: "evil" }]));
    expect(code).toBe(INVALID);
  });

  const entries: readonly [string, Partial<ZipEntry>, string][] = [
    ["an ordinary file", {}, "ok"],
    ["a stored file", { method: 0 }, "ok"],
    ["a file without a mode", { externalAttributes: 0 }, "ok"],
    ["a file that may be executed", { externalAttributes: unixMode(0o104777) }, "ok"],
    ["a link out", { externalAttributes: unixMode(0o120777), data: "../../outside/secret.txt" }, INVALID],
    ["a link to a file inside", { externalAttributes: unixMode(0o120777), data: "bmad.json" }, INVALID],
    ["a link with odd flags", { externalAttributes: unixMode(0o127777) }, INVALID],
    ["a reparse point", { externalAttributes: 0x400 }, INVALID],
    ["a device", { externalAttributes: unixMode(0o060666) }, INVALID],
    ["a pipe", { externalAttributes: unixMode(0o010666) }, INVALID],
    ["a socket", { externalAttributes: unixMode(0o140666) }, INVALID],
    ["a folder without a slash", { externalAttributes: unixMode(0o040755) }, INVALID],
    ["an encrypted file", { flags: UTF8_FLAG | 1 }, INVALID],
    ["strong encryption", { flags: UTF8_FLAG | 0x41 }, INVALID],
    ["masked headers", { flags: UTF8_FLAG | 0x2000 }, INVALID],
    ["patch data", { flags: UTF8_FLAG | 0x20 }, INVALID],
    ...[1, 6, 9, 12, 14, 93, 95, 98, 99].map((method): [string, Partial<ZipEntry>, string] => [
      `method ${method}`,
      { method },
      INVALID,
    ]),
    ["a wrong checksum", { checksum: 0 }, INVALID],
    ["more than declared", { declaredSize: 1 }, INVALID],
    ["less than declared", { declaredSize: 100 }, INVALID],
    ["garbage", { rawData: Buffer.from("garbage, no doubt about it") }, INVALID],
    ["an empty stream", { rawData: Buffer.alloc(0) }, INVALID],
    ["an offset into another entry", { localOffset: 7 }, INVALID],
    ["an offset out of the archive", { localOffset: 0x7fffffff }, INVALID],
    ["another name in the local header", { localName: "../../evil" }, "ok"],
    ["the local name of a link", { localName: "/etc/passwd" }, "ok"],
  ];
  test.each(entries)("%s", async (_, change, expected) => {
    const { code } = await install(writeZip([...PACKAGE, { name: "more.txt", data: "more", ...change }]));
    expect(code).toBe(expected);
  });
});

describe("bombs", () => {
  const MIB = 1024 * 1024;
  const zeros = (bytes: number): ZipEntry => ({ name: "bomb", data: Buffer.alloc(bytes) });

  test.each<[string, () => Uint8Array, string]>([
    ["200:1 over a megabyte", () => writeZip([...PACKAGE, zeros(MIB + 1)]), INVALID],
    ["200:1 within a megabyte", () => writeZip([...PACKAGE, zeros(MIB)]), "ok"],
    [
      "a header that declares little of a lot",
      () => {
        const rawData = deflateRawSync(Buffer.alloc(32 * MIB));
        return writeZip([...PACKAGE, { name: "liar", rawData, declaredSize: 10 }]);
      },
      INVALID,
    ],
    [
      "more than 256 MiB declared",
      () => {
        const rawData = deflateRawSync(Buffer.alloc(30 * MIB));
        const entry = { rawData, declaredSize: 30 * MIB, declaredCompressedSize: rawData.length };
        return writeZip([
          ...PACKAGE,
          ...Array.from({ length: 9 }, (_, index) => ({ name: `b${index}`, ...entry })),
        ]);
      },
      INVALID,
    ],
    [
      "10,001 entries",
      () => writeZip(Array.from({ length: 10_001 }, (_, index) => ({ name: `${index}`, method: 0 }))),
      INVALID,
    ],
    [
      "entries that share their data",
      () => {
        const data = Buffer.from("shared ".repeat(1000));
        const shared = {
          method: 0,
          declaredSize: data.length,
          declaredCompressedSize: data.length,
          checksum: crc32(data),
        };
        return writeZip([
          { name: "0", rawData: data, ...shared },
          ...Array.from({ length: 50 }, (_, index) => ({
            name: `${index + 1}`,
            rawData: Buffer.alloc(0),
            localOffset: 0,
            ...shared,
          })),
          ...PACKAGE,
        ]);
      },
      INVALID,
    ],
  ])("%s", async (_, archive, expected) => {
    expect((await install(archive())).code).toBe(expected);
  });
});

describe("archives that are none, or broken", () => {
  const whole = writeZip(PACKAGE);
  const cuts = [0, 1, 3, 4, 20, 21, 22, 100, 1000].map((bytes) => whole.length - bytes);

  test.each(cuts.slice(1))("cut to %d bytes", async (length) => {
    expect((await install(whole.subarray(0, length))).code).toBe(INVALID);
  });

  test.each<[string, Uint8Array]>([
    ["nothing", Buffer.alloc(0)],
    ["text", Buffer.from("PK is for packages")],
    ["a gzip", Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0])],
    ["an archive of nothing", writeZip([])],
    ["an end without a directory", whole.subarray(-22)],
    ["an archive without its beginning", whole.subarray(50)],
    ["something after the end", Buffer.concat([whole, Buffer.from("more")])],
    ["fewer entries than there are", writeZip(PACKAGE, { entryCount: 2 })],
    ["more entries than there are", writeZip(PACKAGE, { entryCount: 200 })],
    ["a directory elsewhere", writeZip(PACKAGE, { directoryOffset: 12 })],
    ["a directory beyond the end", writeZip(PACKAGE, { directoryOffset: 0xfffffffe })],
    ["zip64 without end", writeZip(PACKAGE, { zip64: { entryCount: 2n ** 63n, directoryOffset: 0n } })],
    [
      "a zip64 offset without end",
      writeZip(PACKAGE, { zip64: { entryCount: 8n, directoryOffset: 2n ** 64n - 1n } }),
    ],
    ["a manifest alone", writeZip(PACKAGE.slice(0, 1))],
    [
      "a package one folder down",
      writeZip(PACKAGE.map((entry) => ({ ...entry, name: `inner/${String(entry.name)}` }))),
    ],
    ["an archive in an archive", writeZip([{ name: "package.bmad", data: whole }])],
  ])("%s", async (_, archive) => {
    expect((await install(archive)).code).toBe(INVALID);
  });

  test("a comment, folders of their own and another order do not matter", async () => {
    const plain = await install(writeZip(PACKAGE));
    const folders = ["steps/", "assets/", "empty/"].map((name) => ({ name, method: 0 }));
    const odd = await install(writeZip([...folders, ...PACKAGE.toReversed()], { comment: "PK\u0005\u0006" }));
    expect(odd).toEqual(plain);
  });

  test("the name of the file does not matter, and a link to it is the user's own", async () => {
    const place = world();
    writeFileSync(join(place.base, "odd name.zip"), writeZip(PACKAGE));
    symlinkSync("odd name.zip", join(place.base, "linked.bmad"));
    const named = await place.install(join(place.base, "odd name.zip"));
    const linked = await place.install(join(place.base, "linked.bmad"));
    unlinkSync(join(place.base, "linked.bmad"));
    expect(linked).toEqual(named);
  });

  test("one byte more or less is another package", async () => {
    const change = (data: string) =>
      PACKAGE.map((entry) => (entry.name === "assets/template.txt" ? { ...entry, data } : entry));
    const [one, other] = [await install(writeZip(change("a"))), await install(writeZip(change("b")))];
    expect([one.code, other.code]).toEqual(["ok", "ok"]);
    expect(one.packageId).not.toBe(other.packageId);
  });
});
