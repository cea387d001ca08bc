import { type BigIntStats, closeSync, fstatSync, ftruncateSync, readSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { failpoint } from "../../core/failpoint.js";
import { syncDirectory, syncFile, syncOwnFile } from "./atomic-file.js";
import type { HeldLock } from "./fenced-lock.js";
import { openOwnFile, standsThere } from "./own-file.js";

const LF = 0x0a;
const CHUNK_BYTES = 1024 * 1024;
/** No writer leaves a torn line of so many bytes: its lines are short. */
const MAX_TORN_BYTES = 64 * 1024;

/**
 * A file of lines that is appended to under a lock and read without one, each line once by each process.
 *
 * F1. Readers take whole lines only, and change nothing. A torn one at the end belongs to a writer that is at it, or is dead:
 *     the next writer cuts it off. So a line that has its end was written whole. One that is too long for that is another's
 *     text, and is refused: nothing of it is cut off.
 * F2. Another file in its place is read from its beginning: a copy after a takeover, or what a pruning has left.
 */
export class LineFile {
  readonly path: string;
  private file: string | undefined;
  private offset = 0;
  /** Whether this process has made the file's name durable. */
  private isNamed = false;

  constructor(path: string) {
    this.path = path;
  }

  /** Hands over the new whole lines, several at once, each with its end. `begin` is called where the file is read from its start. */
  readNew(begin: () => void, take: (lines: string) => void): void {
    if (!standsThere(this.path)) {
      if (this.file !== undefined) begin();
      [this.file, this.offset] = [undefined, 0];
      return;
    }
    const fd = openOwnFile(this.path, "read");
    try {
      const stats = fstatSync(fd, { bigint: true });
      const size = Number(stats.size);
      if (identityOf(stats) !== this.file || size < this.offset) {
        begin();
        [this.file, this.offset] = [identityOf(stats), 0];
      }
      this.readUpTo(fd, size, take);
    } finally {
      closeSync(fd);
    }
  }

  /** Reads the file from its beginning the next time. */
  forget(): void {
    this.file = undefined;
  }

  private readUpTo(fd: number, size: number, take: (lines: string) => void): void {
    for (let length = CHUNK_BYTES; this.offset < size;) {
      const chunk = Buffer.allocUnsafe(Math.min(length, size - this.offset));
      const bytes = chunk.subarray(0, readSync(fd, chunk, 0, chunk.length, this.offset));
      const end = bytes.lastIndexOf(LF) + 1;
      if (end > 0) {
        take(bytes.toString("utf8", 0, end));
        this.offset += end;
      } else if (this.offset + bytes.length >= size || bytes.length < chunk.length) {
        if (bytes.length > MAX_TORN_BYTES)
          throw new Error(`${bytes.length} bytes at the end of ${this.path} are no line.`);
        return; // torn, or just being written
      } else length *= 2;
    }
  }

  /**
   * Appends lines, which have their ends, and makes them durable. The caller holds the lock and has read what is there; whoever takes
   * the lock over puts a copy in the file's place.
   */
  async append(lines: string, lock: HeldLock): Promise<void> {
    const fd = openOwnFile(this.path, "append");
    try {
      lock.assertHeld();
      if (fstatSync(fd).size > this.offset) ftruncateSync(fd, this.offset);
      failpoint("log.before-line");
      lock.assertHeld();
      writeFileSync(fd, lines);
      failpoint("log.line-written");
      await syncFile(fd);
    } finally {
      closeSync(fd);
    }
    if (!this.isNamed) await syncDirectory(dirname(this.path)); // whoever made the file may have died before that
    this.isNamed = true;
    lock.assertHeld();
  }

  /** Makes durable what is there: who wrote it may have died first. */
  async sync(): Promise<void> {
    if (!standsThere(this.path)) return;
    await syncOwnFile(this.path);
    await syncDirectory(dirname(this.path));
  }
}

/** The number of a file may be given again: the moment it was made is not. */
function identityOf({ ino, birthtimeNs }: BigIntStats): string {
  return `${ino} ${birthtimeNs}`;
}
