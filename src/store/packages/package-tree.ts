import { closeSync, fchmodSync, mkdirSync, writeFileSync } from "node:fs";
import { chmod, lstat, opendir, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { syncDirectory, syncFile } from "../disk/atomic-file.js";
import { openOwnFile } from "../disk/own-file.js";
import { type PackageListing, streamPackageFile } from "./package-files.js";
import { someAtOnce } from "../../core/some-at-once.js";

/** An installed package is read-only, and private to the user (contracts §3). */
const SEALED_FILE_MODE = 0o400;
const SEALED_FOLDER_MODE = 0o500;
const OPEN_FOLDER_MODE = 0o700;
const FILES_AT_ONCE = 16;

/** Copies the listed files, and nothing else, into a new directory. Throws `PackageFileRefused`. */
export async function copyPackage(listing: PackageListing, targetDir: string): Promise<void> {
  mkdirSync(targetDir, { mode: OPEN_FOLDER_MODE });
  makeFolders(
    targetDir,
    listing.files.map((file) => file.path),
  );
  for (const { path, bytes } of listing.files) {
    const output = openOwnFile(join(targetDir, path), "create");
    try {
      for await (const chunk of streamPackageFile(listing.root, path, bytes)) writeFileSync(output, chunk);
    } finally {
      closeSync(output);
    }
  }
}

/** Makes the folders that files will lie in. */
export function makeFolders(targetDir: string, paths: readonly string[]): void {
  for (const folder of new Set(paths.map((path) => dirname(path)))) {
    mkdirSync(join(targetDir, folder), { recursive: true, mode: OPEN_FOLDER_MODE });
  }
}

/** Makes a directory that we filled durable, and then read-only. */
export async function sealTree(listing: PackageListing): Promise<void> {
  await someAtOnce(listing.files, FILES_AT_ONCE, ({ path }) => sealFile(join(listing.root, path)));
  for (const folder of foldersOf(listing)) {
    await syncDirectory(folder);
    await chmod(folder, SEALED_FOLDER_MODE);
  }
}

async function sealFile(path: string): Promise<void> {
  const file = openOwnFile(path, "read-write");
  try {
    await syncFile(file);
    fchmodSync(file, SEALED_FILE_MODE);
  } finally {
    closeSync(file);
  }
}

/** Deepest first, the root last. */
function foldersOf(listing: PackageListing): readonly string[] {
  const folders = new Set<string>();
  for (const { path } of listing.files) {
    for (let folder = dirname(path); folder !== "."; folder = dirname(folder)) folders.add(folder);
  }
  const deepestFirst = [...folders].sort((a, b) => b.length - a.length);
  return [...deepestFirst.map((folder) => join(listing.root, folder)), listing.root];
}

/** Deletes a directory of the store, read-only or not, following no links. A missing one is no error. */
export async function removeTree(dir: string): Promise<void> {
  const entry = await lstat(dir).catch(() => undefined);
  if (entry?.isDirectory() === true) await openTree(dir);
  await rm(dir, { recursive: true, force: true });
}

async function openTree(dir: string): Promise<void> {
  await chmod(dir, OPEN_FOLDER_MODE);
  for await (const entry of await opendir(dir)) {
    if (entry.isDirectory()) await openTree(join(dir, entry.name));
  }
}
