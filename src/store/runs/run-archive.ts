import { lstatSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join, relative, sep } from "node:path";
import type { Readable } from "node:stream";
import { ZipFile } from "yazl";
import { streamOwnFile } from "../disk/own-file.js";
import { addFile, writeZip } from "../disk/write-zip.js";

/** A file for an archive. */
export interface ArchivedFile {
  /** Relative to the run's folder, with `/` between names. */
  readonly name: string;
  /** ISO time. */
  readonly modifiedAt: string;
  /** Called when its turn has come; may throw. */
  readonly open: () => Readable;
}

/** The files of a run's folder that an archive holds, by name. Links are none. */
export async function listFolder(
  dir: string,
): Promise<readonly { readonly name: string; readonly bytes: number; readonly modifiedAt: string }[]> {
  const entries = await readdir(dir, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort()
    .flatMap((path) => {
      const name = relative(dir, path).split(sep).join("/");
      const entry = lstatSync(path, { throwIfNoEntry: false });
      if (entry === undefined || isPassing(name)) return [];
      return [{ name, bytes: entry.size, modifiedAt: entry.mtime.toISOString() }];
    });
}

/** Whether `listFolder` would list a file of that name, by a look at that file alone. */
export function isListed(dir: string, name: string): boolean {
  const names = name.split("/");
  const isOutside = names.some(
    (each) => /^\.{0,2}$/.test(each) || each.includes("\0") || (sep !== "/" && each.includes(sep)),
  );
  if (isOutside || isPassing(name)) return false;
  return names.every((_, index) => {
    const entry = lstatSync(join(dir, ...names.slice(0, index + 1)), { throwIfNoEntry: false });
    return index === names.length - 1 ? entry?.isFile() === true : entry?.isDirectory() === true;
  });
}

/** The files of a run's folder, each up to its present end: the logs of a run that is under way go on growing. */
export async function archivedFiles(dir: string): Promise<readonly ArchivedFile[]> {
  const listed = await listFolder(dir);
  return listed.map(({ name, modifiedAt }) => ({
    name,
    modifiedAt,
    open: () => streamOwnFile(join(dir, ...name.split("/"))),
  }));
}

/**
 * Writes the files of a run as one zip, after texts that stand nowhere else, by name. An archive that is there is
 * whole: it is written beside the output first. Returns the names in it; throws what the system says.
 */
export async function writeArchive(
  output: string,
  files: readonly ArchivedFile[],
  texts: ReadonlyMap<string, string>,
): Promise<readonly string[]> {
  const zip = new ZipFile();
  const names = [...texts.keys()];
  const latest = files
    .map(({ modifiedAt }) => modifiedAt)
    .sort()
    .at(-1);
  const mtime = latest === undefined ? {} : { mtime: new Date(latest) };
  for (const [name, text] of texts) zip.addBuffer(Buffer.from(text), name, mtime);
  for (const file of files) {
    // A backslash is part of a name here, and a separator to those who unpack the archive elsewhere.
    const name = file.name.replaceAll("\\", "%5C");
    names.push(name);
    addFile(zip, name, { mode: 0o100600, mtime: new Date(file.modifiedAt) }, file.open);
  }
  await writeZip(output, zip);
  return names;
}

/** What an archive leaves out: what only serves the runtime, notices that wait to be sent, and what a turn that is under way has spent. */
function isPassing(name: string): boolean {
  return name.startsWith("notices/") || name === "spent.json" || isTransient(name);
}

/**
 * Whether a file of a run's folder only serves the runtime: locks, indexes, files that are being written, and what is only there
 * to be watched. In `state/`, a run may have files of such names.
 */
export function isTransient(name: string): boolean {
  const base = name.slice(name.lastIndexOf("/") + 1);
  if (name.startsWith("state/")) {
    return /^\.tmp-(workflow\.md|execution\.jsonl|(decisionLog|artifacts)\.[0-9a-f.-]+\.jsonl)-|^\.il-[0-9a-f]{16}$/.test(
      base,
    );
  }
  return (
    name.startsWith("live/") ||
    base.startsWith(".tmp-") ||
    /\.lock(\.\d+)?(\.done)?$|\.jsonl\.index$/.test(base)
  );
}
