import { closeSync, existsSync, fstatSync, openSync, readSync, renameSync, writeSync } from "node:fs";
import { copyFile } from "node:fs/promises";
import { failpoint } from "../core/failpoint.js";
import type { JsonObject } from "../core/json.js";
import { removeTemporaries, syncFile, temporaryPathFor } from "./atomic-file.js";
import { type HeldLock, NO_LOCK, type TakeOver, seizeLock, withFileLock } from "./file-lock.js";
import { type LineDigest, LineIndex } from "./line-index.js";
import { printableJson } from "./printable-json.js";

const LF = 0x0a;
const CHUNK_BYTES = 256 * 1024;

/** Where a record's line lies in the file, in bytes. */
export interface LinePosition {
  readonly offset: number;
  readonly length: number;
}

export interface AppendLogOptions {
  /** Of the log's lock. */
  readonly owner?: HeldLock | undefined;
  /** Where several logs share a lock: replaces all of them by copies. */
  readonly takeOver?: TakeOver;
}

/** What is told of lines: of each line as it is read, or what an index keeps of it. */
export type LineReader = ((line: Buffer, position: LinePosition) => void) | LineDigest;

/**
 * An append-only file of JSON lines that several processes may read and extend.
 *
 * A1. A line is written whole and fsynced before `append` resolves, under the log's lock.
 * A2. What is in the file is never rewritten. A line that a crash left torn is ended and stays, unread.
 * A3. Each process reads every line once: `onLine` sees them in file order, others' lines included. With an index
 *     (`line-index.ts`), only the lines that are not in it are read.
 * A4. A process that has lost the lock writes into a file that nobody reads any more: who takes over puts a copy in
 *     its place.
 */
export class AppendLog {
  private readonly path: string;
  private readonly lockFile: string;
  private readonly onLine: (line: Buffer, position: LinePosition) => void;
  private readonly owner: HeldLock;
  private readonly takeOver: TakeOver;
  private readonly index: LineIndex | undefined;
  /** Undefined until the index, if there is one, is loaded. */
  private readUpTo: number | undefined;

  constructor(
    path: string,
    lockFile: string,
    reader: LineReader,
    { owner = NO_LOCK, takeOver }: AppendLogOptions = {},
  ) {
    const index = typeof reader === "function" ? undefined : new LineIndex(path, lockFile, reader);
    this.path = path;
    this.lockFile = lockFile;
    this.index = index;
    this.onLine = typeof reader === "function" ? reader : (line, position) => index?.add(line, position);
    this.owner = owner;
    this.takeOver =
      takeOver ??
      (async (lock) => {
        await replaceByCopy(path, lock);
        if (index !== undefined) await replaceByCopy(index.path, lock);
      });
  }

  /** Ends what another process may be about to append. */
  seize(): Promise<void> {
    return seizeLock(this.lockFile, this.takeOver, this.owner);
  }

  /** Reads the lines that are new since the last look. */
  async refresh(): Promise<void> {
    if (this.withFile((fd) => fstatSync(fd).size) === (this.readUpTo ?? 0)) return;
    await this.exclusively(async (lock) => {
      this.withFile((fd) => this.readNew(fd, lock));
    });
  }

  /**
   * Appends what `decide` returns, having read everything before it; nothing when it returns nothing.
   * `decide` is told whether the last line of the file was torn. `owner` is a lock that what is appended depends on.
   */
  async append(decide: (torn: boolean) => readonly JsonObject[], owner: HeldLock = NO_LOCK): Promise<void> {
    await this.exclusively(async (lock) => {
      const fd = openSync(this.path, "a+", 0o600);
      try {
        const torn = this.readNew(fd, lock);
        const records = decide(torn);
        if (records.length === 0) return;
        failpoint("log.before-line");
        owner.assertHeld();
        lock.assertHeld();
        writeAll(fd, Buffer.from(records.map((record) => `${toLine(record)}\n`).join("")));
        failpoint("log.line-written");
        await syncFile(fd);
        lock.assertHeld();
        this.readNew(fd, lock);
      } finally {
        closeSync(fd);
      }
    });
  }

  /** The records of lines that `onLine` was told of, one after the other from one open file. */
  readAt(positions: readonly LinePosition[]): readonly JsonObject[] {
    if (positions.length === 0) return [];
    return this.withFile((fd) =>
      positions.map(({ offset, length }) => {
        const bytes = Buffer.alloc(length);
        readSync(fd, bytes, 0, length, offset);
        return JSON.parse(bytes.toString("utf8")) as JsonObject; // written by `append`
      }),
    );
  }

  private exclusively(action: (lock: HeldLock) => Promise<void>): Promise<void> {
    return withFileLock(this.lockFile, action, this.takeOver, { owner: this.owner });
  }

  private withFile<T>(action: (fd: number) => T): T {
    const fd = openSync(this.path, "a+", 0o600);
    try {
      return action(fd);
    } finally {
      closeSync(fd);
    }
  }

  /** Reads whole new lines; ends a torn one and says that there was one. */
  private readNew(fd: number, lock: HeldLock): boolean {
    const { size } = fstatSync(fd);
    this.readUpTo ??= this.index?.load(size, lock) ?? 0;
    const torn = this.readLines(fd, size, this.readUpTo, lock);
    this.index?.save(lock);
    return torn;
  }

  private readLines(fd: number, size: number, from: number, lock: HeldLock): boolean {
    let pending = Buffer.alloc(0);
    let offset = from;
    while (offset + pending.length < size) {
      const start = offset + pending.length;
      const chunk = Buffer.alloc(Math.min(CHUNK_BYTES, size - start));
      const bytesRead = readSync(fd, chunk, 0, chunk.length, start);
      if (bytesRead === 0) break;
      pending = Buffer.concat([pending, chunk.subarray(0, bytesRead)]);
      for (let feed = pending.indexOf(LF); feed !== -1; feed = pending.indexOf(LF)) {
        this.onLine(pending.subarray(0, feed), { offset, length: feed });
        offset += feed + 1;
        pending = pending.subarray(feed + 1);
      }
    }
    this.readUpTo = offset;
    if (pending.length === 0) return false;
    lock.assertHeld();
    writeAll(fd, Buffer.from("\n"));
    this.onLine(pending, { offset, length: pending.length });
    this.readUpTo = offset + pending.length + 1;
    return true;
  }
}

/** Whoever has the file open has lost it. `lock` is the one that was taken over. A log may be long: it is not copied at once. */
export async function replaceByCopy(path: string, lock: HeldLock): Promise<void> {
  if (!existsSync(path)) return;
  removeTemporaries(path);
  const copy = temporaryPathFor(path);
  await copyFile(path, copy);
  const fd = openSync(copy, "r+");
  try {
    await syncFile(fd);
  } finally {
    closeSync(fd);
  }
  lock.assertHeld();
  renameSync(copy, path);
}

function writeAll(fd: number, bytes: Buffer): void {
  for (let written = 0; written < bytes.length;) written += writeSync(fd, bytes, written);
}

/** A record as its line says it, without the line's end. */
export function toLine(record: JsonObject): string {
  return printableJson(record);
}

/** The record in a line, or nothing where a crash tore it. */
export function parseLine(line: Buffer): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(line.toString("utf8"));
    return typeof value === "object" && value !== null && !Array.isArray(value)
      ? (value as JsonObject)
      : undefined;
  } catch {
    return undefined;
  }
}
