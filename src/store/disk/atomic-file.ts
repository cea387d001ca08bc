import { randomBytes } from "node:crypto";
import { closeSync, fsync, readdirSync, renameSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { promisify } from "node:util";
import { failpoint } from "../../core/failpoint.js";
import { type HeldLock, NO_LOCK } from "./fenced-lock.js";
import { openOwnFile, openOwnFolder } from "./own-file.js";
import { removeIfPresent } from "./remove-leftover.js";
import { syncWritten } from "./sync-together.js";

/**
 * Makes what was written to an open file durable. The one call worth a thread: the others take microseconds, less than
 * the way through the thread pool.
 */
export const syncFile = promisify(fsync);

/**
 * Replaces a file of the store so that a reader sees the old bytes or the new ones, never half: temporary
 * file → fsync → rename in the same directory → fsync of the directory. On failure the old file stays and
 * the temporary one is removed. `lock` is the one that all who replace this file hold: a temporary file that a crash
 * has left is removed, and who has lost the lock is refused. Its `takeOver` is `removeTemporaries`.
 *
 * Temporary files are looked for in a whole directory: where that gets ever more files, they have a folder of their own in it, `temporaries`.
 * What has to be durable before the new bytes are seen is `first`: it goes on while they are written.
 */
export async function writeFileAtomic(
  path: string,
  bytes: Uint8Array | string,
  lock: HeldLock = NO_LOCK,
  {
    temporaries = dirname(path),
    first,
  }: { readonly temporaries?: string; readonly first?: Promise<void> } = {},
): Promise<void> {
  lock.assertHeld();
  removeTemporaries(path, temporaries);
  const temporary = temporaryPathFor(join(temporaries, basename(path)));
  try {
    const fd = openOwnFile(temporary, "create");
    try {
      writeFileSync(fd, bytes);
      failpoint("file.temporary-written");
      await Promise.all([syncFile(fd), syncWritten(), first]);
      failpoint("file.temporary-synced");
    } finally {
      closeSync(fd);
    }
    lock.assertHeld();
    renameSync(temporary, path);
    failpoint("file.renamed");
  } catch (error) {
    removeIfPresent(temporary);
    throw error;
  }
  await syncDirectory(dirname(path));
  lock.assertHeld();
}

/** Removes what interrupted calls of `writeFileAtomic` have left of this file. The caller holds the file's lock. */
export function removeTemporaries(path: string, temporaries = dirname(path)): void {
  const left = temporariesIn(temporaries);
  for (const { file, temporary } of left) if (file === basename(path)) removeIfPresent(temporary);
}

/** The same of all files of a directory. The caller holds the lock of them all. */
export function removeAllTemporaries(directory: string): void {
  for (const { temporary } of temporariesIn(directory)) removeIfPresent(temporary);
}

function temporariesIn(directory: string): readonly { readonly file: string; readonly temporary: string }[] {
  return readdirSync(directory).flatMap((name) => {
    const file = /^\.tmp-(.+)-[0-9a-f]{12}$/.exec(name)?.[1];
    return file === undefined ? [] : [{ file, temporary: join(directory, name) }];
  });
}

/** A name in the directory of a file for what is going to take its place. */
export function temporaryPathFor(path: string): string {
  return join(dirname(path), `.tmp-${basename(path)}-${randomBytes(6).toString("hex")}`);
}

/** Makes the bytes of a file of ours durable that is there. Throws as `openOwnFile`. */
export async function syncOwnFile(path: string): Promise<void> {
  const fd = openOwnFile(path, "read-write");
  try {
    await syncFile(fd);
  } finally {
    closeSync(fd);
  }
}

/** Makes the names in a directory durable. Platforms that cannot open a directory do without. */
export async function syncDirectory(path: string): Promise<void> {
  if (process.platform === "win32") return;
  const fd = openOwnFolder(path);
  try {
    await syncFile(fd);
  } finally {
    closeSync(fd);
  }
}
