import { isUtf8 } from "node:buffer";
import { constants, accessSync, renameSync } from "node:fs";
import { join } from "node:path";
import type { Fault } from "../../core/errors.js";
import { failpoint } from "../../core/failpoint.js";
import { isSha256 } from "../../core/sha256.js";
import { type AliasPath, describeAliasPath } from "../../core/tools/alias-path.js";
import { foldName } from "../../core/tools/name-rules.js";
import { type HeldLock, LockLost, withFileLock } from "../../store/disk/fenced-lock.js";
import { removeIfPresent } from "../../store/disk/remove-leftover.js";
import { sha256 } from "../../store/disk/sha256.js";
import { syncWritten } from "../../store/disk/sync-together.js";
import { sameIdentity } from "../../store/roots/root-places.js";
import { HookFailure, Refusal, systemErrorCode } from "../sandbox/faults.js";
import { type PinnedEntry, isStillAt, pinIfPresent } from "../sandbox/pinned-entry.js";
import { makeTemporaryFile, removeAbandonedFile, removeUnnoted } from "../sandbox/temporary-file.js";
import { type Workspace, mountOf } from "../sandbox/workspace.js";
import { type WriteTarget, openWriteTarget, syncDirectory } from "../sandbox/write-target.js";
import { MAX_HASHED_BYTES, hashFile, readPinned } from "./read.js";

/** A write that has passed every check. */
export interface PlannedWrite {
  /** The path that was asked for, in its one spelling. */
  readonly path: AliasPath;
  /** The same place after links were resolved. */
  readonly resolvedPath: AliasPath;
  readonly created: boolean;
  readonly sha256Before?: string;
  readonly sha256After: string;
  readonly bytes: number;
}

/** What else belongs to a write. The hooks run under the file's lock and must not write files by this tool. */
export interface WriteHooks {
  /** Throws when the write is not the caller's to make any more: somebody else has taken it over. Nothing is undone. */
  readonly assertOurs?: () => void;
  /** Called after every check, before the bytes become visible. A fault becomes the result; with it, or a rejection, nothing is changed. */
  readonly beforeCommit?: (write: PlannedWrite) => Promise<Fault | undefined>;
  /**
   * Called when the bytes are visible. A fault becomes the result; it, or a rejection, undoes a CREATED file
   * and the directories this call made for it. An overwritten file stays as it is by then. `placed` resolves when the file's name is
   * durable: nothing that tells of the file may become visible before.
   */
  readonly afterCommit?: (write: PlannedWrite, placed: Promise<void>) => Promise<Fault | undefined>;
  /**
   * What an earlier, interrupted attempt of the same call had planned. If the file now holds exactly these
   * bytes, they are taken as written by it; `afterCommit` still runs.
   */
  readonly earlierAttempt?: PlannedWrite;
  /** Told what the file holds, as a whole, when the write has succeeded. */
  readonly written?: (bytes: Uint8Array) => void;
}

const MAX_ATTEMPTS = 8;

/** What a file is to hold, from what it holds: text in UTF-8. */
export interface Rewrite {
  /** What has more is not looked at: a log may have gigabytes. */
  readonly maxBytes: number;
  /** Throws `Refusal`, as for what was not looked at: undefined. */
  readonly from: (there: Buffer | undefined) => Buffer;
}

/** What is to be written, before anything of it was checked against the file that is there. */
export interface Draft {
  readonly path: AliasPath;
  readonly bytes: Buffer;
  readonly sha256: string;
  readonly ifMatchSha256: string | undefined;
  /** Makes the bytes from those that are there; a file that is not there gets them as they are. */
  readonly rewrite?: Rewrite;
  /** A file that is not there is not made. */
  readonly mustExist?: true;
}

/** What the file holds when it is written. */
export type Whole = Pick<Draft, "bytes" | "sha256">;

function missing(path: AliasPath): Refusal {
  return new Refusal("ENOENT", `${describeAliasPath(path)} does not exist. Use fs.write to make it.`);
}

/** The way to the file changed between finding it and locking it: find it again. */
class TargetMoved extends Refusal {
  constructor(path: AliasPath) {
    super("E_PRECONDITION_FAILED", `${describeAliasPath(path)} kept changing. Nothing was written.`);
  }
}

/**
 * Writes a draft under its file's lock, as `writeFile` in write.ts says; where the way to the file changes meanwhile, again. Gives
 * what the file then holds. Throws `Refusal`, a system error, or what a hook threw.
 */
