import { readFile, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { canonicalJson } from "../../../src/core/canonical-json.js";
import { sha256 } from "../../../src/store/disk/sha256.js";
import type { RunFiles } from "../../../src/store/runs/run-files.js";
import { readTree, validPackage } from "../../fakes/package-fixture.js";
import { type RunWorld, openRunWorld, valueOf } from "../../fakes/run-world.js";

/** A store with a run that has begun, and a place for its backup. */
export interface BackupWorld extends RunWorld {
  readonly backup: string;
  readonly runId: string;
  readonly runDir: string;
  newRun(): Promise<string>;
  filesOf(runId: string): Promise<RunFiles>;
}

export async function openBackupWorld(): Promise<BackupWorld> {
  const world = await openRunWorld(validPackage());
  const { store, projectRoot, packageId } = world;
  const newRun = async (): Promise<string> =>
    valueOf(await store.runs.createRun({ projectRoot, packageId, activeAgentId: "author" })).runId;
  const filesOf = async (id: string): Promise<RunFiles> => {
    const { projectId } = valueOf(await store.runs.findRun(id));
    return valueOf(await store.runs.openFiles(projectId, id));
  };
  const runId = await newRun();
  const files = await filesOf(runId);
  await files.audit.record({ kind: "tool.exec", toolCallId: "one" }, new Date());
  return { ...world, backup: join(world.dir, "backup"), runId, runDir: files.dir, newRun, filesOf };
}

/** What a backup holds of a store: its files without secrets and settings, locks and what is derived. Roots are for each machine. */
export async function essence(dir: string): Promise<Record<string, string>> {
  const tree = Object.entries(await readTree(dir));
  const left = /\.lock(\.|$)|\.index$|^starts\.secret$|^settings\.json$|^roots\.json$/;
  return Object.fromEntries(
    tree
      .filter(([path]) => !left.test(path))
      .map(([path, bytes]) => [path, Buffer.from(bytes).toString("utf8")]),
  );
}

export async function filesBelow(dir: string): Promise<readonly string[]> {
  const entries = await readdir(dir, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
}

/** Puts another list of its files in the place of that of one part, whose name is returned; the backup is sealed again. */
export async function exchangeList(
  backup: string,
  isMeant: (part: string) => boolean,
  change: (list: string) => string,
): Promise<string> {
  const path = join(backup, "manifest.json");
  const { manifest } = JSON.parse(await readFile(path, "utf8")) as {
    manifest: { parts: { part: string; sha256: string }[] };
  };
  const found = manifest.parts.find(({ part }) => isMeant(part));
  if (found === undefined) throw new Error("there is no such part");
  const list = change(await readFile(join(backup, "parts", found.part, found.sha256), "utf8"));
  found.sha256 = sha256(list);
  await writeFile(join(backup, "parts", found.part, found.sha256), list);
  await writeFile(path, JSON.stringify({ sha256: sha256(canonicalJson(manifest)), manifest }));
  return found.part;
}
