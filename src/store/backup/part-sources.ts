import { type Dirent, lstatSync, readdirSync } from "node:fs";
import { join, relative, sep } from "node:path";
import { isTransient } from "../runs/run-archive.js";
import { folderOfPart } from "./backup-format.js";
import type { PartSource } from "./take-part.js";

/** Files without a log among them, and without a folder that would have to be there empty. */
const PLAIN = { isLog: () => false, folders: () => [] };

/**
 * The store's own files: its name, its roots, and which signed starts were used. No secret, none of the settings, and nothing of an
 * embedded server.
 */
export function ownFiles(storeDir: string): PartSource {
  return {
    ...PLAIN,
    dir: storeDir,
    list() {
      const used = filesIn(storeDir, "starts").filter((path) => /^starts\/[0-9a-f]+\.json$/.test(path));
      return ["roots.json", ...used, "store.json"];
    },
  };
}

/** The files of a project beside its runs. */
export function projectFiles(storeDir: string, part: string): PartSource {
  const dir = join(storeDir, ...folderOfPart(part));
  return {
    ...PLAIN,
    dir,
    list: () => {
      const names = readdirSync(dir).filter((name) => name !== "runs" && name !== "trash");
      return names.flatMap((name) => filesIn(dir, name)).filter((path) => !isTransient(path));
    },
  };
}

export function runFiles(storeDir: string, part: string): PartSource {
  const dir = join(storeDir, ...folderOfPart(part));
  return {
    dir,
    isLog: (path) =>
      path.startsWith("state/") ? path === "state/logs/execution.jsonl" : path.endsWith(".jsonl"),
    list: () => filesBelow(dir).filter((path) => !isTransient(path)),
    folders: () =>
      below(dir, (entry) => entry.isDirectory())
        .filter((path) => path !== "live")
        .sort(),
  };
}

export function packageFiles(storeDir: string, part: string): PartSource {
  const dir = join(storeDir, ...folderOfPart(part));
  return { ...PLAIN, dir, list: () => filesBelow(dir), mtimeMs: () => lstatSync(dir).mtimeMs };
}

/** The packages of a store; those that are being installed are none yet. */
export function packageParts(storeDir: string): readonly string[] {
  const names = namesIn(join(storeDir, "packages"));
  return names.filter((name) => !name.startsWith(".")).map((name) => `packages/${name}`);
}

export function projectIds(storeDir: string): readonly string[] {
  return namesIn(join(storeDir, "projects")).filter((name) => /^[a-z0-9-]{1,80}$/.test(name));
}

/** One file, or those in a folder; none where nothing is. Links are none. */
function filesIn(dir: string, name: string): readonly string[] {
  try {
    return filesBelow(join(dir, name)).map((path) => `${name}/${path}`);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOTDIR") return [name];
    if (code === "ENOENT") return [];
    throw error;
  }
}

function filesBelow(dir: string): readonly string[] {
  return below(dir, (entry) => entry.isFile());
}

function below(dir: string, isWanted: (entry: Dirent) => boolean): string[] {
  const entries = readdirSync(dir, { recursive: true, withFileTypes: true });
  return entries
    .filter(isWanted)
    .map((entry) => relative(dir, join(entry.parentPath, entry.name)).split(sep).join("/"));
}

function namesIn(dir: string): readonly string[] {
  try {
    return readdirSync(dir).sort();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
}
