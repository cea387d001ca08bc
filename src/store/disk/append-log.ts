import { closeSync, fstatSync, read, readSync, renameSync, writeSync } from "node:fs";
import { basename, dirname } from "node:path";
import { promisify } from "node:util";
import { failpoint } from "../../core/failpoint.js";
import { type JsonObject, isObject, jsonIn } from "../../core/json.js";
import { removeTemporaries, syncDirectory, syncFile, temporaryPathFor } from "./atomic-file.js";
import { type HeldLock, NO_LOCK, type TakeOver, FencedLock } from "./fenced-lock.js";
import { type LineDigest, LineIndex, type LinePosition } from "./line-index.js";
import { bytesAt, openOwnFile, standsThere } from "./own-file.js";
import { type SyncedLater, syncLater } from "./sync-together.js";
import { printableJson } from "../../core/documents/printable-json.js";
import { isDenied, systemCode } from "../../core/system-code.js";

const LF = 0x0a;
const CHUNK_BYTES = 256 * 1024;

/** The longest line that is written or read, in bytes: an answer of a model at its bound fits. */
export const MAX_LINE_BYTES = 64 * 1024 * 1024;

/** A line is longer than {@link MAX_LINE_BYTES}. */
export class LineTooLong extends Error {}

export interface AppendLogOptions {
  /** Of the log's lock. */
  readonly owner?: HeldLock;
  /** Where several logs share a lock: replaces all of them by copies. */
  readonly takeOver?: TakeOver;
  /** What it says is of what other logs hold: in a step it is made durable after them. */
  readonly tellsOfOthers?: boolean;
}

/** What is told of lines: of each line as it is read, or what an index keeps of it. */
export type LineReader = ((line: Buffer, position: LinePosition) => void) | LineDigest;

/**
 * An append-only file of JSON lines that several processes may read and extend.
 *
 * A1. A line is written whole under the log's lock, and fsynced before `append` resolves, a new file with its name; where several writes are one step
 *     (`sync-together.ts`), before the step ends. So is what is there already when nothing is appended, or an owner reads it: who wrote it may
 *     have died first.
 * A2. What is in the file is never rewritten. A line that a crash left torn is ended and stays, unread.
 * A3. Each process reads every line once: `onLine` sees them in file order, others' lines included. With an index
 *     (`line-index.ts`), only the lines that are not in it are read.
 * A4. A process that has lost the lock writes into a file that nobody reads any more: who takes over puts a copy in
 *     its place.
 */
export class AppendLog implements SyncedLater {
  readonly tellsOfOthers: boolean;
  private readonly path: string;
  private readonly lock: FencedLock;
  private readonly onLine: (line: Buffer, position: LinePosition) => void;
  private readonly owner: HeldLock;
  private readonly index: LineIndex | undefined;
  /** Undefined until the index, if there is one, is loaded. */
  private readUpTo: number | undefined;
  /** As far as this process has made it durable. */
  private syncedUpTo = 0;

  constructor(
    path: string,
    lockFile: string,
    reader: LineReader,
    { owner = NO_LOCK, takeOver, tellsOfOthers = false }: AppendLogOptions = {},
  ) {
    const index =
      typeof reader === "function" ? undefined : new LineIndex(path, lockFile, reader, MAX_LINE_BYTES);
    this.path = path;
    this.tellsOfOthers = tellsOfOthers;
    this.index = index;
    this.onLine = typeof reader === "function" ? reader : (line, position) => index?.add(line, position);
    this.owner = owner;
    const takeOverThis: TakeOver = async (lock) => {
      await replaceByCopy(path, lock);
      if (index !== undefined) await replaceByCopy(index.path, lock);
    };
    this.lock = new FencedLock(lockFile, takeOver ?? takeOverThis, owner);
  }

  /** Ends what another process may be about to append. */
  fence(): Promise<void> {
    return this.lock.fence();
  }

