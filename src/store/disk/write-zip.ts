import { randomBytes } from "node:crypto";
import type { EventEmitter } from "node:events";
import { rename, rm } from "node:fs/promises";
import { pipeline } from "node:stream/promises";
import { writeOwnStream } from "./own-file.js";

/** A zip that is being made: all that is to be in it has been named. */
interface OpenZip extends EventEmitter {
  readonly outputStream: NodeJS.ReadableStream;
  end(): void;
}

/**
 * Ends a zip and writes it to a file. An archive that is there is whole: it is written beside the output first. Throws what the
 * system says, and what a file that was to be in it has thrown.
 */
export async function writeZip(output: string, zip: OpenZip): Promise<void> {
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
}
