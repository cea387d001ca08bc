import { rm } from "node:fs/promises";

/** Removes a file or folder of a write that is over, or has failed: then that is told, and not why its leftover stays. Never rejects. */
export async function removeLeftover(path: string): Promise<void> {
  await rm(path, { recursive: true, force: true }).catch(() => undefined);
}
