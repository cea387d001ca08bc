import { rm } from "node:fs/promises";

/** Removes a test's folder, also while a process that ends by itself, such as the server of a dead worker, still leaves a file in it. */
export function removeFolder(dir: string): Promise<void> {
  return rm(dir, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
}
