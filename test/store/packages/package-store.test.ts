import { createHash } from "node:crypto";
import {
  chmod,
  mkdir,
  open,
  readFile,
  readdir,
  rename,
  stat,
  symlink,
  utimes,
  writeFile,
} from "node:fs/promises";
import { join } from "node:path";
import * as fc from "fast-check";
import { tryLock } from "fs-native-extensions";
import { describe, expect, onTestFinished, test } from "vitest";
import type { Result } from "../../../src/core/errors.js";
import { isPackageId, packageIdOf } from "../../../src/core/package/package-id.js";
import { openPackageStore } from "../../../src/store/packages/package-store.js";
import {
  type PackageFixture,
  bytesOf,
  readTree,
  temporaryDirectory,
  validPackage,
  workflowDocument,
  writePackage,
  zipPackage,
} from "../../fakes/package-fixture.js";
import { valueOf } from "../../fakes/run-world.js";
import { writeZip } from "../../fakes/zip-writer.js";

const files = validPackage();

async function emptyStore() {
  const storeDir = join(await temporaryDirectory(), "store");
  return { storeDir, packagesDir: join(storeDir, "packages"), store: openPackageStore(storeDir) };
}

async function directorySource(fixture: PackageFixture = files) {
  return writePackage(await temporaryDirectory(), fixture);
}

async function archiveSource(fixture: PackageFixture = files) {
  const file = join(await temporaryDirectory(), "source.bmad");
  await writeFile(file, zipPackage(fixture));
  return file;
}

function faultOf(result: Result<unknown>) {
  if (result.ok) throw new Error("did not fail");
  return result.error;
}

const contentsOf = (fixture: PackageFixture) =>
  Object.fromEntries(Object.entries(fixture).map(([path, content]) => [path, bytesOf(content)]));

