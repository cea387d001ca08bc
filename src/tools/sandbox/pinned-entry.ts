import {
  type BigIntStats,
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readlinkSync,
  realpathSync,
  statSync,
} from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { O_PATH, sameIdentity } from "../../store/roots/root-places.js";
import { Refusal, systemErrorCode } from "./faults.js";

/** What a name in a directory stands for, held so that the name may change without changing what is held. */
export interface PinnedEntry {
  readonly kind: "directory" | "file" | "link" | "other";
  readonly stats: BigIntStats;
  /** A path to exactly this entry; for a directory, `${at}/${name}` is a child of exactly this directory. */
  readonly at: string;
  readonly close: () => void;
}

/** How a platform pins entries. The calls are synchronous: they never wait for a slot in the thread pool. */
export interface Pins {
  /** Pins a directory by its host path, following links: for the root of a mount. */
  readonly root: (path: string) => PinnedEntry;
  /** Pins a child of a pinned directory without following a link and without opening what is no file. */
  readonly child: (directory: PinnedEntry, name: string) => PinnedEntry;
  /** The host path of a pinned entry, all links resolved. Never to be shown. */
  readonly realPath: (entry: PinnedEntry) => string;
  /** Whether paths stay bound to what was checked; where not, the caller checks again by real path. */
  readonly holds: boolean;
}

/**
 * Linux: an entry is a descriptor, and `/proc/self/fd/N/name` is resolved by the kernel from that very
 * directory. Exchanging a directory for a link between check and use gains nothing.
 */
export const descriptorPins: Pins = {
  root: (path) => pinDescriptor(path, O_PATH | constants.O_DIRECTORY),
  child: (directory, name) => pinDescriptor(`${directory.at}/${name}`, O_PATH | constants.O_NOFOLLOW),
  realPath: (entry) => readlinkSync(entry.at),
  holds: true,
};

function pinDescriptor(path: string, flags: number): PinnedEntry {
  const fd = openSync(path, flags);
  try {
    const stats = fstatSync(fd, { bigint: true });
    return { kind: kindOf(stats), stats, at: `/proc/self/fd/${fd}`, close: () => closeSync(fd) };
  } catch (error) {
    closeSync(fd);
    throw error;
  }
}

/**
 * Other platforms, best effort: an entry is its path, looked at before use. Somebody who can exchange
 * directories in the project at the right moment can still win a race here; a model cannot.
 */
export const pathPins: Pins = {
  root: (path) => {
    const stats = statSync(path, { bigint: true });
    if (stats.isDirectory()) return pinPath(path, stats);
    throw new Refusal("ENOENT", "The directory of this mount does not exist.");
  },
  child: (directory, name) => {
    const path = `${directory.at}/${name}`;
    return pinPath(path, lstatSync(path, { bigint: true }));
  },
  realPath: (entry) => realpathSync.native(entry.at),
  holds: false,
};

function pinPath(at: string, stats: BigIntStats): PinnedEntry {
  return { kind: kindOf(stats), stats, at, close: () => undefined };
}

function kindOf(stats: BigIntStats): PinnedEntry["kind"] {
  if (stats.isDirectory()) return "directory";
  if (stats.isFile()) return "file";
  return stats.isSymbolicLink() ? "link" : "other";
}

/** Pins a child that may be missing. */
export function pinIfPresent(pins: Pins, directory: PinnedEntry, name: string): PinnedEntry | undefined {
  try {
    return pins.child(directory, name);
  } catch (error) {
    if (systemErrorCode(error) === "ENOENT") return undefined;
    throw error;
  }
}

/** Whether a path still leads to a pinned entry. Needs no descriptor: it must work when none is left. */
export function isStillAt(path: string, entry: PinnedEntry): boolean {
  return sameIdentity(lstatSync(path, { bigint: true, throwIfNoEntry: false }), entry.stats);
}

/** With these a pipe that nobody writes to does not block. Windows lacks some of the constants: there they count as 0. */
export const READ_FLAGS = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0) | (constants.O_NOCTTY ?? 0);

/** Opens a pinned regular file for reading: that file, not what its name means by now. */
export async function openPinnedFile(pins: Pins, entry: PinnedEntry): Promise<FileHandle> {
  const handle = await open(entry.at, readFlags(pins));
  try {
    checkOpened(pins, entry, handle.fd);
    return handle;
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/** As `openPinnedFile`, for a caller that reads in small steps of its own. */
export function openPinnedFileSync(pins: Pins, entry: PinnedEntry): number {
  const fd = openSync(entry.at, readFlags(pins));
  try {
    checkOpened(pins, entry, fd);
    return fd;
  } catch (error) {
    closeSync(fd);
    throw error;
  }
}

function readFlags(pins: Pins): number {
  return pins.holds ? READ_FLAGS : READ_FLAGS | (constants.O_NOFOLLOW ?? 0);
}

function checkOpened(pins: Pins, entry: PinnedEntry, fd: number): void {
  if (pins.holds) return;
  const stats = fstatSync(fd, { bigint: true });
  if (stats.isFile() && sameIdentity(stats, entry.stats)) return;
  throw new Refusal("E_SANDBOX_VIOLATION", "The file was exchanged while it was being opened.");
}
