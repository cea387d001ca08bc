import { randomBytes } from "node:crypto";
import { open, rename, unlink } from "node:fs/promises";
import { dirname, join } from "node:path";

/**
 * Replaces a file of the store so that a reader sees the old bytes or the new ones, never half: temporary
 * file → fsync → rename in the same directory → fsync of the directory. On failure the old file stays and
 * the temporary one is removed.
 */
export async function writeFileAtomic(path: string, bytes: Uint8Array | string, mode = 0o600): Promise<void> {
  const temporary = join(dirname(path), `.tmp-${randomBytes(6).toString("hex")}`);
  try {
    const handle = await open(temporary, "wx", mode);
    try {
      await handle.writeFile(bytes);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(temporary, path);
  } catch (error) {
    await unlink(temporary).catch(() => undefined);
    throw error;
  }
  await syncDirectory(dirname(path));
}

/** Makes the names in a directory durable. Platforms that cannot open a directory do without. */
export async function syncDirectory(path: string): Promise<void> {
  if (process.platform === "win32") return;
  const handle = await open(path, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