describe("install", () => {
  test("gives an id of name, version and content, and the package under it", async () => {
    const { store, packagesDir } = await emptyStore();
    const installed = valueOf(await store.install(await directorySource()));
    expect(installed).toMatchObject({ name: "Tiny Story", version: "1.0.0", findings: [] });
    expect(installed.packageId).toMatch(/^tiny-story-1\.0\.0-[0-9a-f]{16}$/);
    expect(installed.dir).toBe(join(packagesDir, installed.packageId));
    expect(await readTree(installed.dir)).toEqual(contentsOf(files));
    expect(await readdir(packagesDir)).toEqual([installed.packageId]);
  });

  test("gives the same id for the same bytes, from a directory and an archive, whatever times and modes", async () => {
    const { store } = await emptyStore();
    const source = await directorySource();
    await chmod(join(source, "workflow.md"), 0o755);
    const first = valueOf(await store.install(source));
    const again = valueOf(await store.install(await archiveSource()));
    const elsewhere = valueOf(await (await emptyStore()).store.install(await archiveSource()));
    expect(again.packageId).toBe(first.packageId);
    expect(elsewhere.packageId).toBe(first.packageId);
    expect(await store.list()).toHaveLength(1);
  });

  test.each<[string, PackageFixture]>([
    ["a byte of a file", { ...files, "assets/template.txt": "another template" }],
    ["a file's name", { ...without("assets/template.txt"), "assets/t.txt": files["assets/template.txt"] }],
    ["a file more", { ...files, "assets/empty": "" }],
    ["the border between two files", { ...without("assets/template.txt"), "assets/template.tx": "t" }],
  ])("gives another id when %s changes", async (_, changed) => {
    const { store } = await emptyStore();
    const ids = [files, changed].map(async (fixture) =>
      valueOf(await store.install(await archiveSource(fixture))),
    );
    expect(new Set((await Promise.all(ids)).map(({ packageId }) => packageId)).size).toBe(2);
  });

  test("of a build that is there already makes it the one installed last: its name means it again", async () => {
    const { store, packagesDir } = await emptyStore();
    const source = await directorySource();
    const { packageId } = valueOf(await store.install(source));
    await utimes(join(packagesDir, packageId), new Date(0), new Date(0));
    const other = valueOf(await store.install(await directorySource({ ...files, "notes.md": "Tried." })));
    expect(valueOf(await store.resolve("Tiny Story"))).toBe(other.packageId);
    expect(valueOf(await store.install(source)).packageId).toBe(packageId);
    expect(valueOf(await store.resolve("Tiny Story"))).toBe(packageId);
  });

  test("makes files and folders read-only and private", async () => {
    const { store, storeDir } = await emptyStore();
    const { dir } = valueOf(await store.install(await archiveSource()));
    const modeOf = async (path: string) => ((await stat(path)).mode & 0o777).toString(8);
    expect(await modeOf(join(dir, "bmad.json"))).toBe("400");
    expect(await modeOf(join(dir, "steps"))).toBe("500");
    expect(await modeOf(dir)).toBe("500");
    expect(await modeOf(storeDir)).toBe("700");
  });

  test("leaves out what version control and systems left", async () => {
    const { store } = await emptyStore();
    const source = await directorySource({ ...files, ".git/HEAD": "x", "assets/.DS_Store": "x" });
    const { dir, packageId } = valueOf(await store.install(source));
    expect(await readTree(dir)).toEqual(contentsOf(files));
    expect(valueOf(await store.install(await archiveSource())).packageId).toBe(packageId);
  });

  test("passes warnings on", async () => {
    const { store } = await emptyStore();
    const manifest = { ...files["bmad.json"], integrity: { sha256: "0".repeat(64) } };
    const installed = valueOf(
      await store.install(await directorySource({ ...files, "bmad.json": manifest })),
    );
    expect(installed.findings).toMatchObject([{ severity: "warning", path: "$.integrity.sha256" }]);
  });

  test.each<[string, PackageFixture, object]>([
    ["invalid package", { ...files, "agents.json": "{}" }, { file: "agents.json" }],
    [
      "package one folder down",
      { "tiny/bmad.json": "{}" },
      { message: expect.stringContaining("tiny/bmad.json") },
    ],
  ])(
    "refuses an %s from a directory and an archive alike, and keeps nothing",
    async (_, fixture, finding) => {
      for (const source of [await directorySource(fixture), await archiveSource(fixture)]) {
        const { store, packagesDir } = await emptyStore();
        const fault = faultOf(await store.install(source));
        expect(fault.code).toBe("E_PACKAGE_INVALID");
        expect(fault.details).toMatchObject({
          findings: expect.arrayContaining([expect.objectContaining(finding)]),
        });
        expect(JSON.stringify(fault)).not.toContain("interlock-test-");
        expect(await readdir(packagesDir)).toEqual([]);
      }
    },
  );

  test("refuses a hostile archive and keeps nothing, inside the store or beside it", async () => {
    const { store, storeDir, packagesDir } = await emptyStore();
    const source = join(await temporaryDirectory(), "evil.bmad");
    for (const name of ["../evil", "/tmp/interlock-evil", "steps/../../../evil"]) {
      await writeFile(
        source,
        writeZip(
          [...Object.entries(contentsOf(files)), [name, "evil"] as const].map(([entry, data]) => ({
            name: entry,
            data,
          })),
        ),
      );
      expect(faultOf(await store.install(source))).toMatchObject({
        code: "E_PACKAGE_INVALID",
        details: { findings: [{ file: name }] },
      });
    }
    expect(await readdir(packagesDir)).toEqual([]);
    expect((await readdir(storeDir)).sort()).toEqual(["packages", "packages.lock"]);
  });

  test("refuses a directory with a link before it copies anything", async () => {
    const { store } = await emptyStore();
    const source = await directorySource();
    await symlink("/etc/hosts", join(source, "assets", "hosts"));
    expect(faultOf(await store.install(source)).details).toMatchObject({
      findings: [{ file: "assets/hosts" }],
    });
  });

  test("says that there is nothing, or nothing of the kind", async () => {
    const { store } = await emptyStore();
    const dir = await temporaryDirectory();
    expect(faultOf(await store.install(join(dir, "none")))).toMatchObject({ code: "E_PACKAGE_NOT_FOUND" });
    expect(faultOf(await store.install("/dev/null"))).toMatchObject({ code: "E_PACKAGE_INVALID" });
    await writeFile(join(dir, "text"), "no zip");
    expect(faultOf(await store.install(join(dir, "text")))).toMatchObject({ code: "E_PACKAGE_INVALID" });
  });

  test("says so when the store cannot be written", async () => {
    const { store, storeDir } = await emptyStore();
    await writeFile(storeDir, "a file in its place");
    const fault = faultOf(await store.install(await directorySource()));
    expect(fault.code).toBe("E_INTERNAL");
    expect(fault.message).toMatch(
      /^The packages of the store could not be written \(E[A-Z]+\): let this user write/,
    );
  });

  test.each<[string, (dir: string) => Promise<void>]>([
    [
      "that somebody changed",
      async (dir) => {
        await chmod(join(dir, "assets", "template.txt"), 0o600);
        await writeFile(join(dir, "assets", "template.txt"), "changed");
      },
    ],
    [
      "in whose place a link stands",
      async (dir) => {
        await rename(dir, join(dir, "..", "..", "elsewhere"));
        await symlink("../elsewhere", dir);
      },
    ],
  ])("puts back what an id means in the place of a copy %s", async (_, change) => {
    const { store, packagesDir } = await emptyStore();
    const { dir, packageId } = valueOf(await store.install(await directorySource()));
    await change(dir);
    expect(valueOf(await store.install(await directorySource())).packageId).toBe(packageId);
    expect(await readTree(dir)).toEqual(contentsOf(files));
    expect(await readdir(packagesDir)).toEqual([packageId]);
  });

  test("keeps every byte of any assets", async () => {
    const name = fc.stringMatching(/^[a-z][a-z0-9 _.-]{0,8}[a-z0-9]$/);
    const path = fc.array(name, { minLength: 1, maxLength: 3 }).map((names) => names.join("/"));
    const assets = fc.uniqueArray(fc.tuple(path, fc.uint8Array({ maxLength: 200 })), {
      maxLength: 6,
      selector: ([asset]) => asset.split("/")[0],
    });
    const { store } = await emptyStore();
    await fc.assert(
      fc.asyncProperty(assets, async (entries) => {
        const extra = Object.fromEntries(entries.map(([asset, bytes]) => [`assets/x/${asset}`, bytes]));
        const fixture = { ...files, ...extra };
        const fromDirectory = valueOf(await store.install(await directorySource(fixture)));
        const fromArchive = valueOf(await store.install(await archiveSource(fixture)));
        expect(fromArchive.packageId).toBe(fromDirectory.packageId);
        expect(await readTree(fromDirectory.dir)).toEqual(contentsOf(fixture));
      }),
      { numRuns: 25 },
    );
  });
});

