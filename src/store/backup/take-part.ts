import { closeSync, fstatSync, lstatSync, type BigIntStats } from "node:fs";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { systemCode } from "../../core/system-code.js";
import { openOwnFile, standsThere } from "../disk/own-file.js";
import type { BackupFile, BackupPart, Piece } from "./backup-format.js";
import { type Pieces, hashOf } from "./pieces.js";
import { NeverQuiet, Unreadable, reading } from "./unreadable.js";

/** Up to here a log that has grown is copied anew: one piece is better than many small ones. */
const SMALL_LOG_BYTES = 64 * 1024;
const MAX_PIECES = 64;
const MAX_ROUNDS = 500;
/** A file that changed so shortly before it was looked at may change again with the same stamp: clocks of file systems tick. */
const FRESH_NS = 100_000_000n;
/** Some tick in whole seconds, FAT and exFAT in two of them. */
const SECOND_NS = 1_000_000_000n;

/** What there is of a part. */
export interface Listing {
  readonly files: readonly string[];
  /** The folders that have to be there, even empty, each after the one that it lies in. */
  readonly folders: readonly string[];
}

/** Some files of a store that have to fit each other. */
export interface PartSource {
  /** The folder that paths begin in. */
  readonly dir: string;
  /** What is there now; throws what the system says. */
  list(): Listing;
  /** The time of the part's folder, where it means something. */
  mtimeMs?(): number;
  /** Whether a file is only ever appended to. */
  readonly isLog: (path: string) => boolean;
}

/**
 * Copies the files of a part as they stood at one moment, without a lock, so that nobody has to wait: what has changed since it was
 * copied is copied again, until nothing has. Then all files were what was copied in the moment before the last look.
 * Those that are fresh are copied once more then: their stamps do not tell.
 * What a kill in that moment would have left, a run goes on from. `known` are the files that the backup has whole. Throws `NeverQuiet`, and `Unreadable`.
 */
export async function takePart(
  source: PartSource,
  known: readonly BackupFile[],
  pieces: Pieces,
): Promise<BackupPart> {
  const base = new Map(known.map((file) => [file.path, file]));
  const taken = new Map(base);
  const fresh = new Set<string>();
  const looked = new Set<string>();
  for (let round = 0; round < MAX_ROUNDS; round += 1) {
    const look = lookAt(source);
    if (look === undefined) continue;
    const { standing, folders, mtimeMs } = look;
    const changed = [...standing].filter(([path, { stamp }]) => taken.get(path)?.stamp !== stamp);
    const gone = [...taken.keys()].filter((path) => !standing.has(path));
    for (const path of gone) taken.delete(path);
    const isQuiet = changed.length === 0 && gone.length === 0;
    let isAsTaken = isQuiet;
    for (const path of isQuiet ? [...fresh] : changed.map(([path]) => path)) {
      const file = takeFile(source, path, { former: base.get(path), isLookedAt: looked.has(path) }, pieces);
      isAsTaken &&= hasSamePieces(file, taken.get(path));
      looked.add(path);
      if (file === undefined) taken.delete(path);
      else taken.set(path, file);
      if (source.isLog(path) || !isFresh(file)) fresh.delete(path);
      else fresh.add(path);
    }
    if (isAsTaken) {
      const timed = [...taken.values()].map((file) => ({
        ...file,
        mtimeMs: standing.get(file.path)?.mtimeMs,
      }));
      const time = mtimeMs === undefined ? {} : { mtimeMs };
      return { files: await settled(timed, fresh, pieces), folders: [...folders], ...time };
    }
  }
  throw new NeverQuiet("Its files change all the time.");
}

/** What the backup has of a file, and whether that was compared with the store's once: while it goes on to be written, its end tells. */
interface Known {
  readonly former: BackupFile | undefined;
  readonly isLookedAt: boolean;
}

