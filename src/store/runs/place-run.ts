import { randomUUID } from "node:crypto";
import {
  accessSync,
  closeSync,
  constants,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  rmdirSync,
  statSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { type Failed, type Result, fail, ok } from "../../core/errors.js";
import { failpoint } from "../../core/failpoint.js";
import { syncDirectory, writeFileAtomic } from "../disk/atomic-file.js";
import { type HeldLock, LockLost, withFileLock } from "../disk/fenced-lock.js";
import { openOwnFile, standsThere } from "../disk/own-file.js";
import { userHere } from "./user-here.js";
import { notMade } from "./not-made.js";
import type { Project } from "./project-id.js";
import { DamagedIndex, type RunIndex } from "./run-index.js";
import type { RunMetadata } from "./run-metadata.js";
import { isFull, systemCode } from "../../core/system-code.js";

/** Folder of a project in which runs are made that are then renamed: nobody needs to look through all runs for what was cut short. */
export const STAGED = "staged";

/**
 * Places a new run in its project and lists it, all or nothing (contracts §4); one that is listed already stays as it is. Without a
 * document it is a bundle run. Fault: `E_PROJECT_INVALID`, `E_INDEX_WRITE_FAILED`.
 */
export async function placeRun(
  projectsDir: string,
  project: Project,
  index: RunIndex,
  run: RunMetadata,
  document?: Uint8Array,
): Promise<Result<RunMetadata>> {
  const projectDir = join(projectsDir, project.projectId);
  try {
    mkdirSync(join(projectDir, "runs"), { recursive: true, mode: 0o700 });
    if (!standsThere(index.path)) {
      // Its first run: who made the folders may have died first.
      for (const dir of [projectDir, projectsDir, dirname(projectsDir)]) await syncDirectory(dir);
    }
    return await withFileLock(
      join(projectDir, "create.lock"),
      async (lock) => {
        const known = await index.find(run.runId);
        const prunedAt = await index.prunedAt(run.runId);
        if (prunedAt !== undefined) return pruned(run.runId, prunedAt);
        if (known === undefined) {
          return placeNew({ projectDir, root: project.root, index }, run, document, lock);
        }
        await index.sync();
        return ok(known);
      },
      () => removeStaged(projectDir),
    );
  } catch (error) {
    return notWritten(error);
  }
}

/** The caller holds the project's creation lock, and the index does not list the run. */
async function placeNew(
  {
    projectDir,
    root,
    index,
  }: { readonly projectDir: string; readonly root: string; readonly index: RunIndex },
  run: RunMetadata,
  document: Uint8Array | undefined,
  lock: HeldLock,
): Promise<Result<RunMetadata>> {
  const runsDir = join(projectDir, "runs");
  const staging = join(projectDir, STAGED, randomUUID());
  const final = join(runsDir, run.runId);
  if (!isPristine(final)) {
    const sentence = "The run's folder is in use, but the index (runs.jsonl) does not list it: restore it.";
    return fail("E_INDEX_WRITE_FAILED", sentence);
  }
  const artifacts = document === undefined ? ok({ made: false }) : makeArtifactsRoot(root);
  if (!artifacts.ok) return artifacts;
  if (artifacts.value.made) await syncDirectory(root).catch(() => undefined); // where its file system can
  failpoint("run.artifacts-made");
  const removeAll = () => {
    lock.assertHeld();
    rmSync(join(projectDir, STAGED), { recursive: true, force: true });
    rmSync(final, { recursive: true, force: true });
  };
  try {
    removeAll();
    mkdirSync(join(staging, "state", "logs"), { recursive: true, mode: 0o700 });
    mkdirSync(join(staging, "conversation"), { mode: 0o700 });
    closeSync(openOwnFile(join(staging, "state", "logs", "execution.jsonl"), "create"));
    if (document !== undefined) await writeFileAtomic(join(staging, "state", "workflow.md"), document);
    await writeFileAtomic(join(projectDir, "project.json"), `${JSON.stringify({ root })}\n`, lock);
    await syncDirectory(staging); // a run that is listed has its folders
    failpoint("run.staged");
    lock.assertHeld();
    renameSync(staging, final);
    asFarAsPossible(() => rmdirSync(join(projectDir, STAGED)));
    failpoint("run.placed");
    await syncDirectory(runsDir);
    lock.assertHeld();
    await index.add(run);
    failpoint("run.indexed");
    return ok(run);
  } catch (error) {
    if (error instanceof LockLost || !lock.isHeld()) throw error; // nothing of it is ours any more
    await index.remove(run.runId).catch(() => undefined);
    asFarAsPossible(removeAll);
    if (artifacts.value.made) asFarAsPossible(() => rmdirSync(join(root, "artifacts")));
    return notWritten(error);
  }
}

/** What cannot be undone hides nothing of why it was to be. */
function asFarAsPossible(undo: () => void): void {
  try {
    undo();
  } catch {
    // the next creation removes what is left
  }
}

function makeArtifactsRoot(projectRoot: string): Result<{ made: boolean }> {
  const artifacts = join(projectRoot, "artifacts");
  let made = false;
  try {
    made = mkdirSync(artifacts, { recursive: true }) !== undefined;
    statSync(artifacts); // a link to nothing
    return isClosed(artifacts) ? artifactsClosed() : ok({ made });
  } catch (error) {
    if (made) asFarAsPossible(() => rmdirSync(artifacts));
    return notMade("The project's artifacts directory", "Check the project's permissions.", error);
  }
}

/** Brought here by another user: the model would be refused each of its files, one by one. */
function artifactsClosed(): Failed {
  const sentence = `The project's artifacts directory cannot be written to by ${userHere()}, as whom the worker runs. Check the project's permissions.`;
  return fail("E_PROJECT_INVALID", sentence);
}

function isClosed(dir: string): boolean {
  try {
    accessSync(dir, constants.W_OK);
    return false;
  } catch {
    return true;
  }
}

/** Under the creation lock no other creation is going on: whatever is staged was cut short. Looks through all runs, where earlier versions staged. */
export function removeStaged(projectDir: string): void {
  rmSync(join(projectDir, STAGED), { recursive: true, force: true });
  const runsDir = join(projectDir, "runs");
  for (const name of readdirSync(runsDir)) {
    if (name.startsWith(".tmp-")) rmSync(join(runsDir, name), { recursive: true, force: true });
  }
}

/**
 * Whether a run's folder is missing or was never worked in. One that the index does not list is a creation that a
 * crash cut short; but if it has been worked in, the index has lost it, and nobody may delete it.
 */
export function isPristine(runDir: string): boolean {
  const files = [join(runDir, "state", "logs", "execution.jsonl"), join(runDir, "calls.jsonl")];
  return files.every((file) => sizeOf(file) === 0);
}

function sizeOf(file: string): number {
  try {
    return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
  } catch (error) {
    if (systemCode(error) === "ENOTDIR") return 0;
    throw error;
  }
}

/** What to say of a run that was pruned. */
export function pruned(runId: string, at: string): Failed {
  const sentence = `Run ${runId} was pruned on ${at.slice(0, 10)}: its files are gone, and it goes on no more. Start a new one with: interlock run <package> --project <dir>`;
  return fail("E_RUN_NOT_FOUND", sentence, { prunedAt: at });
}

function notWritten(error: unknown): Failed {
  if (error instanceof DamagedIndex) return fail("E_INDEX_WRITE_FAILED", error.message);
  const code = systemCode(error);
  const reason = code === undefined ? "" : ` (${code})`;
  const remedy = isFull(code) ? " Make room there." : "";
  const sentence = `The run could not be written to the store${reason}. Nothing was kept.${remedy}`;
  return fail("E_INDEX_WRITE_FAILED", sentence);
}