function without(path: string): PackageFixture {
  return Object.fromEntries(Object.entries(files).filter(([other]) => other !== path));
}

describe("several installers", () => {
  test("of the same package give the same id; of different ones, each its own", async () => {
    const { storeDir, packagesDir } = await emptyStore();
    const other = { ...files, "assets/more.txt": "more" };
    const sources = [await directorySource(), await archiveSource(), await directorySource(other)];
    const installations = [...sources, ...sources, ...sources].map((source) =>
      openPackageStore(storeDir).install(source),
    );
    const ids = (await Promise.all(installations)).map((result) => valueOf(result).packageId);
    expect(new Set(ids).size).toBe(2);
    expect((await readdir(packagesDir)).sort()).toEqual([...new Set(ids)].sort());
  });

  test("wait for one that is alive, and do not touch what it stages", async () => {
    const { store, storeDir, packagesDir } = await emptyStore();
    await mkdir(join(packagesDir, ".tmp-alive"), { recursive: true });
    const other = await open(join(storeDir, "packages.lock"), "a", 0o600);
    onTestFinished(() => other.close().catch(() => undefined));
    expect(tryLock(other.fd)).toBe(true);
    let isDone = false;
    const installation = store.install(await directorySource()).finally(() => {
      isDone = true;
    });
    for (let n = 0; n < 3; n += 1) {
      const free = await emptyStore(); // the same work, in a store that nobody holds
      valueOf(await free.store.install(await directorySource()));
    }
    expect(isDone).toBe(false);
    expect(await readdir(packagesDir)).toEqual([".tmp-alive"]);
    await other.close();
    const { packageId } = valueOf(await installation);
    expect(await readdir(packagesDir)).toEqual([packageId]);
  });

  test("clean up after one that was killed, read-only leftovers included", async () => {
    const { store, packagesDir } = await emptyStore();
    const { packageId, dir } = valueOf(await store.install(await directorySource()));
    await rename(dir, join(packagesDir, ".tmp-0123456789abcdef"));
    await writePackage(join(packagesDir, ".tmp-half"), { "steps/draft.md": "---" });
    await symlink("/", join(packagesDir, ".tmp-half", "root"));
    expect(await store.list()).toEqual([]);
    expect(faultOf(await store.open(".tmp-half")).code).toBe("E_PACKAGE_NOT_FOUND");
    expect(valueOf(await store.install(await directorySource())).packageId).toBe(packageId);
    expect(await readdir(packagesDir)).toEqual([packageId]);
  });
});

