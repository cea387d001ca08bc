import { lstatSync, mkdirSync } from "node:fs";
import nodeModule from "node:module";
import { join } from "node:path";
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
export function keepCompiledCode(environment: NodeJS.ProcessEnv): void {
  if (enableCompileCache === undefined) return;
  const place = environment["INTERLOCK_CACHE"] || placeOfUser(environment);
  if (place === undefined) return;
  const directory = join(place, "compiled");
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    if (isOwn(directory) && (lstatSync(directory).mode & 0o022) === 0) enableCompileCache(directory);
  } catch {
    // A command does its work where nothing can be kept.
  }
}

/** Undefined as well for who works in the home of another, as `sudo` has it: what would be made there is in the other's way. */
function placeOfUser(environment: NodeJS.ProcessEnv): string | undefined {
  const home = homeDirectory();
  return home !== undefined && isOwn(home)
    ? platformDirectories(environment, process.platform, home).cache
    : undefined;
}

function isOwn(directory: string): boolean {
  const found = lstatSync(directory, { throwIfNoEntry: false });
  return found?.isDirectory() === true && found.uid === process.getuid?.();
}