export async function writeDraft(workspace: Workspace, draft: Draft, hooks: WriteHooks): Promise<Whole> {
  for (let attempt = 1; ; attempt += 1) {
    let target: WriteTarget | undefined;
    try {
      const mayMake = draft.ifMatchSha256 === undefined && draft.mustExist !== true;
      target = openWriteTarget(workspace, draft.path, mayMake);
      if (target === undefined) {
        throw draft.mustExist === true ? missing(draft.path) : mismatch(draft, undefined);
      }
      return await replaceUnderLock({ workspace, draft, hooks, target });
    } catch (error) {
      target?.removeMade();
      // A directory that was just found can be gone again: another call may have made and removed it.
      const hasMoved =
        error instanceof TargetMoved || error instanceof LockLost || systemErrorCode(error) === "ENOENT";
      if (!hasMoved || attempt === MAX_ATTEMPTS) throw error;
    } finally {
      target?.close();
    }
  }
}

interface Job {
  readonly workspace: Workspace;
  readonly draft: Draft;
  readonly hooks: WriteHooks;
  readonly target: WriteTarget;
}

/** A job while the lock of its target is held. */
interface LockedJob extends Job {
  readonly lock: HeldLock;
  /** Names the temporary file, for whoever finds it. */
  readonly noteFile: string;
}

function assertOurs({ hooks, lock }: LockedJob): void {
  try {
    hooks.assertOurs?.();
  } catch (error) {
    throw new HookFailure(error);
  }
  lock.assertHeld();
}

/**
 * The lock stands for directory and name, whatever the path to them; names that a file system might take
 * for one share it. There are 256 of them: writers of different files seldom wait for each other.
 */
async function replaceUnderLock(job: Job): Promise<Whole> {
  const { workspace, target } = job;
  const { dev, ino } = target.directory.stats;
  const key = sha256(`${dev}:${ino}/${foldName(target.name)}`);
  const slot = join(workspace.lockDir, `write-${key.slice(0, 2)}`);
  const noteFile = `${slot}.json`;
  return withFileLock(
    `${slot}.lock`,
    async (lock) => {
      const wasTorn = removeAbandonedFile(workspace.pins, noteFile);
      if (wasTorn || job.hooks.earlierAttempt !== undefined) removeUnnoted(target.directory, noteFile);
      const old = pinIfPresent(workspace.pins, target.directory, target.name);
      try {
        return await replace({ ...job, lock, noteFile }, old);
      } finally {
        old?.close();
      }
    },
    () => void removeAbandonedFile(workspace.pins, noteFile),
  );
}

async function replace(asked: LockedJob, old: PinnedEntry | undefined): Promise<Whole> {
  const { hooks, target } = asked;
  assertOurs(asked);
  const sha256Before = await checkOld(asked, old);
  const earlier = hooks.earlierAttempt;
  const draft = await wholeDraft(asked, old, sha256Before);
  const job = { ...asked, draft };
  if (old !== undefined && sha256Before === draft.sha256 && earlier?.sha256After === draft.sha256) {
    await settle(job, earlier, old);
    return draft;
  }
  if (draft.ifMatchSha256 !== undefined && draft.ifMatchSha256 !== sha256Before) {
    throw mismatch(draft, sha256Before);
  }
  if (old !== undefined) accessSync(old.at, constants.W_OK);
  const plan: PlannedWrite = {
    path: draft.path,
    resolvedPath: target.resolvedPath,
    created: old === undefined,
    ...(sha256Before === undefined ? {} : { sha256Before }),
    sha256After: draft.sha256,
    bytes: draft.bytes.length,
  };
  const written = await commit(job, plan, old);
  try {
    await settle(job, plan, written);
    return draft;
  } finally {
    written.close();
  }
}

/** What the file is to hold as a whole. What an earlier attempt has made of it is not made again. */
async function wholeDraft(
  { workspace, draft, hooks }: LockedJob,
  old: PinnedEntry | undefined,
  sha256Before: string | undefined,
): Promise<Draft> {
  const { rewrite, path } = draft;
  if (old === undefined && draft.mustExist === true) throw missing(path);
  if (rewrite === undefined || old === undefined) return draft;
  const there = isTooLong(draft, old) ? undefined : await readPinned(workspace.pins, old);
  const isDone = sha256Before !== undefined && hooks.earlierAttempt?.sha256After === sha256Before;
  if (there !== undefined && isDone) return { ...draft, bytes: there, sha256: sha256Before };
  if (there !== undefined && !isUtf8(there)) {
    const sentence = `${describeAliasPath(path)} is not a UTF-8 text: it can only be written as a whole.`;
    throw new Refusal("TOOL_ARGS_INVALID", sentence);
  }
  const bytes = rewrite.from(there);
  return { ...draft, bytes, sha256: sha256(bytes) };
}

/** Whether a file has too much to be hashed and looked at. */
function isTooLong({ rewrite }: Draft, { stats }: PinnedEntry): boolean {
  return stats.size > (rewrite?.maxBytes ?? MAX_HASHED_BYTES);
}

