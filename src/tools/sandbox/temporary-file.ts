import { randomBytes } from "node:crypto";
import {
  closeSync,
  fchmodSync,
  fchownSync,
  fstatSync,
  openSync,
  readdirSync,
  write,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { promisify } from "node:util";
import { failpoint } from "../../core/failpoint.js";
import { syncFile } from "../../store/disk/atomic-file.js";
import { SMALL_BYTES, openOwnFile, readOwnFileSync, standsThere } from "../../store/disk/own-file.js";
import { removeIfPresent } from "../../store/disk/remove-leftover.js";
import { sha256 } from "../../store/disk/sha256.js";
import { systemErrorCode } from "./faults.js";
import { type PinnedEntry, type Pins, pinIfPresent } from "./pinned-entry.js";
import type { Writer } from "./workspace.js";

/** A written file under a name of its own, waiting to take another's place. */
export interface TemporaryFile {
  readonly path: string;
  /** The file itself: it stays the same when it is renamed. */
  readonly entry: PinnedEntry;
  /** Settles when its bytes are durable, or cannot be. What else has to be is made so meanwhile. */
  readonly synced: Promise<void>;
  readonly remove: () => void;
}

export interface NewFile {
  readonly bytes: Uint8Array;
  /** The file that is going to be replaced: its mode and owner are kept. */
  readonly replaces?: PinnedEntry | undefined;
  /** For a file that replaces none; the umask applies. */
  readonly mode: number;
}

/**
 * Writes a temporary file in the directory of its target, and begins to sync it. Its name is short, whatever the target's
 * is. It is noted before it is made, so that the next writer can remove it should this process die; the
 * caller removes the note when the temporary file is gone.
 */
export async function makeTemporaryFile(
  pins: Pins,
  directory: PinnedEntry,
  file: NewFile,
  note: { readonly path: string; readonly writer: Writer | undefined },
): Promise<TemporaryFile> {
  const name = `${beginOfNames(note.path)}${randomBytes(5).toString("hex")}`;
  const path = `${directory.at}/${name}`;
  writeNote(note.path, noteOf(pins, directory, name, note.writer));
  failpoint("write.noted");
  const fd = openSync(path, "wx", file.replaces === undefined ? file.mode : 0o600);
  try {
    await writeAll(fd, file.bytes);
    failpoint("write.temporary-written");
    if (file.replaces !== undefined) copyModeAndOwner(fd, file.replaces);
    const entry = pins.child(directory, name);
    const synced = syncAndClose(fd);
    synced.catch(() => undefined); // whoever waits for it hears of it
    return { path, entry, synced, remove: () => removeIfPresent(path) };
  } catch (error) {
    removeIfPresent(path);
    closeSync(fd);
    throw error;
  }
}

async function syncAndClose(fd: number): Promise<void> {
  try {
    await syncFile(fd);
    failpoint("write.temporary-synced");
  } finally {
    closeSync(fd);
  }
}

const writeChunk = promisify(write);

async function writeAll(fd: number, bytes: Uint8Array): Promise<void> {
  if (bytes.length <= SMALL_BYTES) return writeFileSync(fd, bytes);
  for (let written = 0; written < bytes.length;) {
    written += (await writeChunk(fd, bytes, written)).bytesWritten;
  }
}

function copyModeAndOwner(fd: number, { stats }: PinnedEntry): void {
  if (process.geteuid !== undefined && BigInt(process.geteuid()) !== stats.uid) {
    try {
      fchownSync(fd, Number(stats.uid), Number(stats.gid));
    } catch {
      // only root can
    }
  }
  const mode = Number(stats.mode) & 0o777;
  // Where modes and owners are those of the mount, as on shares, nobody but root may ask for the one that is there.
  if ((fstatSync(fd).mode & 0o777) !== mode) fchmodSync(fd, mode);
}

const TEMPORARY_NAME = /^\.il-[0-9a-f]{16}$/;

/** Where a temporary file was being written: enough to find it again, and to know that it is the place. */
const noteSchema = z.object({
  directory: z.string(),
  dev: z.string(),
  ino: z.string(),
  name: z.string().regex(TEMPORARY_NAME),
  writer: z.object({ runId: z.string(), execution: z.int() }).optional(),
});
type Note = z.infer<typeof noteSchema>;

function noteOf(pins: Pins, directory: PinnedEntry, name: string, writer: Writer | undefined): Note {
  return {
    directory: pins.realPath(directory),
    dev: String(directory.stats.dev),
    ino: String(directory.stats.ino),
    name,
    ...(writer === undefined ? {} : { writer }),
  };
}

function writeNote(noteFile: string, note: Note): void {
  removeIfPresent(noteFile); // a link in its place is not written through
  const fd = openOwnFile(noteFile, "create");
  try {
    writeFileSync(fd, JSON.stringify(note));
  } finally {
    closeSync(fd);
  }
}

/**
 * Removes what a process left that died while it wrote. The caller holds the lock that guards the note. Whether the note was torn: the file
 * it would have named was not made yet, or the note is what a power failure has left of it (`removeUnnoted`).
 */
export function removeAbandonedFile(pins: Pins, noteFile: string): boolean {
  const note = readNote(noteFile);
  if (note === undefined) return false;
  if (note !== "torn") removeNoted(pins, note);
  removeIfPresent(noteFile);
  return note === "torn";
}

/**
 * Removes from a directory what writers under the note's lock have left there, whose note a power failure has taken: it is not synced. The
 * caller holds that lock.
 */
export function removeUnnoted(directory: PinnedEntry, noteFile: string): void {
  const begin = beginOfNames(noteFile);
  try {
    for (const name of readdirSync(directory.at)) {
      if (name.startsWith(begin) && TEMPORARY_NAME.test(name)) removeIfPresent(`${directory.at}/${name}`);
    }
  } catch {
    // it can be written to, and not be listed
  }
}

/** What the names of temporary files begin with that are written under one note: other stores write into the same directories. */
function beginOfNames(noteFile: string): string {
  return `.il-${sha256(noteFile).slice(0, 6)}`;
}

/**
 * Ends the writes of a run that its older executions were stopped in: without its temporary file, a write fails. The notes
 * stay, for they belong to whoever holds their locks; no other write is touched, for no name is given twice.
 */
export function endWritesBefore(pins: Pins, lockDir: string, { runId, execution }: Writer): void {
  if (!standsThere(lockDir)) return; // nothing was ever written
  for (const name of readdirSync(lockDir)) {
    if (!/^write-[0-9a-f]{2}\.json$/.test(name)) continue;
    const note = readNote(join(lockDir, name));
    if (note === undefined || note === "torn" || note.writer?.runId !== runId) continue;
    if (note.writer.execution < execution) removeNoted(pins, note);
  }
}

function removeNoted(pins: Pins, note: Note): void {
  try {
    const directory = pins.root(note.directory);
    try {
      const isThePlace = String(directory.stats.dev) === note.dev && String(directory.stats.ino) === note.ino;
      const entry = isThePlace ? pinIfPresent(pins, directory, note.name) : undefined;
      entry?.close();
      if (entry?.kind === "file") removeIfPresent(`${directory.at}/${note.name}`);
    } finally {
      directory.close();
    }
  } catch {
    // the directory is gone, and the file with it
  }
}

function readNote(noteFile: string): Note | "torn" | undefined {
  let text: string;
  try {
    text = readOwnFileSync(noteFile).toString("utf8");
  } catch (error) {
    if (systemErrorCode(error) === "ENOENT") return undefined;
    throw error;
  }
  try {
    return noteSchema.parse(JSON.parse(text));
  } catch {
    return "torn";
  }
}
