import {
  closeSync,
  constants,
  createReadStream,
  createWriteStream,
  fstatSync,
  lstatSync,
  openSync,
  readFile,
  readFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import type { Readable, Writable } from "node:stream";
import { promisify } from "node:util";
import { systemCode } from "../../core/system-code.js";
import { shellWord } from "../../core/text.js";

/**
 * The one way to open a file of the service's own (`test/boundaries/own-files.test.ts`): never through a link in its place, never
 * anything but a regular file, and never one that would block, such as a named pipe. Below a store's directory no folder on
 * the way may be a link either: a run's folder that was exchanged for one is none.
 */

const NO_FOLLOW = constants.O_NOFOLLOW ?? 0; // systems without links have none of these
const NON_BLOCK = constants.O_NONBLOCK ?? 0;
const SAFE = NO_FOLLOW | NON_BLOCK;
/** So much is read or written at once: that takes less than the way through the thread pool. */
export const SMALL_BYTES = 256 * 1024;
const ACCESS = {
  read: constants.O_RDONLY,
  "read-write": constants.O_RDWR,
  append: constants.O_RDWR | constants.O_CREAT | constants.O_APPEND,
  create: constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL,
} as const;
export type OwnAccess = keyof typeof ACCESS;

/** Something else stands where a file of ours belongs. */
export class NotOurFile extends Error {
  /** As the system says it of a link that is not followed. */
  readonly code = "ELOOP";

  constructor(path: string, what: string) {
    super(`${path} is ${what}, not a file of this store. Remove it, and restore the file from a backup.`);
  }
}

/** Directories of stores that this process has opened: the way to them may hold links, the way below may not. */
const roots = new Set<string>();

export function rememberStore(dir: string): void {
  roots.add(dir);
}

/** Opens a file of ours. A new one is made with 0600. Throws `NotOurFile` and what the system says. */
export function openOwnFile(path: string, access: OwnAccess): number {
  refuseLinkedFolders(path);
  let fd: number;
  try {
    fd = openSync(path, ACCESS[access] | SAFE, 0o600);
  } catch (error) {
    throw asRefusal(path, error);
  }
  try {
    const entry = fstatSync(fd);
    if (entry.isFile()) return fd;
    throw new NotOurFile(path, entry.isDirectory() ? "a folder (EISDIR)" : "no regular file");
  } catch (error) {
    closeSync(fd);
    throw error;
  }
}

/** All bytes of a file of ours. For small ones: larger ones are read by `readOwnFile`. */
export function readOwnFileSync(path: string): Buffer {
  const fd = openOwnFile(path, "read");
  try {
    return readFileSync(fd);
  } finally {
    closeSync(fd);
  }
}

/** The text of a file that nobody else may read. Throws for one that others can. */
export function readPrivateText(path: string): string {
  const fd = openOwnFile(path, "read");
  try {
    if (process.platform !== "win32" && (fstatSync(fd).mode & 0o077) !== 0) {
      const elsewhere =
        "Where that changes nothing, its file system keeps no modes: move the store to one that does, and name it in INTERLOCK_STORE.";
      throw new Error(
        `${path} can be read by others. Make it private: chmod 600 ${shellWord(path)}. ${elsewhere}`,
      );
    }
    return readFileSync(fd, "utf8");
  } finally {
    closeSync(fd);
  }
}

const readWhole = promisify(readFile);

/** All bytes of a file of ours. Throws for one that has more than `maxBytes`. */
export async function readOwnFile(path: string, maxBytes = Number.POSITIVE_INFINITY): Promise<Buffer> {
  const fd = openOwnFile(path, "read");
  try {
    const { size } = fstatSync(fd);
    if (size > maxBytes) throw new NotOurFile(path, "too large");
    return size <= SMALL_BYTES ? readFileSync(fd) : await readWhole(fd);
  } finally {
    closeSync(fd);
  }
}

/** All of a file of ours as text. */
export async function readOwnText(path: string): Promise<string> {
  return (await readOwnFile(path)).toString("utf8");
}

/**
 * What a file of ours says. Undefined where there is none, and where it cannot be understood or is none of ours. Throws what the system
 * says: what the file says nobody knows then, and nothing may be concluded from it.
 */
export function understoodFile<T>(path: string, schema: { parse(value: unknown): T }): T | undefined {
  if (!standsThere(path)) return undefined;
  let text: string;
  try {
    text = readOwnFileSync(path).toString("utf8");
  } catch (error) {
    const isGone = systemCode(error) === "ENOENT"; // just now
    if (isGone || error instanceof NotOurFile) return undefined;
    throw error;
  }
  try {
    return schema.parse(JSON.parse(text));
  } catch {
    return undefined;
  }
}

/** The bytes of a file of ours up to its present end. */
export function streamOwnFile(path: string): Readable {
  const fd = openOwnFile(path, "read");
  const { size } = fstatSync(fd);
  return createReadStream("", { fd, start: 0, end: Math.max(0, size - 1) });
}

/** A new file of ours to write to. It is durable when it has ended: what a disk says late is said as well. */
export function writeOwnStream(path: string): Writable {
  return createWriteStream("", { fd: openOwnFile(path, "create"), flush: true });
}

/** Whether anything stands there: a link as well, wherever it leads. */
export function standsThere(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
}

/**
 * How many bytes a file of ours has, without opening it or a look at the way to it: good for a comparison alone. Undefined where
 * there is none, or something else.
 */
export function bytesAt(path: string): number | undefined {
  const entry = lstatSync(path, { throwIfNoEntry: false });
  return entry?.isFile() === true ? entry.size : undefined;
}

/** Whether a folder of ours is there, and no link on the way to it. */
export function isOwnFolder(path: string): boolean {
  try {
    refuseLinkedFolders(path);
    return lstatSync(path).isDirectory();
  } catch {
    return false;
  }
}

/** Opens a folder of ours, to make its names durable. */
export function openOwnFolder(path: string): number {
  refuseLinkedFolders(join(path, "name"));
  return openSync(path, constants.O_RDONLY | (constants.O_DIRECTORY ?? 0));
}

function asRefusal(path: string, error: unknown): unknown {
  const code = systemCode(error);
  if (code === "ELOOP" || code === "EMLINK") return new NotOurFile(path, "a link");
  if (code === "ENXIO") return new NotOurFile(path, "no regular file"); // a pipe or socket that nobody reads
  return error;
}

/**
 * Folders of ours that were looked at, all on the way to them as well, since the event loop last came round. Between a look and what follows
 * it another program may always do something: here that is a turn of the loop instead of a moment.
 */
const lookedAt = new Set<string>();

/** Throws `NotOurFile` where a folder on the way to a path of ours is a link: what is made or removed there would be somebody else's. */
export function refuseLinkedFolders(path: string): void {
  const below: string[] = [];
  for (let folder = dirname(path); !roots.has(folder) && !lookedAt.has(folder); folder = dirname(folder)) {
    if (folder === dirname(folder)) return; // in no store: a session's folder, or a file that a user has named
    below.push(folder);
  }
  const found = below.filter((folder) => {
    const entry = lstatSync(folder, { throwIfNoEntry: false });
    if (entry?.isSymbolicLink() === true) throw new NotOurFile(folder, "a link");
    return entry !== undefined;
  });
  if (found.length === 0) return;
  if (lookedAt.size === 0) setImmediate(() => lookedAt.clear());
  for (const folder of found) lookedAt.add(folder);
}