  /** Reads the lines that are new since the last look. The first look makes the file: that of a conversation says that its visit was begun. */
  async refresh(): Promise<void> {
    try {
      const size = bytesAt(this.path) ?? this.withFile((fd) => fstatSync(fd).size);
      if (size !== (this.readUpTo ?? 0)) {
        await this.lock.hold(async (lock) => {
          this.withFile((fd) => this.readNew(fd, lock));
        });
      }
    } catch (error) {
      if (this.owner !== NO_LOCK || !isNotWritable(error)) throw error;
      this.look();
    }
    if (!syncLater(this) && this.owner !== NO_LOCK) await this.sync();
  }

  /** For who writes for nobody, and may have come to look: where no lock can be taken, the whole lines are read without one. */
  private look(): void {
    if (!standsThere(this.path)) return;
    const fd = openOwnFile(this.path, "read");
    try {
      this.readLines(fd, fstatSync(fd).size, this.readUpTo ?? 0);
    } finally {
      closeSync(fd);
    }
  }

  /**
   * Appends what `decide` returns, having read everything before it; nothing when it returns nothing.
   * `decide` is told whether the last line of the file was torn. `owner` is a lock that what is appended depends on.
   */
  async append(decide: (torn: boolean) => readonly JsonObject[], owner: HeldLock = NO_LOCK): Promise<void> {
    await this.lock.hold(async (lock) => {
      const fd = openOwnFile(this.path, "append");
      try {
        const torn = this.readNew(fd, lock);
        const records = decide(torn);
        if (records.length === 0) {
          if (!syncLater(this)) await this.sync();
          return;
        }
        const lines = Buffer.from(records.map((record) => `${toLine(record)}\n`).join(""));
        if (lines.length > MAX_LINE_BYTES) this.refuseLong(lines);
        failpoint("log.before-line");
        owner.assertHeld();
        lock.assertHeld();
        writeAll(fd, lines);
        failpoint("log.line-written");
        const isLater = syncLater(this);
        if (!isLater) await this.makeDurable(fd);
        lock.assertHeld();
        this.readNew(fd, lock);
        if (!isLater) this.syncedUpTo = this.readUpTo ?? 0;
      } finally {
        closeSync(fd);
      }
    });
  }

  async sync(): Promise<void> {
    const upTo = this.readUpTo ?? 0;
    if (this.syncedUpTo >= upTo) return;
    const fd = openOwnFile(this.path, "append");
    try {
      await this.makeDurable(fd);
    } finally {
      closeSync(fd);
    }
    this.syncedUpTo = Math.max(this.syncedUpTo, upTo);
  }

  /** With its name, the first time: whoever made the file may have died before that was durable. */
  private async makeDurable(fd: number): Promise<void> {
    const name = this.syncedUpTo === 0 ? syncDirectory(dirname(this.path)) : undefined;
    await Promise.all([syncFile(fd), name]);
  }

  /** The records of lines that `onLine` was told of, one after the other from one open file. */
  readAt(positions: readonly LinePosition[]): readonly JsonObject[] {
    if (positions.length === 0) return [];
    const fd = openOwnFile(this.path, "read");
    try {
      return positions.map(({ offset, length }) => {
        const bytes = Buffer.alloc(length);
        readSync(fd, bytes, 0, length, offset);
        return JSON.parse(bytes.toString("utf8")) as JsonObject; // written by `append`
      });
    } finally {
      closeSync(fd);
    }
  }

  private withFile<T>(action: (fd: number) => T): T {
    const fd = openOwnFile(this.path, "append");
    try {
      return action(fd);
    } finally {
      closeSync(fd);
    }
  }

  /** Reads whole new lines; ends a torn one and says that there was one. Each byte is copied twice at most. */
  private readNew(fd: number, lock: HeldLock): boolean {
    const { size } = fstatSync(fd);
    this.readUpTo ??= this.index?.load(size, lock) ?? 0;
    const torn = this.readLines(fd, size, this.readUpTo, lock);
    this.index?.save(lock);
    return torn;
  }

