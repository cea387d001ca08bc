import {
  closeSync,
  futimesSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  utimesSync,
  writeSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { syncDirectory, syncFile } from "../disk/atomic-file.js";
import { openOwnFile, rememberStore, standsThere } from "../disk/own-file.js";
import { listPackage } from "../packages/package-files.js";
import { removeTree, sealTree } from "../packages/package-tree.js";
import { systemCode } from "../../core/system-code.js";
import { accessRefusal, realPathOf } from "../roots/root-places.js";
import { DamagedRoots, type RegisteredRoot, type RootPolicy, Roots } from "../roots/roots.js";
import { CLEARING, RESTORING_FOLDER } from "../store.js";
import { type BackupFile, STORE_PART, folderOfPart, isRun } from "./backup-format.js";
import { makeFolder, refuseInside, sayingWhy, whileUnchanged } from "./backup-places.js";
import { BackupError, piecesOf, readManifest, readPart } from "./manifest.js";
import { DamagedPiece, type Pieces } from "./pieces.js";

/** Everything is put together here, and moved to its place when all of it is right. */
const STAGING = RESTORING_FOLDER;
const MAX_NAMED = 20;

/** What a restored store is. */
export interface RestoreReport {
  readonly storeId: string;
  /** When the backup was taken; ISO. */
  readonly takenAt: string;
  readonly runs: number;
  readonly files: number;
  readonly bytes: number;
  /** The registered roots that lie on this machine as well: registered again, as what lies there now. */
  readonly roots: readonly string[];
  /** Those that are not here, or closed to this user, and why: no run opens them. */
  readonly missingRoots: readonly { readonly path: string; readonly why: string }[];
  /** The list of registered roots was damaged, or is not in the backup: no root is registered. */
  readonly rootsLost: boolean;
}

/**
 * Puts the store of a backup into an empty folder. A backup that is being taken is waited for. Each byte is checked by its SHA-256 before
 * anything is there under its name; `store.json`, which makes the folder a store, comes last. Throws `BackupError`, naming what is
 * damaged; then the folder is as empty as it was. `onPart` hears of each run and package that is put back, of how many.
 */
export function restoreStore(
  backupDir: string,
  to: string,
  policy: RootPolicy = {},
  onPart: (of: number) => void = () => undefined,
): Promise<RestoreReport> {
  return sayingWhy(`The store could not be restored into ${to}`, async () => {
    await readManifest(backupDir); // before anything is made where no backup is
    rememberStore(backupDir);
    refuseInside(to);
    await makeFolder(to);
    refuseFull(to);
    return whileUnchanged(backupDir, () => restoreUnchanged(backupDir, to, policy, onPart));
  });
}

async function restoreUnchanged(
  backupDir: string,
  to: string,
  policy: RootPolicy,
  onPart: (of: number) => void,
): Promise<RestoreReport> {
  const { storeId, takenAt, parts } = await readManifest(backupDir);
  refuseFull(to);
  const staging = join(to, STAGING);
  mkdirSync(staging, { mode: 0o700 });
  rememberStore(to);
  const restored = new Restoration(backupDir, staging);
  let roots: Awaited<ReturnType<typeof registerHere>>;
  try {
    for (const { part, sha256 } of parts) {
      await restored.putBack(part, sha256);
      onPart(parts.length);
    }
    restored.throwDamaged();
    roots = await registerHere(staging, to, policy);
    const other = readdirSync(to).find((name) => name !== STAGING);
    if (other !== undefined) throw new BackupError(`Somebody else has begun to use ${to} ("${other}").`);
    await syncFolders(staging);
    await moveUp(staging, to);
  } catch (error) {
    await removeTree(staging).catch(() => undefined); // what went wrong first is said; the next restore names what is left
    throw error;
  }
  await removeTree(staging).catch(() => undefined); // beside `store.json` it keeps nobody from anything
  await syncDirectory(to);
  const runs = parts.filter(({ part }) => isRun(part)).length;
  return { storeId, takenAt, runs, files: restored.files, bytes: restored.bytes, ...roots };
}

class Restoration {
  files = 0;
  bytes = 0;
  private readonly backupDir: string;
  private readonly staging: string;
  private readonly damaged: string[] = [];

  constructor(backupDir: string, staging: string) {
    this.backupDir = backupDir;
    this.staging = staging;
  }

  async putBack(part: string, hash: string): Promise<void> {
    const pieces = piecesOf(this.backupDir, part);
    const dir = join(this.staging, ...folderOfPart(part));
    let mtimeMs: number | undefined;
    try {
      const list = readPart(pieces, hash);
      ({ mtimeMs } = list);
      mkdirSync(dir, { recursive: true, mode: 0o700 });
      for (const folder of list.folders) mkdirSync(join(dir, ...folder.split("/")), { mode: 0o700 });
      for (const file of list.files) await this.putFile(pieces, file, dir, part);
    } catch (error) {
      if (!(error instanceof DamagedPiece)) throw error;
      this.damaged.push(`the list of files of ${part}: ${error.message}`);
      return;
    }
    if (!part.startsWith("packages/")) return;
    await sealTree(await listPackage(dir));
    if (mtimeMs === undefined) return;
    utimesSync(dir, mtimeMs / 1000, mtimeMs / 1000); // of two builds, that tells which is the newer one
    await syncDirectory(dir);
  }

  throwDamaged(): void {
    if (this.damaged.length === 0) return;
    const more = this.damaged.length > MAX_NAMED ? [`and ${this.damaged.length - MAX_NAMED} more`] : [];
    throw new BackupError(
      [
        `The backup in ${this.backupDir} is damaged; nothing was restored:`,
        ...this.damaged.slice(0, MAX_NAMED),
        ...more,
        "Restore from another copy of it. Where the store still stands: remove the named files and back it up again, which copies them anew.",
      ].join("\n"),
    );
  }

  private async putFile(pieces: Pieces, file: BackupFile, dir: string, part: string): Promise<void> {
    const path = join(dir, ...file.path.split("/"));
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    const fd = openOwnFile(path, "create");
    try {
      for (const piece of file.pieces) {
        pieces.read(piece, (bytes) => {
          for (let written = 0; written < bytes.length;) written += writeSync(fd, bytes, written);
        });
        this.bytes += piece.bytes;
      }
      if (file.mtimeMs !== undefined) futimesSync(fd, file.mtimeMs / 1000, file.mtimeMs / 1000);
      await syncFile(fd);
      this.files += 1;
    } catch (error) {
      if (!(error instanceof DamagedPiece)) throw error;
      this.damaged.push(`${part === STORE_PART ? "" : `${part}/`}${file.path}: ${error.message}`);
    } finally {
      closeSync(fd);
    }
  }
}

/**
 * Who restores a store on a machine lets its runs open there what they might open where it was. An inode says nothing on another
 * machine: what lies there now is registered, and what does not is left out.
 */
async function registerHere(
  staging: string,
  to: string,
  policy: RootPolicy,
): Promise<Pick<RestoreReport, "roots" | "missingRoots" | "rootsLost">> {
  const before = rootsIn(staging);
  rmSync(join(staging, "roots.json"), { force: true });
  const registry = new Roots(staging, { ...policy, privatePaths: [...(policy.privatePaths ?? []), to] });
  await registry.begin(() => Promise.resolve([]));
  const roots: string[] = [];
  const missingRoots: { path: string; why: string }[] = [];
  for (const { path, access, registeredAt } of before ?? []) {
    if (realPathOf(path) !== path) {
      missingRoots.push({ path, why: "nothing lies there, or a link" });
      continue;
    }
    // Brought here by another user, it may be closed to this one: the model of a run would be refused each of its files, one by one.
    const refusal = await accessRefusal(path, access);
    if (refusal !== undefined) {
      const what = access === "write" ? "read and write" : "read";
      missingRoots.push({
        path,
        why: `this user may not ${what} there (${systemCode(refusal) ?? "refused"})`,
      });
      continue;
    }
    const at = new Date(registeredAt);
    const added = await registry.add(path, access, Number.isNaN(at.getTime()) ? undefined : at);
    if (added.ok) roots.push(path);
    else missingRoots.push({ path, why: added.error.message });
  }
  return { roots, missingRoots, rootsLost: before === undefined };
}

/** Undefined where there is no list of them, or a damaged one. */
function rootsIn(dir: string): readonly RegisteredRoot[] | undefined {
  try {
    return standsThere(join(dir, "roots.json")) ? new Roots(dir).list() : undefined;
  } catch (error) {
    if (error instanceof DamagedRoots) return undefined;
    throw error;
  }
}

function refuseFull(to: string): void {
  const names = readdirSync(to).sort();
  const [first] = names;
  if (first === undefined) return;
  const remedy = "Restore into a new folder, or an empty one.";
  if (standsThere(join(to, "store.json"))) {
    throw new BackupError(`A store stands in ${to} already; a restore replaces none. ${remedy}`);
  }
  if (names.includes(STAGING)) {
    throw new BackupError(
      `A restore into ${to} was cut short, or is under way. When it is not: ${CLEARING} and restore again.`,
    );
  }
  throw new BackupError(`${to} is not empty (it holds "${first}"). ${remedy}`);
}

/** Makes the names in a folder durable, and in those below it. */
async function syncFolders(dir: string): Promise<void> {
  for (const entry of readdirSync(dir, { withFileTypes: true })) {
    if (entry.isDirectory()) await syncFolders(join(dir, entry.name));
  }
  await syncDirectory(dir);
}

/** All of it, or nothing: `store.json` is not there before all else is, nor after a power failure. */
async function moveUp(staging: string, to: string): Promise<void> {
  const names = readdirSync(staging).filter((name) => !name.endsWith(".lock") && name !== "store.json");
  const moved: string[] = [];
  try {
    for (const name of [...names, "store.json"]) {
      if (name === "store.json") await syncDirectory(to);
      renameSync(join(staging, name), join(to, name));
      moved.push(join(to, name));
    }
  } catch (error) {
    for (const path of moved) await removeTree(path).catch(() => undefined);
    throw error;
  }
}
