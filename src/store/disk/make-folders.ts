import { mkdirSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";

/**
 * Makes a folder that somebody has named, and those that it lies in: one by one, since where nothing can be made, as in `/proc`, Node's
 * own way to do that never ends. One that is there stays as it is. Throws what the system says.
 */
export function makeFolders(dir: string, mode = 0o777): void {
  const missing: string[] = [];
  for (let place = resolve(dir); !isFolder(place); place = dirname(place)) missing.unshift(place);
  for (const place of missing) {
    try {
      mkdirSync(place, { mode });
    } catch (error) {
      if (!isFolder(place)) throw error; // somebody else has made it meanwhile
    }
  }
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}
