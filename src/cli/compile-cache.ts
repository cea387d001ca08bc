import { type Stats, lstatSync, mkdirSync, statSync } from "node:fs";
import nodeModule from "node:module";
import { dirname, isAbsolute, join } from "node:path";
import { platformDirectories } from "../environment/platform-directories.js";
import { homeDirectory } from "../store/disk/home-directory.js";

// The types are those of the oldest Node that will do.
const { enableCompileCache } = nodeModule as typeof nodeModule & {
  /** Of Node 22.1 and newer. */
  readonly enableCompileCache?: (directory: string) => unknown;
};

/**
 * Lets Node keep what it has compiled of this program, in a directory beside the fetched Temporal CLI: the next command starts sooner.
 * Does nothing where Node cannot, and where the directory is not of this user alone: what lies there is run.
 */
export function keepCompiledCode(): void {
  if (enableCompileCache === undefined) return;
  const environment = process.env; // oxlint-disable-line node/no-process-env -- config.ts would load all that is to start sooner
  try {
    const { cache } = platformDirectories(environment, process.platform, homeDirectory());
    const place = environment["INTERLOCK_CACHE"] || cache;
    if (place === undefined || !isAbsolute(place)) return;
    const directory = join(place, "compiled");
    if (!isOwn(nearest(directory))) return;
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    const made = lstatSync(directory);
    if (made.isDirectory() && isOwn(made) && (made.mode & 0o022) === 0) enableCompileCache(directory);
  } catch {
    // A command does its work where nothing can be kept.
  }
}

/** What is there of a path. Where that is of another, as for root in the home of a user, whatever is made in it is in the other's way. */
function nearest(path: string): Stats {
  return statSync(path, { throwIfNoEntry: false }) ?? nearest(dirname(path));
}

function isOwn({ uid }: Stats): boolean {
  return uid === process.getuid?.();
}
