import { randomBytes } from "node:crypto";
import { readdir, rename, rm } from "node:fs/promises";
import { join, relative, sep } from "node:path";
import { pipeline } from "node:stream/promises";
import { ZipFile } from "yazl";
import { streamOwnFile, writeOwnStream } from "../disk/own-file.js";

/**
 * Writes the files of a run's folder as one zip, after texts that stand nowhere else, by name. An archive that is there is
 * whole: it is written beside the output first. Returns the names in it; throws what the system says.
 */
export async function writeArchive(
  output: string,
  dir: string,
  texts: ReadonlyMap<string, string>,
): Promise<readonly string[]> {
  const zip = new ZipFile();
  const names = [...texts.keys()];
  for (const [name, text] of texts) zip.addBuffer(Buffer.from(text), name);
  const entries = await readdir(dir, { recursive: true, withFileTypes: true });
  const paths = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  for (const path of paths.sort()) {
    // A backslash is part of a name here, and a separator to those who unpack the archive elsewhere.
    const name = relative(dir, path).split(sep).join("/").replaceAll("\\", "%5C");
    if (isPassing(name)) continue;
    names.push(name);
    zip.addReadStreamLazy(name, { mode: 0o100600 }, (take) => {
      // Up to its present end: the logs of a run that is under way go on growing.
      try {
        take(undefined, streamOwnFile(path));
      } catch (error) {
        zip.emit("error", error);
      }
    });
  }
  const failed = new AbortController();
  zip.on("error", (error: Error) => failed.abort(error));
  zip.end();
  const temporary = `${output}.tmp-${randomBytes(6).toString("hex")}`;
  try {
    const file = writeOwnStream(temporary);
    await pipeline(zip.outputStream, file, { signal: failed.signal });
    await rename(temporary, output);
  } catch (error) {
    await rm(temporary, { force: true });
    throw failed.signal.aborted ? failed.signal.reason : error;
  }
  return names;
}

/** Locks, indexes, files that are being written, and what is only there to be watched. In `state/`, a run may have files of such names. */
function isPassing(name: string): boolean {
  const base = name.slice(name.lastIndexOf("/") + 1);
  if (name.startsWith("state/")) {
    return /^\.tmp-(workflow\.md|execution\.jsonl)-|^\.il-[0-9a-f]{16}$/.test(base);
  }
  return (
    name.startsWith("live/") ||
    base.startsWith(".tmp-") ||
    /\.lock(\.\d+)?(\.done)?$|\.jsonl\.index$/.test(base)
  );
}
