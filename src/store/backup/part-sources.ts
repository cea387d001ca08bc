import { type Dirent, lstatSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { NotOurFile, standsThere } from "../disk/own-file.js";
import { isProjectId } from "../runs/project-id.js";
import { STAGED } from "../runs/place-run.js";
import { isTransient } from "../runs/run-archive.js";
import { folderOfPart } from "./backup-format.js";
import type { Listing, PartSource } from "./take-part.js";

/**
 * The store's own files: its name, its roots, and which signed starts were used. No secret, none of the settings, and nothing of an
 * embedded server.
 */
export function ownFiles(storeDir: string, { withRoots }: { readonly withRoots: boolean }): PartSource {
  return {
    dir: storeDir,
    isLog: () => false,
    list() {
      const dir = join(storeDir, "starts");
      const names = standsThere(dir) ? walk(dir, () => false).files : [];
      const used = names.filter((name) => /^[0-9a-f]+\.json$/.test(name)).map((name) => `starts/${name}`);
      return { files: [...(withRoots ? ["roots.json"] : []), ...used, "store.json"], folders: [] };
    },
  };
}

/** The files of a project beside its runs. */
export function projectFiles(storeDir: string, part: string): PartSource {
  const dir = join(storeDir, ...folderOfPart(part));
  const isNotIts = (path: string): boolean => ["runs", "trash", STAGED].includes(path);
  return {
    dir,
    isLog: (path) => path === "runs.jsonl",
    list: () => ({ files: walk(dir, (path) => isNotIts(path) || isTransient(path)).files, folders: [] }),
  };
}

export function runFiles(storeDir: string, part: string): PartSource {
  const dir = join(storeDir, ...folderOfPart(part));
  return {
    dir,
    isLog: (path) =>
      path.startsWith("state/") ? path === "state/logs/execution.jsonl" : path.endsWith(".jsonl"),
    list: () => walk(dir, (path, isFolder) => (isFolder ? path === "live" : isTransient(path))),
  };
}

export function packageFiles(storeDir: string, part: string): PartSource {
  const dir = join(storeDir, ...folderOfPart(part));
  return {
    dir,
    isLog: () => false,
    list: () => ({ files: walk(dir, () => false).files, folders: [] }),
    mtimeMs: () => lstatSync(dir).mtimeMs,
  };
}

/** What may be a part, by its name. A link may be one, and is refused when it is looked into. */
export interface PossiblePart {
  readonly part: string;
  /** No: a stray file, if it was never anything else. */
  readonly isFile: boolean;
}

/** What lies in the folder of all packages, or of all projects. Packages that are being installed are none yet. */
export function possibleParts(storeDir: string, kind: "packages" | "projects"): readonly PossiblePart[] {
  const isOne = (name: string): boolean => (kind === "projects" ? isProjectId(name) : !name.startsWith("."));
  return entriesOf(join(storeDir, kind))
    .filter(({ name }) => isOne(name))
    .map((entry) => ({ part: `${kind}/${entry.name}`, isFile: entry.isFile() }))
    .sort((a, b) => (a.part < b.part ? -1 : 1));
}

/**
 * The files below a folder, and its folders, each after the one that it lies in. Throws `NotOurFile` for a link and the like: what it
 * has taken the place of would be missing in the backup. So would be what no path of ours leads to.
 */
function walk(dir: string, isLeftOut: (path: string, isFolder: boolean) => boolean): Listing {
  const files: string[] = [];
  const folders = [""];
  for (const folder of folders) {
    for (const entry of entriesOf(join(dir, ...folder.split("/")))) {
      const path = folder === "" ? entry.name : `${folder}/${entry.name}`;
      if (isLeftOut(path, entry.isDirectory())) continue;
      const at = join(dir, ...path.split("/"));
      if (entry.name.includes(UNREADABLE) && !standsThere(at)) throw new NotOurFile(at, "named in no UTF-8");
      if (entry.isDirectory()) folders.push(path);
      else if (entry.isFile()) files.push(path);
      else throw new NotOurFile(at, kindOf(entry));
    }
  }
  return { files, folders: folders.slice(1).sort() };
}

/** What stands in a name for bytes that are no UTF-8. */
const UNREADABLE = "\uFFFD";

/** Throws `NotOurFile` where no folder is. */
function entriesOf(dir: string): readonly Dirent[] {
  const entry = lstatSync(dir);
  if (!entry.isDirectory()) throw new NotOurFile(dir, entry.isFile() ? "a file" : kindOf(entry));
  return readdirSync(dir, { withFileTypes: true });
}

function kindOf(entry: Pick<Dirent, "isSymbolicLink">): string {
  return entry.isSymbolicLink() ? "a link" : "no regular file";
}
