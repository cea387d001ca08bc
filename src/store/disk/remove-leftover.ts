import { unlinkSync } from "node:fs";
import { rm } from "node:fs/promises";

/** Removes a file or folder of a write that is over, or has failed: then that is told, and not why its leftover stays. Never rejects. */
export async function removeLeftover(path: string): Promise<void> {
  await rm(path, { recursive: true, force: true }).catch(() => undefined);
}

/** Removes a file, as far as possible: what cannot be removed must not hide the error that led here. */
export function removeIfPresent(path: string): void {
  try {
    unlinkSync(path);
  } catch {
    // not there any more, or not ours to remove
  }
}
