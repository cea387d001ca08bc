import { chmod, lstat, mkdir, open, opendir, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { syncDirectory } from "./atomic-file.js";
import { type PackageListing, streamPackageFile } from "./package-files.js";

/** An installed package is read-only, and private to the user (contracts §3). */
const SEALED_FILE_MODE = 0o400;
const SEALED_FOLDER_MODE = 0o500;
const OPEN_FOLDER_MODE = 0o700;
const FILES_AT_ONCE = 16;

/** Copies the listed files, and nothing else, into a new directory. Throws `PackageFileRefused`. */
export async function copyPackage(listing: PackageListing, targetDir: string): Promise<void> {
  await mkdir(targetDir, { mode: OPEN_FOLDER_MODE });
  for (const { path, bytes } of listing.files) {
    const target = join(targetDir, path);
    await mkdir(dirname(target), { recursive: true, mode: OPEN_FOLDER_MODE });
    const output = await open(target, "wx", 0o600);
    try {
      for await (const chunk of streamPackageFile(listing.root, path, bytes)) await output.writeFile(chunk);
    } finally {
      await output.close();
    }
  }
}

/** Makes a directory that we filled durable, and then read-only. */
export async function sealTree(listing: PackageListing): Promise<void> {
  for (let start = 0; start < listing.files.length; start += FILES_AT_ONCE) {
    const batch = listing.files.slice(start, start + FILES_AT_ONCE);
    await Promise.all(batch.map((file) => sealFile(join(listing.root, file.path))));
  }
  for (const folder of foldersOf(listing)) {
    await syncDirectory(folder);
    await chmod(folder, SEALED_FOLDER_MODE);
  }
}

async function sealFile(path: string): Promise<void> {
  const handle = await open(path, "r+");
  try {
    await handle.sync();
    await handle.chmod(SEALED_FILE_MODE);
  } finally {
    await handle.close();
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