  /** A torn line at the end is ended by who holds the lock, and else left to whoever may be writing it. */
  private readLines(fd: number, size: number, from: number, lock?: HeldLock): boolean {
    let offset = from;
    let begun: Buffer[] = []; // of the line at `offset`
    let begunBytes = 0;
    while (offset + begunBytes < size) {
      const start = offset + begunBytes;
      const chunk = Buffer.alloc(Math.min(CHUNK_BYTES, size - start));
      const bytesRead = readSync(fd, chunk, 0, chunk.length, start);
      if (bytesRead === 0) break;
      let rest = chunk.subarray(0, bytesRead);
      for (let feed = rest.indexOf(LF); feed !== -1; feed = rest.indexOf(LF)) {
        const line = Buffer.concat([...begun, rest.subarray(0, feed)]);
        [begun, begunBytes] = [[], 0];
        this.tell(line, offset);
        offset += line.length + 1;
        rest = rest.subarray(feed + 1);
      }
      begun.push(rest);
      begunBytes += rest.length;
      if (begunBytes > MAX_LINE_BYTES) throw this.tooLong(`at byte ${offset}`);
    }
    this.readUpTo = offset;
    if (begunBytes === 0 || lock === undefined) return false;
    lock.assertHeld();
    writeAll(fd, Buffer.from("\n"));
    this.tell(Buffer.concat(begun), offset);
    return true;
  }

  private tell(line: Buffer, offset: number): void {
    if (line.length > MAX_LINE_BYTES) throw this.tooLong(`at byte ${offset}`);
    this.onLine(line, { offset, length: line.length });
    this.readUpTo = offset + line.length + 1;
  }

  private refuseLong(lines: Buffer): void {
    for (let start = 0; start < lines.length;) {
      const feed = lines.indexOf(LF, start);
      if (feed - start > MAX_LINE_BYTES) throw this.tooLong("that was to be written");
      start = feed + 1;
    }
  }

  private tooLong(where: string): LineTooLong {
    return new LineTooLong(
      `${basename(this.path)}: the line ${where} is longer than ${MAX_LINE_BYTES} bytes, the most that a line of a log may have. ` +
        "Nothing here writes such a line: restore the file from a backup, or give the run up.",
    );
  }
}

/** Whoever has the file open has lost it. `lock` is the one that was taken over. A log may be long: it is not copied at once. */
export async function replaceByCopy(path: string, lock: HeldLock): Promise<void> {
  if (!standsThere(path)) return;
  removeTemporaries(path);
  const copy = temporaryPathFor(path);
  await copyOwnFile(path, copy);
  lock.assertHeld();
  renameSync(copy, path);
  await syncDirectory(dirname(path)); // what is appended from now on is in the copy
}

const readChunk = promisify(read);

async function copyOwnFile(path: string, copy: string): Promise<void> {
  const from = openOwnFile(path, "read");
  try {
    const to = openOwnFile(copy, "create");
    try {
      const chunk = Buffer.alloc(CHUNK_BYTES);
      for (let bytes = await readInto(chunk, from); bytes > 0; bytes = await readInto(chunk, from)) {
        writeAll(to, chunk.subarray(0, bytes));
      }
      await syncFile(to);
    } finally {
      closeSync(to);
    }
  } finally {
    closeSync(from);
  }
}

async function readInto(chunk: Buffer, fd: number): Promise<number> {
  return (await readChunk(fd, chunk, 0, chunk.length, null)).bytesRead;
}

function writeAll(fd: number, bytes: Buffer): void {
  for (let written = 0; written < bytes.length;) written += writeSync(fd, bytes, written);
}

function isNotWritable(error: unknown): boolean {
  const code = systemCode(error);
  return code === "EROFS" || isDenied(code);
}

/** A record as its line says it, without the line's end. */
export function toLine(record: JsonObject): string {
  return printableJson(record);
}

/** The record in a line, or nothing where a crash tore it. */
export function parseLine(line: Buffer): JsonObject | undefined {
  const value = jsonIn(line.toString("utf8"));
  return isObject(value) ? value : undefined;
}
