import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openPackageStore } from "../../../src/store/packages/package-store.js";
import {
  type PackageFixture,
  temporaryDirectory,
  validPackage,
  writePackage,
  zipPackage,
} from "../../fakes/package-fixture.js";
import { unprivileged } from "../../fakes/unprivileged.js";
import { compileForChildren } from "../../tools/compiled.js";

/** A process that installs, or removes, a package and prints what came of it, or dies before it writes its `diesAt`th file. */
const CHILD = `
import fs, { readdirSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
const { storeDir, source, remove, uid, diesAt } = JSON.parse(process.argv[2]);
let written = 0;
const { writeFileSync } = fs;
fs.writeFileSync = (...args) => {
  written += 1;
  if (written === diesAt) process.kill(process.pid, "SIGKILL");
  writeFileSync(...args);
};
syncBuiltinESMExports();
const { openPackageStore } = await import("./store/packages/package-store.js");
if (uid !== undefined) process.setuid(uid);
const open = () => readdirSync("/proc/self/fd").length;
await new Promise((resolve) => process.stdin.once("data", resolve));
const before = open();
const store = openPackageStore(storeDir);
const result = remove === undefined ? await store.install(source) : await store.remove(remove);
console.log(JSON.stringify({ ok: result.ok, ...result.value, ...result.error, leaked: open() - before }));
process.exit(0);
`;

let compiled: ReturnType<typeof compileForChildren>;
beforeAll(async () => {
  compiled = compileForChildren("src/store/packages/package-store.ts");
  await writeFile(join(compiled.directory, "child.js"), CHILD);
});
afterAll(() => compiled.remove());

interface ChildResult {
  readonly ok: boolean;
  readonly packageId?: string;
  readonly message?: string;
  readonly leaked: number;
}

/** Its result; none where it died. */
function start(task: object, limits = ""): Promise<ChildResult | undefined> {
  const command = `${limits} exec "$0" "$1" "$2"`;
  const script = join(compiled.directory, "child.js");
  const child = spawn("sh", ["-c", command, process.execPath, script, JSON.stringify(task)], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  let output = "";
  child.stdout.on("data", (chunk) => (output += String(chunk)));
  child.stdin.end("go");
  return once(child, "close").then(() => (output === "" ? undefined : (JSON.parse(output) as ChildResult)));
}

async function scene(fixture: PackageFixture = validPackage()) {
  const dir = await temporaryDirectory();
  const source = await writePackage(join(dir, "source"), fixture);
  const archive = join(dir, "source.bmad");
  await writeFile(archive, zipPackage(fixture));
  const storeDir = join(dir, "store");
  return { dir, source, archive, storeDir, packagesDir: join(storeDir, "packages") };
}

const manyFiles = (count: number): PackageFixture => ({
  ...validPackage(),
  ...Object.fromEntries(Array.from({ length: count }, (_, index) => [`assets/${index}`, `asset ${index}`])),
});

describe.runIf(process.platform === "linux")("installers in processes of their own", () => {
  test("four at once, of the same package, all get the one id", async () => {
    const { source, archive, storeDir, packagesDir } = await scene();
    const installers = [source, archive, source, archive].map((from) => start({ storeDir, source: from }));
    const results = await Promise.all(installers);
    const ids = new Set(results.map((result) => result?.packageId));
    expect(ids.size).toBe(1);
    expect(await readdir(packagesDir)).toEqual([...ids]);
    expect(results.map((result) => result?.leaked)).toEqual([0, 0, 0, 0]);
  });

  test("one killed in the middle leaves nothing that counts, and the next one cleans up", async () => {
    for (const kind of ["source", "archive"] as const) {
      const { [kind]: source, storeDir, packagesDir } = await scene(manyFiles(50));
      expect(await start({ storeDir, source, diesAt: 25 })).toBeUndefined();
      expect(await readdir(packagesDir)).toEqual([expect.stringMatching(/^\.tmp-/)]);
      const store = openPackageStore(storeDir);
      expect(await store.list()).toEqual([]);
      const installed = await store.install(source);
      expect(await readdir(packagesDir)).toEqual([installed.ok ? installed.value.packageId : "none"]);
    }
  });

  test("a file that the system does not take leaves nothing and is no exception", async () => {
    const { source, archive, storeDir, packagesDir } = await scene({
      ...validPackage(),
      "assets/large": Buffer.alloc(100_000, "random enough"),
    });
    for (const from of [source, archive]) {
      const result = await start({ storeDir, source: from }, "ulimit -f 8;");
      expect(result).toMatchObject({
        ok: false,
        code: "E_INTERNAL",
        message: expect.stringContaining("EFBIG"),
        leaked: 0,
      });
      expect(await readdir(packagesDir)).toEqual([]);
    }
  });

  test("a user without special rights can remove what is read-only, and clean up after it", async () => {
    const { dir, source, storeDir, packagesDir } = await scene();
    const { uid } = unprivileged(dir);
    const installed = await start({ storeDir, source, uid });
    expect(installed).toMatchObject({ ok: true });
    expect(await start({ storeDir, source, uid })).toMatchObject({ ok: true });
    expect(await start({ storeDir, remove: installed?.packageId, uid })).toMatchObject({ ok: true });
    expect(await readdir(packagesDir)).toEqual([]);
  });
});
