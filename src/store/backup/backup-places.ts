import { closeSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { systemCode, systemWords } from "../../core/system-code.js";
import { withFileLock } from "../disk/fenced-lock.js";
import { makeFolders } from "../disk/make-folders.js";
import { NotOurFile, openOwnFile, standsThere } from "../disk/own-file.js";
import { futurePath, isInside, parentsOf } from "../roots/root-places.js";
import { MANIFEST_FILE, PARTS_FOLDER } from "./backup-format.js";
import { BackupError } from "./manifest.js";

/** What is left when the system has refused something, and how to go on. */
const REMEDIES: ReadonlyMap<string, string> = new Map([
  ...["ENOSPC", "EDQUOT"].map((code) => [code, "Make room there, and call it again."] as const),
  ...["EACCES", "EPERM", "EROFS"].map(
    (code) => [code, "Let this user read and write there, or name another folder."] as const,
  ),
]);

/** Whatever the system refuses becomes a `BackupError`; `outcome` says what is the case then. */
export async function sayingWhy<T>(outcome: string, action: () => Promise<T>): Promise<T> {
  try {
    return await action();
  } catch (error) {
    const code = systemCode(error);
    if (code === undefined || !(error instanceof Error)) throw error;
    if (error instanceof NotOurFile) throw new BackupError(error.message, { cause: error });
    const remedy = REMEDIES.get(code) ?? "See to that, or name another folder.";
    throw new BackupError(`${outcome} (${systemWords(error)}). ${remedy}`, { cause: error });
  }
}

/** Makes a folder, private, and those that it lies in. Throws `BackupError`, and what the system says. */
export async function makeFolder(dir: string): Promise<void> {
  parentsOf(dir).find(isFolder); // what is no folder is named
  await makeFolders(dir, 0o700);
}

/** False where nothing is. */
function isFolder(path: string): boolean {
  try {
    if (statSync(path).isDirectory()) return true;
  } catch (error) {
    if (systemCode(error) === "ENOTDIR" || (systemCode(error) === "ENOENT" && !standsThere(path)))
      return false;
    if (systemCode(error) !== "ENOENT") throw error;
    throw new BackupError(`${path} is a link that leads nowhere. Name another place.`);
  }
  throw new BackupError(`${path} is no folder. Name another place.`);
}

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
    if (["EACCES", "EPERM", "EROFS"].includes(systemCode(error) ?? "")) return false;
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
