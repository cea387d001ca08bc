import { isUtf8 } from "node:buffer";
import { read } from "node:fs";
import type { FileHandle } from "node:fs/promises";
import { Readable } from "node:stream";
import { crc32 } from "node:zlib";
import { type Entry, RandomAccessReader, type ZipFile, fromRandomAccessReaderPromise } from "yauzl";
import { type Finding, WHOLE_PACKAGE, errorFinding, isError } from "../../core/package/findings.js";
import {
  checkPathCollisions,
  isLitter,
  normalizePackagePath,
  packagePathProblem,
} from "../../core/package/package-path.js";
import { MAX_PACKAGE_BYTES, MAX_PACKAGE_FILES } from "./package-files.js";

/** A file of an archive whose name and headers were found good; its data was not looked at yet. */
export interface ArchiveEntry {
  /** Canonical package path. */
  readonly path: string;
  readonly bytes: number;
  readonly compressedBytes: number;
  readonly method: number;
  readonly checksum: number;
  readonly source: Entry;
}

/** An archive that cannot be taken, and why. */
export class ArchiveRefused extends Error {
  readonly finding: Finding;

  constructor(file: string, message: string) {
    super(message);
    this.finding = errorFinding(file, "$", message);
  }
}

export interface ArchiveContents {
  readonly archive: ZipFile;
  /** Files only, litter left out. */
  readonly entries: readonly ArchiveEntry[];
  readonly findings: readonly Finding[];
}

/** Nothing that unpacks to what a package may hold needs more than this. */
const MAX_ARCHIVE_BYTES = MAX_PACKAGE_BYTES + 32 * 1024 * 1024;
const MAX_DIRECTORY_BYTES = 16 * 1024 * 1024;
const ENTRY_SIGNATURE = 0x02014b50;
const MAX_RATIO = 200;
const RATIO_APPLIES_ABOVE_BYTES = 1024 * 1024;

/** Reads the central directory and checks every name and header. Throws `ArchiveRefused` when it is no zip. */
export async function readArchiveEntries(handle: FileHandle, size: number): Promise<ArchiveContents> {
  if (size > MAX_ARCHIVE_BYTES) {
    throw new ArchiveRefused(
      WHOLE_PACKAGE,
      `is larger than ${MAX_ARCHIVE_BYTES} bytes: leave some files out`,
    );
  }
  const archive = await asRefusal(() =>
    fromRandomAccessReaderPromise(new BoundedReader(handle, size), size, {
      autoClose: false,
      decodeStrings: false,
      validateEntrySizes: false,
    }),
  );
  if (archive.entryCount > MAX_PACKAGE_FILES) {
    throw new ArchiveRefused(WHOLE_PACKAGE, `has more than ${MAX_PACKAGE_FILES} entries: leave some out`);
  }
  const sources = await asRefusal(async () => {
    const all: Entry[] = [];
    let bytes = 0;
    for await (const source of archive.eachEntry()) {
      bytes += source.fileNameLength + source.extraFieldLength + source.fileCommentLength;
      if (bytes > MAX_DIRECTORY_BYTES) throw new Error("the central directory is too large");
      all.push(source);
    }
    await refuseUndeclaredEntry(handle, Number(archive.readEntryCursor));
    return all;
  });
  return { archive, ...checkEntries(sources, size) };
}

/** Other readers of the archive would see what follows the last declared entry. */
async function refuseUndeclaredEntry(handle: FileHandle, position: number): Promise<void> {
  const { buffer } = await handle.read(Buffer.alloc(4), 0, 4, position);
  if (buffer.readUInt32LE(0) === ENTRY_SIGNATURE) throw new Error("it has more entries than it declares");
}

/** Where an entry's data begins, as its local header says. Throws `ArchiveRefused`. */
export async function locateData(archive: ZipFile, entry: ArchiveEntry): Promise<number> {
  const header = await asRefusal(
    () => archive.readLocalFileHeaderPromise(entry.source, { minimal: true }),
    entry.path,
  );
  return header.fileDataStart;
}

function checkEntries(
  sources: readonly Entry[],
  archiveBytes: number,
): Pick<ArchiveContents, "entries" | "findings"> {
  const findings: Finding[] = [];
  const entries: ArchiveEntry[] = [];
  const folders: string[] = [];
  const folderNames = new Set<string>();
  for (const source of sources) {
    const name = nameOf(source);
    const problem = name === undefined ? "is not UTF-8: zip with UTF-8 names" : packagePathProblem(name);
    if (name === undefined || problem !== undefined) {
      findings.push(errorFinding(name || WHOLE_PACKAGE, "$", `a name in the archive ${problem}`));
      continue;
    }
    const headerProblem = headerProblemOf(source, name);
    if (headerProblem !== undefined) {
      findings.push(errorFinding(name, "$", headerProblem));
      continue;
    }
    const path = normalizePackagePath(name);
    if (isLitter(path)) continue;
    if (!name.endsWith("/")) {
      if (path === "") findings.push(errorFinding(name, "$", "names no file: remove the entry"));
      else entries.push(toEntry(source, path));
    } else if (path !== "") {
      if (folderNames.has(path)) findings.push(errorFinding(name, "$", "is there twice: remove one"));
      folderNames.add(path);
      folders.push(path);
    }
  }
  const collisions = checkPathCollisions(
    entries.map((entry) => entry.path),
    folders,
  );
  findings.push(...collisions.slice(0, MAX_PACKAGE_FILES), ...checkTotals(sources, archiveBytes));
  return { entries: findings.some(isError) ? [] : entries, findings };
}

function toEntry(source: Entry, path: string): ArchiveEntry {
  return {
    path,
    bytes: source.uncompressedSize,
    compressedBytes: source.compressedSize,
    method: source.compressionMethod,
    checksum: source.crc32,
    source,
  };
}

