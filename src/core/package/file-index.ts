import { addToList } from "../add-to-list.js";
import { foldPath } from "./package-path.js";

/** The files of a package by every name that a check asks for; paths are canonical. */
export interface FileIndex {
  readonly paths: ReadonlySet<string>;
  readonly folders: ReadonlySet<string>;
  /** By the spelling that a case-insensitive file system would see. */
  readonly byFold: ReadonlyMap<string, string>;
  /** By the last name of the path. */
  readonly byName: ReadonlyMap<string, readonly string[]>;
}

export function indexFiles(paths: readonly string[]): FileIndex {
  const folders = new Set<string>();
  const byFold = new Map<string, string>();
  const byName = new Map<string, string[]>();
  for (const path of paths) {
    byFold.set(foldPath(path), path);
    addToList(byName, lastName(path), path);
    for (let slash = path.lastIndexOf("/"); slash > 0; slash = path.lastIndexOf("/", slash - 1)) {
      folders.add(path.slice(0, slash));
    }
  }
  return { paths: new Set(paths), folders, byFold, byName };
}

export function lastName(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}