/** The hash of the file that is there, if any and if it is looked at; refuses what is no file. */
async function checkOld(job: Job, old: PinnedEntry | undefined): Promise<string | undefined> {
  if (old === undefined) return undefined;
  const { path } = job.draft;
  switch (old.kind) {
    case "link":
      throw new TargetMoved(path);
    case "directory":
      throw new Refusal("TOOL_ARGS_INVALID", `${describeAliasPath(path)} is a directory.`);
    case "other":
      throw new Refusal("E_SANDBOX_VIOLATION", `${describeAliasPath(path)} is not a regular file.`);
    case "file":
      return isTooLong(job.draft, old) ? undefined : hashFile(job.workspace.pins, old);
  }
}

/** Makes the bytes visible; gives back the file that now has the name. */
async function commit(
  job: LockedJob,
  plan: PlannedWrite,
  old: PinnedEntry | undefined,
): Promise<PinnedEntry> {
  const { workspace, draft, hooks, target, lock, noteFile } = job;
  const { pins, writer } = workspace;
  const mode = mountOf(workspace, draft.path).isPrivate ? 0o600 : 0o666;
  try {
    const file = { bytes: draft.bytes, replaces: old, mode };
    const temporary = await makeTemporaryFile(pins, target.directory, file, { path: noteFile, writer });
    try {
      refuseFor(await callHook(() => hooks.beforeCommit?.(plan)));
      await Promise.all([temporary.synced, callHook(syncWritten)]);
      const now = pinIfPresent(pins, target.directory, target.name);
      now?.close();
      if (!isUnchanged(old, now)) {
        throw new Refusal(
          "E_PRECONDITION_FAILED",
          `${describeAliasPath(draft.path)} was changed by somebody else meanwhile. Nothing was written.`,
        );
      }
      failpoint("write.before-rename");
      assertOurs(job);
      renameSync(temporary.path, `${target.directory.at}/${target.name}`);
      failpoint("write.renamed");
      return temporary.entry;
    } catch (error) {
      await Promise.allSettled([temporary.synced]);
      temporary.remove();
      temporary.entry.close();
      throw error;
    }
  } finally {
    if (lock.isHeld()) removeIfPresent(noteFile);
  }
}

function isUnchanged(old: PinnedEntry | undefined, now: PinnedEntry | undefined): boolean {
  if (old === undefined || now === undefined) return old === now;
  return (
    sameIdentity(old.stats, now.stats) &&
    old.stats.mtimeNs === now.stats.mtimeNs &&
    old.stats.size === now.stats.size
  );
}

function isOurs(job: LockedJob): boolean {
  try {
    assertOurs(job);
    return true;
  } catch {
    return false;
  }
}

/** Makes the write durable and lets the caller add what belongs to it; undoes a created file if that fails. */
async function settle(job: LockedJob, plan: PlannedWrite, written: PinnedEntry) {
  const { hooks, target } = job;
  const { directory, name } = target;
  const placed = syncNames(target);
  try {
    const [isPlaced, told] = await Promise.allSettled([
      placed,
      callHook(() => hooks.afterCommit?.(plan, placed)),
    ]);
    if (isPlaced.status === "rejected")
      throw plan.created ? isPlaced.reason : notDurable(plan, isPlaced.reason);
    if (told.status === "rejected") throw told.reason;
    refuseFor(told.value);
  } catch (error) {
    if (plan.created && isOurs(job)) {
      const at = `${directory.at}/${name}`;
      if (isStillAt(at, written)) removeIfPresent(at);
    }
    throw error;
  }
}

/** What was overwritten is gone by then: that nothing has changed would not be true. */
function notDurable({ path }: PlannedWrite, error: unknown): unknown {
  const code = systemErrorCode(error);
  if (code === undefined) return error;
  const sentence = `${describeAliasPath(path)} was overwritten, but the system could not make that durable (${code}). Read it before you write it again.`;
  return new Refusal("E_INTERNAL", sentence);
}

/** Makes the name of a write durable, and those of the directories that were made for it. */
async function syncNames({ directory, parentsOfMade }: WriteTarget): Promise<void> {
  await syncDirectory(directory);
  for (const parent of parentsOfMade) await syncDirectory(parent);
  failpoint("write.durable");
}

function refuseFor(fault: Fault | undefined): void {
  if (fault !== undefined) throw new Refusal(fault.code, fault.message, fault.details);
}

async function callHook<T>(hook: () => Promise<T> | undefined): Promise<T | undefined> {
  try {
    return await hook();
  } catch (error) {
    throw new HookFailure(error);
  }
}

function mismatch({ path, ifMatchSha256 = "" }: Draft, actual: string | undefined): Refusal {
  const what = actual === undefined ? "does not exist or cannot be compared" : "has changed";
  return new Refusal(
    "E_PRECONDITION_FAILED",
    `${describeAliasPath(path)} ${what}: its content is not the one ifMatchSha256 names. Read it again.`,
    // What is no hash may be anything, a path of this machine as well: it is not said again.
    {
      ...(isSha256(ifMatchSha256) ? { expectedSha256: ifMatchSha256 } : {}),
      actualSha256: actual ?? null,
    },
  );
}
