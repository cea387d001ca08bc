import type { EventEmitter } from "node:events";
import { lstatSync } from "node:fs";
import type { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { saveFile } from "./save-file.js";
import { writeOwnStream } from "./own-file.js";

/** A zip that is being made: all that is to be in it has been named. */
interface OpenZip extends EventEmitter {
  readonly outputStream: NodeJS.ReadableStream;
  end(): void;
}

/** A zip that files are put into. */
interface Fillable extends EventEmitter {
  addReadStreamLazy(
    name: string,
    options: EntryOptions,
    open: (take: (error: undefined, stream: Readable) => void) => void,
  ): void;
}

interface EntryOptions {
  readonly mtime?: Date;
  readonly mode?: number;
  readonly size?: number;
  readonly compress?: boolean;
  readonly forceDosTimestamp?: boolean;
}

/** Of each zip the file that was opened last: those before it have been read. */
const opened = new WeakMap<object, Readable>();

/**
 * Puts a file into a zip that `writeZip` writes; it is opened when its turn has come. What goes wrong in it is the zip's trouble: the
 * library listens to no stream of ours, and leaves one open where the zip comes to nothing.
 */
export function addFile(zip: Fillable, name: string, options: EntryOptions, open: () => Readable): void {
  zip.addReadStreamLazy(name, options, (take) => {
    try {
      const stream = open();
      stream.on("error", (error) => zip.emit("error", error));
      opened.set(zip, stream);
      take(undefined, stream);
    } catch (error) {
      zip.emit("error", error);
    }
  });
}

/**
 * Ends a zip and writes it to a file. An archive that is there is whole: it is written beside the output first. Throws for what stands
 * there and is no file, what the system says, and what a file that was to be in it has thrown.
 */
export async function writeZip(output: string, zip: OpenZip): Promise<void> {
  const failed = new AbortController();
  zip.on("error", (error: Error) => failed.abort(error));
  try {
    refuseOther(output);
    const write = (temporary: string): Promise<void> => {
      const file = writeOwnStream(temporary);
      zip.end();
      return pipeline(zip.outputStream, file, { signal: failed.signal });
    };
    await saveFile(output, write, { replaces: true });
  } catch (error) {
    opened.get(zip)?.destroy();
    throw failed.signal.aborted ? failed.signal.reason : error;
  }
}

/** A device, a pipe or a link that is there is no archive to be replaced. */
function refuseOther(output: string): void {
  const there = lstatSync(output, { throwIfNoEntry: false });
  if (there === undefined || there.isFile()) return;
  throw new NoFile(there.isDirectory() ? "it is a folder" : "what stands there is no file");
}

class NoFile extends Error {
  /** As the system says it. */
  readonly code = "EEXIST";
}
