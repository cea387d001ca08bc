import { randomBytes } from "node:crypto";
import { closeSync, fsync, openSync, renameSync, unlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { failpoint } from "../core/failpoint.js";

/**
 * Makes what was written to an open file durable. The one call worth a thread: the others take microseconds, less than
 * the way through the thread pool.
 */
export const syncFile = promisify(fsync);

/**
 * Replaces a file of the store so that a reader sees the old bytes or the new ones, never half: temporary
 * file → fsync → rename in the same directory → fsync of the directory. On failure the old file stays and
 * the temporary one is removed.
 */
export async function writeFileAtomic(path: string, bytes: Uint8Array | string, mode = 0o600): Promise<void> {
  const temporary = join(dirname(path), `.tmp-${randomBytes(6).toString("hex")}`);
  try {
    const fd = openSync(temporary, "wx", mode);
    try {
      writeFileSync(fd, bytes);
      failpoint("file.temporary-written");
      await syncFile(fd);
      failpoint("file.temporary-synced");
    } finally {
      closeSync(fd);
    }
    renameSync(temporary, path);
    failpoint("file.renamed");
  } catch (error) {
    removeIfThere(temporary);
    throw error;
  }
  await syncDirectory(dirname(path));
}

/** Whether a name is one that `writeFileAtomic` uses until it is done. */
export function isTemporaryName(name: string): boolean {
  return /^\.tmp-[0-9a-f]{12}$/.test(name);
}

/** Makes the names in a directory durable. Platforms that cannot open a directory do without. */
export async function syncDirectory(path: string): Promise<void> {
  if (process.platform === "win32") return;
  const fd = openSync(path, "r");
  try {
    await syncFile(fd);
  } finally {
    closeSync(fd);
  }
}

function removeIfThere(path: string): void {
  try {
    unlinkSync(path);
  } catch {
    // it was never made
  }
}
