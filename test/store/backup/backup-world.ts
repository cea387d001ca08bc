import { readdir } from "node:fs/promises";
import { join } from "node:path";
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