function checkTotals(sources: readonly Entry[], archiveBytes: number): readonly Finding[] {
  const findings: Finding[] = [];
  const bytes = sources.reduce((sum, source) => sum + source.uncompressedSize, 0);
  if (bytes > MAX_PACKAGE_BYTES) {
    const sentence = `unpacks to more than ${MAX_PACKAGE_BYTES} bytes: leave some files out`;
    findings.push(errorFinding(WHOLE_PACKAGE, "$", sentence));
  }
  if (sources.reduce((sum, source) => sum + source.compressedSize, 0) > archiveBytes) {
    const sentence = "declares more compressed data than the archive holds: entries overlap or lie";
    findings.push(errorFinding(WHOLE_PACKAGE, "$", sentence));
  }
  return findings;
}

const STORED = 0;
const DEFLATED = 8;
/** Encrypted, strongly encrypted, central directory encrypted. */
const ENCRYPTION_FLAGS = 0x1 | 0x40 | 0x2000;
const PATCH_DATA_FLAG = 0x20;
const FILE_TYPE_MASK = 0o170000;
const REGULAR_FILE = 0o100000;
const FOLDER = 0o040000;
const LINK = 0o120000;
const WINDOWS_REPARSE_POINT = 0x400;

function headerProblemOf(source: Entry, name: string): string | undefined {
  const isFolder = name.endsWith("/");
  if ((source.generalPurposeBitFlag & ENCRYPTION_FLAGS) !== 0)
    return "is encrypted: zip it without a password";
  const type = (source.externalFileAttributes >>> 16) & FILE_TYPE_MASK;
  if (type === LINK || (source.externalFileAttributes & WINDOWS_REPARSE_POINT) !== 0) {
    return "is a link: put the file itself into the archive";
  }
  if (type !== 0 && type !== (isFolder ? FOLDER : REGULAR_FILE)) {
    return "is neither a regular file nor a folder: remove the entry";
  }
  const isKnownMethod = source.compressionMethod === STORED || source.compressionMethod === DEFLATED;
  if (!isKnownMethod || (source.generalPurposeBitFlag & PATCH_DATA_FLAG) !== 0) {
    return `is compressed by method ${source.compressionMethod}, which is not supported: use deflate`;
  }
  const { compressedSize, uncompressedSize } = source;
  if (isFolder && uncompressedSize !== 0) return "is a folder with content: remove the entry";
  if (source.compressionMethod === STORED && compressedSize !== uncompressedSize) {
    return "is stored, yet declares two sizes: make the archive anew";
  }
  if (uncompressedSize > RATIO_APPLIES_ABOVE_BYTES && uncompressedSize > compressedSize * MAX_RATIO) {
    return `is compressed by more than ${MAX_RATIO}:1: store it less compressed`;
  }
  return undefined;
}

const UNICODE_PATH_FIELD = 0x7075;

/**
 * The name as the central directory has it: of a valid Unicode path field, else of the header. Without the
 * UTF-8 flag a name should be code page 437, but what writes such names today means UTF-8.
 */
function nameOf(source: Entry): string | undefined {
  const field = source.extraFields.find((extra) => extra.id === UNICODE_PATH_FIELD)?.data;
  const isValid =
    field !== undefined &&
    field.length > 5 &&
    field[0] === 1 &&
    field.readUInt32LE(1) === crc32(source.fileNameRaw);
  const bytes = isValid ? field.subarray(5) : source.fileNameRaw;
  return isUtf8(bytes) ? bytes.toString("utf8") : undefined;
}

/** What yauzl throws is about the zip's structure and names no host path. */
async function asRefusal<T>(action: () => Promise<T>, file = WHOLE_PACKAGE): Promise<T> {
  try {
    return await action();
  } catch (error) {
    if (error instanceof Error && /strong encryption/i.test(error.message)) {
      throw new ArchiveRefused(file, "is encrypted: zip it without a password");
    }
    const reason = error instanceof Error && !("code" in error) ? ` (${error.message})` : "";
    throw new ArchiveRefused(file, `is not a readable zip${reason}: make the archive anew`);
  }
}

const BLOCK_BYTES = 64 * 1024;

/**
 * Reads within the archive only, a block at a time. yauzl's own reader hands offsets from headers to the
 * operating system, which throws at some of them where nobody catches.
 */
class BoundedReader extends RandomAccessReader {
  private readonly handle: FileHandle;
  private readonly size: number;
  private block = { start: 0, bytes: Buffer.alloc(0) };

  constructor(handle: FileHandle, size: number) {
    super();
    this.handle = handle;
    this.size = size;
  }

  override read(
    buffer: Buffer,
    offset: number,
    length: number,
    position: number,
    callback: (error: Error | null) => void,
  ): void {
    const isInside = Number.isSafeInteger(position) && position >= 0 && position + length <= this.size;
    const end = new Error("unexpected end of the archive");
    if (!isInside) {
      setImmediate(callback, end);
      return;
    }
    const done = () => {
      const from = position - this.block.start;
      const copied = this.block.bytes.copy(buffer, offset, from, from + length);
      callback(copied === length ? null : end);
    };
    if (position >= this.block.start && position + length <= this.block.start + this.block.bytes.length) {
      setImmediate(done);
      return;
    }
    const bytes = Buffer.allocUnsafe(Math.min(Math.max(length, BLOCK_BYTES), this.size - position));
    read(this.handle.fd, bytes, 0, bytes.length, position, (error, bytesRead) => {
      this.block = { start: position, bytes: bytes.subarray(0, bytesRead) };
      if (error === null) done();
      else callback(error);
    });
  }

  override _readStreamForRange(): Readable {
    return Readable.from([]); // data is read by us, not by yauzl
  }
}
