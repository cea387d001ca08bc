import { closeSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { withFileLock } from "../disk/fenced-lock.js";
import { openOwnFile, standsThere } from "../disk/own-file.js";
import { isInside, parentsOf } from "../roots/root-places.js";
import { futurePath } from "../roots/roots.js";
import { MANIFEST_FILE, PARTS_FOLDER } from "./backup-format.js";
import { BackupError } from "./manifest.js";
import { codeOf } from "./unreadable.js";

const LOCK_FILE = "backup.lock";

/** Brings a backup up to date while nobody else does, or reads it. */
export function withBackupLock<T>(dir: string, action: () => Promise<T>): Promise<T> {
  return withFileLock(join(dir, LOCK_FILE), action);
}

/** Reads a backup while nobody brings it up to date. Where we may not write, no lock can be taken: of a copy that is only read. */
export function whileUnchanged<T>(dir: string, action: () => Promise<T>): Promise<T> {
  return canLock(dir) ? withBackupLock(dir, action) : action();
}

function canLock(dir: string): boolean {
  try {
    closeSync(openOwnFile(join(dir, LOCK_FILE), "append"));
    return true;
  } catch (error) {
    if (["EACCES", "EPERM", "EROFS"].includes(codeOf(error) ?? "")) return false;
    throw error;
  }
}

/** A store is put neither into a backup, whose folders are swept, nor into another store. */
export function refuseInside(to: string): void {
  const place = futurePath(to);
  if (place === undefined) return;
  for (const outer of parentsOf(place).slice(1)) {
    const what = isBackup(outer) ? "a backup" : isStore(outer) ? "a store" : undefined;
    if (what !== undefined) {
      throw new BackupError(`${to} lies in ${what} (${outer}). Name a folder outside of it.`);
    }
  }
}

function isBackup(dir: string): boolean {
  return standsThere(join(dir, MANIFEST_FILE)) && standsThere(join(dir, PARTS_FOLDER));
}

function isStore(dir: string): boolean {
  return (
    standsThere(join(dir, "store.json")) &&
    ["roots.json", "packages", "projects"].some((name) => standsThere(join(dir, name)))
  );
}

export function refuseNested(storeDir: string, dir: string): void {
  const [store, backup] = [futurePath(storeDir) ?? storeDir, futurePath(dir) ?? dir];
  if (!isInside(store, backup) && !isInside(backup, store)) return;
  throw new BackupError(
    `A backup lies outside of its store, and its store outside of it. Name another folder than ${dir}.`,
  );
}

/** A folder with other things in it is nobody's backup. */
export function refuseForeign(dir: string): void {
  const foreign = readdirSync(dir).find(
    (name) => ![MANIFEST_FILE, PARTS_FOLDER, LOCK_FILE].includes(name) && !name.startsWith(".tmp-"),
  );
  if (foreign === undefined) return;
  throw new BackupError(
    `${dir} holds other things than a backup ("${foreign}"). Name an empty folder, or a new one.`,
  );
}
