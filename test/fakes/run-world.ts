import { mkdir, readFile, readdir } from "node:fs/promises";
import { join } from "node:path";
import type { Result } from "../../src/core/errors.js";
import { type Store, openStore } from "../../src/store/store.js";
import { type PackageFixture, temporaryDirectory, writePackage } from "./package-fixture.js";

/** A store with one package and a project beside it, all in a directory that is gone after the test. */
export interface RunWorld {
  readonly dir: string;
  readonly store: Store;
  readonly packageId: string;
  readonly projectRoot: string;
}

export async function openRunWorld(files: PackageFixture): Promise<RunWorld> {
  const dir = await temporaryDirectory();
  const store = await openStore(join(dir, "store"));
  const projectRoot = join(dir, "project");
  await mkdir(projectRoot);
  valueOf(await store.roots.add(projectRoot, "write"));
  const { packageId } = valueOf(
    await store.packages.install(await writePackage(join(dir, "package"), files)),
  );
  return { dir, store, packageId, projectRoot };
}

/** The value of a result that must be one. */
export function valueOf<T>(result: Result<T>): T {
  if (!result.ok) throw new Error(`${result.error.code}: ${result.error.message}`);
  return result.value;
}

/** Every entry below a directory, sorted; directories end in /. */
export async function namesIn(dir: string): Promise<readonly string[]> {
  const entries = await readdir(dir, { recursive: true, withFileTypes: true });
  return entries
    .map(
      (entry) => join(entry.parentPath, entry.name).slice(dir.length + 1) + (entry.isDirectory() ? "/" : ""),
    )
    .sort();
}

/** The records of a file of JSON lines. */
export async function jsonLines(path: string): Promise<readonly Record<string, unknown>[]> {
  const lines = (await readFile(path, "utf8")).split("\n").slice(0, -1);
  return lines.map((line) => JSON.parse(line) as Record<string, unknown>);
}
