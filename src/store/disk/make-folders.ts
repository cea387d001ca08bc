import { mkdirSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { syncDirectory } from "./atomic-file.js";

/**
 * Makes a folder that somebody has named, and those that it lies in: one by one, since where nothing can be made, as in `/proc`, Node's
 * own way to do that never ends. One that is there stays as it is. Their names are durable where the file system can do that. Throws
 * what the system says.
 */
export async function makeFolders(dir: string, mode = 0o777): Promise<void> {
  const missing: string[] = [];
  for (let place = resolve(dir); !isFolder(place); place = dirname(place)) missing.unshift(place);
  for (const place of missing) {
    try {
      mkdirSync(place, { mode });
    } catch (error) {
      if (!isFolder(place)) throw error; // somebody else has made it meanwhile
    }
  }
  await syncMade(missing[0], dir).catch(() => undefined);
}

/** Makes a folder of ours, and those that it lies in, and their names durable. Throws what the system says, also of the latter. */
export async function makeDurable(dir: string, mode = 0o777): Promise<void> {
  await syncMade(mkdirSync(dir, { recursive: true, mode }), dir);
}

/** Makes the names of folders durable, from the first that was made on the way to `dir` down to that one; of none where none was made. */
export async function syncMade(first: string | undefined, dir: string): Promise<void> {
  if (first === undefined) return;
  for (let place = resolve(dir); place.length >= first.length;) {
    place = dirname(place);
    await syncDirectory(place);
  }
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}
