import { randomBytes } from "node:crypto";
import { readFileSync, unlinkSync, writeFileSync } from "node:fs";
import { open } from "node:fs/promises";
import { z } from "zod";
import { failpoint } from "../core/failpoint.js";
import { systemErrorCode } from "./faults.js";
import { type PinnedEntry, type Pins, pinIfPresent } from "./pinned-entry.js";

/** A finished file under a name of its own, waiting to take another's place. */
export interface TemporaryFile {
  readonly path: string;
  /** The file itself: it stays the same when it is renamed. */
  readonly entry: PinnedEntry;
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
 * Writes and syncs a temporary file in the directory of its target. Its name is short, whatever the target's
 * is. It is noted before it is made, so that the next writer can remove it should this process die; the
 * caller removes the note (`noteFile`) when the temporary file is gone.
 */
export async function makeTemporaryFile(
  pins: Pins,
  directory: PinnedEntry,
  file: NewFile,
  noteFile: string,
): Promise<TemporaryFile> {
  const name = `.il-${randomBytes(8).toString("hex")}`;
  const path = `${directory.at}/${name}`;
  writeNote(noteFile, pins, directory, name);
  failpoint("write.noted");
  const handle = await open(path, "wx", file.replaces === undefined ? file.mode : 0o600);
  try {
    await handle.writeFile(file.bytes);
    failpoint("write.temporary-written");
    if (file.replaces !== undefined) await copyModeAndOwner(handle, file.replaces);
    await handle.sync();
    failpoint("write.temporary-synced");
    const entry = pins.child(directory, name);
    return { path, entry, remove: () => removeIfPresent(path) };
  } catch (error) {
    removeIfPresent(path);
    throw error;
  } finally {
    await handle.close();
  }
}

async function copyModeAndOwner(
  handle: { chown(uid: number, gid: number): Promise<void>; chmod(mode: number): Promise<void> },
  { stats }: PinnedEntry,
): Promise<void> {
  if (process.geteuid !== undefined && BigInt(process.geteuid()) !== stats.uid) {
    await handle.chown(Number(stats.uid), Number(stats.gid)).catch(() => undefined); // only root can
  }
  await handle.chmod(Number(stats.mode) & 0o777);
}

/** Where a temporary file was being written: enough to find it again, and to know that it is the place. */
const noteSchema = z.object({
  directory: z.string(),
  dev: z.string(),
  ino: z.string(),
  name: z.string().regex(/^\.il-[0-9a-f]{16}$/),
});

function writeNote(noteFile: string, pins: Pins, directory: PinnedEntry, name: string): void {
  const note = {
    directory: pins.realPath(directory),
    dev: String(directory.stats.dev),
    ino: String(directory.stats.ino),
    name,
  };
  writeFileSync(noteFile, JSON.stringify(note), { mode: 0o600 });
}

/** Removes what a process left that died while it wrote. The caller holds the lock that guards the note. */
export function removeAbandonedFile(pins: Pins, noteFile: string): void {
  const note = readNote(noteFile);
  if (note === undefined) return;
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
  removeIfPresent(noteFile);
}

function readNote(noteFile: string): z.infer<typeof noteSchema> | undefined {
  let text: string;
  try {
    text = readFileSync(noteFile, "utf8");
  } catch (error) {
    if (systemErrorCode(error) === "ENOENT") return undefined;
    throw error;
  }
  try {
    return noteSchema.parse(JSON.parse(text));
  } catch {
    removeIfPresent(noteFile); // torn: the file it would have named was not made yet
    return undefined;
  }
}

/** Removes a file, as far as possible: what cannot be removed must not hide the error that led here. */
export function removeIfPresent(path: string): void {
  try {
    unlinkSync(path);
  } catch {
    // not there any more, or not ours to remove
  }
}