describe("open", () => {
  test("loads what was installed, once", async () => {
    const { store } = await emptyStore();
    const { packageId, dir } = valueOf(await store.install(await directorySource()));
    const loaded = valueOf(await store.open(packageId));
    expect(loaded).toMatchObject({ dir, workflows: [{ id: "tiny" }] });
    expect(valueOf(await store.open(packageId))).toBe(loaded);
  });

  test("remembers a bounded number of packages", async () => {
    const { store } = await emptyStore();
    const ids: string[] = [];
    for (let index = 0; index < 18; index += 1) {
      const source = await directorySource({ ...files, "workflow.md": workflowDocument(`w${index}`) });
      ids.push(valueOf(await store.install(source)).packageId);
    }
    const open = async (index: number) => valueOf(await store.open(ids[index] ?? ""));
    const first = await open(0);
    const used = await open(17);
    for (let index = 1; index < 17; index += 1) {
      await open(index);
      expect(await open(17)).toBe(used);
    }
    expect(await open(0)).not.toBe(first);
  });

  test.each([
    "",
    ".",
    "..",
    "../packages",
    "a/b",
    "a\\b",
    "/etc",
    ".tmp-x",
    "nothing-1.0.0-0123456789abcdef",
    "x".repeat(300),
    "a\0",
  ])("says that %j is not installed", async (packageId) => {
    const { store, packagesDir } = await emptyStore();
    await mkdir(join(packagesDir, ".tmp-x"), { recursive: true });
    expect(faultOf(await store.open(packageId)).code).toBe("E_PACKAGE_NOT_FOUND");
    expect(faultOf(await store.remove(packageId)).code).toBe("E_PACKAGE_NOT_FOUND");
  });

  test("takes no link for a package", async () => {
    const { store, packagesDir } = await emptyStore();
    await mkdir(packagesDir, { recursive: true });
    await symlink(await directorySource(), join(packagesDir, "linked"));
    expect(faultOf(await store.open("linked")).code).toBe("E_PACKAGE_NOT_FOUND");
    expect(await store.list()).toEqual([]);
  });

  test.each(["the same worker", "another one"])(
    "finds that another package was put in the place of an installed one: %s",
    async (who) => {
      const { store, storeDir, packagesDir } = await emptyStore();
      const { packageId, dir } = valueOf(await store.install(await directorySource()));
      valueOf(await store.open(packageId));
      const changed = { ...files, "assets/template.txt": "changed" };
      const other = valueOf(await store.install(await directorySource(changed)));
      await rename(dir, join(packagesDir, "..", "kept"));
      await rename(other.dir, dir);
      const opening = who === "another one" ? openPackageStore(storeDir) : store;
      const fault = faultOf(await opening.open(packageId));
      expect(fault.code).toBe("E_PACKAGE_INVALID");
      expect(fault.message).toContain(`${packageId} was changed on disk: install the package again`);
      await rename(dir, other.dir);
      await rename(join(packagesDir, "..", "kept"), dir);
      expect(valueOf(await opening.open(packageId)).dir).toBe(dir);
    },
  );

  test("finds that somebody took a file out of an installed package", async () => {
    const { store } = await emptyStore();
    const { packageId, dir } = valueOf(await store.install(await directorySource()));
    valueOf(await store.open(packageId));
    await chmod(dir, 0o700);
    await rename(join(dir, "workflow.md"), join(dir, "moved.md"));
    expect(faultOf(await store.open(packageId))).toMatchObject({
      code: "E_PACKAGE_INVALID",
      details: { findings: [{ file: "bmad.json", path: "$.entry.workflow" }] },
    });
  });
});