/** Undefined for one that is gone. */
function takeFile(
  source: PartSource,
  path: string,
  { former, isLookedAt }: Known,
  pieces: Pieces,
): BackupFile | undefined {
  const place = join(source.dir, ...path.split("/"));
  let fd: number;
  try {
    fd = reading(place, () => openOwnFile(place, "read"));
  } catch (error) {
    if (error instanceof Unreadable && error.isMissing) return undefined;
    throw error;
  }
  try {
    const entry = fstatSync(fd, { bigint: true });
    const size = Number(entry.size);
    const known = former === undefined || !source.isLog(path) ? [] : former.pieces;
    const knownBytes = known.reduce((sum, { bytes }) => sum + bytes, 0);
    const goesOn =
      size > SMALL_LOG_BYTES && knownBytes <= size && known.length > 0 && known.length < MAX_PIECES;
    if (goesOn && isAsKnown(fd, known, isLookedAt ? known.length - 1 : 0)) {
      const rest = knownBytes === size ? [] : [pieces.keep(fd, { from: knownBytes, to: size })];
      return { path, pieces: [...known, ...rest], stamp: stampOf(entry) };
    }
    return { path, pieces: [pieces.keep(fd, { from: 0, to: size })], stamp: stampOf(entry) };
  } finally {
    closeSync(fd);
  }
}

/** Whether a log still has the pieces that were taken of it, from one of them on: another log in its place has not, nor one that was edited. */
function isAsKnown(fd: number, known: readonly Piece[], first: number): boolean {
  let from = 0;
  return known.every(({ sha256, bytes }, at) => {
    const to = from + bytes;
    const isSame = at < first || hashOf(fd, { from, to }) === sha256;
    from = to;
    return isSame;
  });
}

function hasSamePieces(file: BackupFile | undefined, other: BackupFile | undefined): boolean {
  return isDeepStrictEqual(file?.pieces, other?.pieces);
}

/** Without the stamps that a change in the same tick of the clock would not show in. */
async function settled(
  taken: readonly BackupFile[],
  fresh: ReadonlySet<string>,
  pieces: Pieces,
): Promise<BackupFile[]> {
  await pieces.sync();
  return [...taken]
    .sort((a, b) => (a.path < b.path ? -1 : 1))
    .map(({ stamp, ...file }) => (stamp === undefined || fresh.has(file.path) ? file : { ...file, stamp }));
}

/** A file as a look at it has found it. */
interface Look {
  readonly stamp: string;
  /** Part of no stamp: a file that has got another time has another `ctime` as well. */
  readonly mtimeMs: number;
}

interface PartLook {
  readonly standing: ReadonlyMap<string, Look>;
  readonly folders: readonly string[];
  readonly mtimeMs: number | undefined;
}

/** Undefined where something in the part went away meanwhile. Throws `Unreadable`, also for a part that is gone. */
function lookAt(source: PartSource): PartLook | undefined {
  return reading(source.dir, () => {
    try {
      const { files, folders } = source.list();
      return { standing: looksAt(source.dir, files), folders, mtimeMs: source.mtimeMs?.() };
    } catch (error) {
      if (systemCode(error) === "ENOENT" && standsThere(source.dir)) return undefined;
      throw error;
    }
  });
}

function looksAt(dir: string, paths: readonly string[]): ReadonlyMap<string, Look> {
  const looks = new Map<string, Look>();
  for (const path of paths) {
    const entry = lstatSync(join(dir, ...path.split("/")), { bigint: true, throwIfNoEntry: false });
    if (entry?.isFile() === true) {
      looks.set(path, { stamp: stampOf(entry), mtimeMs: Number(entry.mtimeNs) / 1e6 });
    }
  }
  return looks;
}

function stampOf({ ctimeNs, ino, size }: BigIntStats): string {
  return `${ctimeNs}-${ino}-${size}`;
}

function isFresh(file: BackupFile | undefined): boolean {
  const { stamp = "0-" } = file ?? {};
  const changedAt = BigInt(stamp.slice(0, stamp.indexOf("-")));
  const tick = changedAt % SECOND_NS === 0n ? 2n * SECOND_NS : 0n;
  return BigInt(Date.now()) * 1_000_000n - changedAt < tick + FRESH_NS;
}
