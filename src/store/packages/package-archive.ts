import { closeSync, constants, readSync, writeFileSync } from "node:fs";
import { type FileHandle, mkdir, open, rm } from "node:fs/promises";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { crc32, createInflateRaw } from "node:zlib";
import {
  type Finding,
  WHOLE_PACKAGE,
  boundFindings,
  errorFinding,
  isError,
} from "../../core/package/findings.js";
import { requireSystemCode } from "../../core/system-code.js";
import {
  type ArchiveEntry,
  ArchiveRefused,
  locateData,
  readArchiveEntries,
} from "./package-archive-entries.js";
import { breathe } from "./package-files.js";
import { makeFolders } from "./package-tree.js";
import { openOwnFile } from "../disk/own-file.js";

/**
 * Unpacks a `.bmad` archive into `targetDir`, which must not exist yet (contracts §2). Names and headers are
 * checked before the first byte is written; sizes and checksums, which headers lie about, while inflating.
 * What comes back are the reasons for a refusal, and then nothing is left behind; no finding means success.
 * Throws what the operating system says when the target cannot be written; nothing is left behind then, too.
 */
export async function unpackArchive(zipFile: string, targetDir: string): Promise<Finding[]> {
  const handle = await openArchive(zipFile);
  if (handle === undefined) {
    return [errorFinding(WHOLE_PACKAGE, "$", "there is no archive here that can be read: check the path")];
  }
  try {
    const { size } = await handle.stat();
    const { archive, entries, findings } = await readArchiveEntries(handle, size);
    if (findings.some(isError)) return [...boundFindings(findings)];
    await mkdir(targetDir, { mode: 0o700 });
    try {
      makeFolders(
        targetDir,
        entries.map((entry) => entry.path),
      );
      for (const entry of entries) {
        await extract(handle, await locateData(archive, entry), entry, join(targetDir, entry.path));
      }
    } catch (error) {
      await rm(targetDir, { recursive: true, force: true });
      throw error;
    }
    return [];
  } catch (error) {
    if (error instanceof ArchiveRefused) return [error.finding];
    throw error;
  } finally {
    await handle.close();
  }
}

/** Opens without waiting: a pipe in the archive's place must not block anything. */
async function openArchive(zipFile: string): Promise<FileHandle | undefined> {
  try {
    const handle = await open(zipFile, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
    if ((await handle.stat()).isFile()) return handle;
    await handle.close();
  } catch (error) {
    requireSystemCode(error);
  }
  return undefined;
}

const DEFLATED = 8;
const CHUNK_BYTES = 64 * 1024;

async function extract(archive: FileHandle, dataStart: number, entry: ArchiveEntry, target: string) {
  const output = openOwnFile(target, "create");
  try {
    const raw = readRange(archive, dataStart, entry.compressedBytes);
    const sink = (chunks: AsyncIterable<Uint8Array>) => writeChecked(chunks, entry, output);
    // Some writers deflate nothing to nothing, which is no end of a deflate stream.
    if (entry.method === DEFLATED && entry.compressedBytes > 0) {
      await pipeline(raw, createInflateRaw(), sink);
    } else await sink(raw);
  } catch (error) {
    if (isInflateError(error)) throw new ArchiveRefused(entry.path, "its compressed data is damaged");
    throw error;
  } finally {
    closeSync(output);
  }
}

/** Writes what comes until it is more than was declared. */
async function writeChecked(chunks: AsyncIterable<Uint8Array>, entry: ArchiveEntry, output: number) {
  let bytes = 0;
  let checksum = 0;
  for await (const chunk of chunks) {
    bytes += chunk.length;
    if (bytes > entry.bytes) break;
    checksum = crc32(chunk, checksum);
    writeFileSync(output, chunk);
  }
  await breathe(bytes);
  verify(entry, bytes, checksum);
}

function verify(entry: ArchiveEntry, bytes: number, checksum: number): void {
  if (bytes !== entry.bytes) {
    const amount = bytes > entry.bytes ? "more" : "less";
    throw new ArchiveRefused(
      entry.path,
      `unpacks to ${amount} than the ${entry.bytes} bytes it declares: make the archive anew`,
    );
  }
  if (checksum !== entry.checksum) {
    throw new ArchiveRefused(entry.path, "its checksum does not match its content: make the archive anew");
  }
}

async function* readRange(archive: FileHandle, start: number, length: number): AsyncGenerator<Uint8Array> {
  for (let done = 0; done < length;) {
    const buffer = Buffer.allocUnsafe(Math.min(CHUNK_BYTES, length - done));
    const bytesRead = readSync(archive.fd, buffer, 0, buffer.length, start + done);
    if (bytesRead === 0) return; // the archive was cut while we read it; the size will not match
    await breathe(bytesRead);
    done += bytesRead;
    yield buffer.subarray(0, bytesRead);
  }
}

function isInflateError(error: unknown): boolean {
  return error instanceof Error && "code" in error && /^Z_|^ERR_.*ZLIB/.test(String(error.code));
}