describe("list and remove", () => {
  test("an empty store has no packages", async () => {
    expect(await (await emptyStore()).store.list()).toEqual([]);
  });

  test("a removed package is gone for every opener, and its id free again", async () => {
    const { store, storeDir, packagesDir } = await emptyStore();
    const { packageId } = valueOf(await store.install(await directorySource()));
    const other = valueOf(await store.install(await directorySource({ ...files, "assets/other": "x" })));
    const second = openPackageStore(storeDir);
    valueOf(await second.open(packageId));
    valueOf(await store.remove(packageId));
    expect(faultOf(await store.open(packageId)).code).toBe("E_PACKAGE_NOT_FOUND");
    expect(faultOf(await second.open(packageId)).code).toBe("E_PACKAGE_NOT_FOUND");
    expect(await readdir(packagesDir)).toEqual([other.packageId]);
    expect((await store.list()).map((item) => item.packageId)).toEqual([other.packageId]);
    expect(valueOf(await store.install(await directorySource())).packageId).toBe(packageId);
  });

  test("a package that is removed while it is read is gone, and not damaged", async () => {
    const { store, storeDir } = await emptyStore();
    const many = Array.from({ length: 400 }, (_, index) => [`assets/${index}/file`, "x"] as const);
    const source = await directorySource({ ...files, ...Object.fromEntries(many) });
    const { packageId } = valueOf(await store.install(source));
    const opening = openPackageStore(storeDir).open(packageId);
    valueOf(await store.remove(packageId));
    expect(faultOf(await opening).code).toBe("E_PACKAGE_NOT_FOUND");
  });

  test("two removals at once: one removes, the other finds nothing", async () => {
    const { store, storeDir } = await emptyStore();
    const { packageId } = valueOf(await store.install(await directorySource()));
    const results = await Promise.all([
      store.remove(packageId),
      openPackageStore(storeDir).remove(packageId),
    ]);
    expect(results.map((result) => (result.ok ? "ok" : result.error.code)).sort()).toEqual([
      "E_PACKAGE_NOT_FOUND",
      "ok",
    ]);
  });
});

describe("package ids", () => {
  const digest = createHash("sha256").update("x").digest("hex");

  test.each([
    ["Tiny Story", "1.0.0", "tiny-story-1.0.0"],
    ["../../etc/passwd", "1.0.0", "etc-passwd-1.0.0"],
    ["CON", "1.0.0-RC.1+Build.5", "con-1.0.0-rc.1-build.5"],
    ["Größe—Übung", "1.0.0", "gro-e-ubung-1.0.0"],
    ["日本語", "1.0.0", "package-1.0.0"],
    ["...", "1.0.0", "package-1.0.0"],
    ["a".repeat(1_000_000), `1.0.0-${"b".repeat(1000)}`, `${"a".repeat(40)}-1.0.0-${"b".repeat(24)}`],
  ])("of %.20j %.20s", (name, version, expected) => {
    expect(packageIdOf(name, version, digest)).toBe(`${expected}-${digest.slice(0, 16)}`);
  });

  test("are always one harmless file name", () => {
    const version = fc.stringMatching(/^\d\.\d\.\d(-[0-9A-Za-z.-]{1,50})?(\+[0-9A-Za-z.-]{1,50})?$/);
    fc.assert(
      fc.property(fc.string({ unit: "binary", minLength: 1 }), version, (name, release) => {
        const id = packageIdOf(name, release, digest);
        expect(isPackageId(id)).toBe(true);
        expect(id).toMatch(/^[a-z0-9][a-z0-9.-]{0,99}$/);
        expect(id).not.toContain("..");
      }),
    );
  });
});

test("an installed archive is what the archive holds, not what lies beside it", async () => {
  const { store } = await emptyStore();
  const source = await archiveSource();
  await writeFile(join(source, "..", "workflow.md"), "another");
  const { dir } = valueOf(await store.install(source));
  expect(await readFile(join(dir, "workflow.md"), "utf8")).toBe(files["workflow.md"]);
});
