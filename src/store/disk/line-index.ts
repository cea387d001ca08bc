import { closeSync, fstatSync, readSync, renameSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { failpoint } from "../../core/failpoint.js";
import { type JsonObject, isList, jsonIn } from "../../core/json.js";
import { removeTemporaries, temporaryPathFor } from "./atomic-file.js";
import type { HeldLock } from "./fenced-lock.js";
import { openOwnFile, readOwnFileSync, standsThere } from "./own-file.js";
import { systemCode } from "../../core/system-code.js";

/** Where a record's line lies in the file, in bytes. */
export interface LinePosition {
  readonly offset: number;
  readonly length: number;
}

/** What an index keeps of the lines of a log. Both are called in file order, once for each line. */
export interface LineDigest {
  /** What has to be known of a line that is not read again; undefined for one that a crash tore. */
  readonly toEntry: (line: Buffer) => JsonObject | undefined;
  readonly onEntry: (entry: JsonObject | undefined, position: LinePosition) => void;
}

const SAVED_LINES = 16;
const SAVED_BYTES = 32 * 1024;

interface IndexLine extends LinePosition {
  readonly entry?: JsonObject;
}

/**
 * The index of a log, `<log>.index` beside its lock: one short line for each line of the log, so that whoever opens a log with large
 * lines reads none of them. It is derived: without it, or behind where it is damaged, the log itself is read and the index
 * made again.
 *
 * N1. It is read and written under the log's lock, and a takeover puts a copy in its place.
 * N2. A line is indexed after it is in the log, so the index may end before the log does. What the index says of a line
 *     counts only as far as the lines join on to each other and lie in the log; its last one is compared with the log.
 * N3. It is not fsynced: what a power failure takes from it is derived again.
 * N4. It is written for sixteen lines of the log at a time, or for as few as make 32 KB: to write it takes about as long as a line of
 *     the log. So much at most is read again by whoever opens the log next.
 */
export class LineIndex {
  readonly path: string;
  private readonly logPath: string;
  private readonly digest: LineDigest;
  private readonly maxLineBytes: number;
  private unsaved: IndexLine[] = [];
  /** How much of the index this process knows, in bytes; undefined where it no longer fits the log. */
  private knownBytes: number | undefined = 0;

  constructor(logPath: string, lockFile: string, digest: LineDigest, maxLineBytes: number) {
    this.logPath = logPath;
    this.path = join(dirname(lockFile), `${basename(logPath)}.index`);
    this.digest = digest;
    this.maxLineBytes = maxLineBytes;
  }

  /** Tells of the lines that the index knows, and returns where in the log the first unknown one begins. */
  load(logSize: number, lock: HeldLock): number {
    const text = readText(this.path);
    const known = readLines(text, 0, logSize);
    if (!this.isOfThisLog(known.lines.at(-1))) known.lines.length = 0;
    const isWhole = known.lines.length > 0 && known.bytes === Buffer.byteLength(text);
    if (!isWhole && text !== "") this.replace(known.lines, lock);
    else this.knownBytes = known.bytes;
    for (const { entry, offset, length } of known.lines) this.digest.onEntry(entry, { offset, length });
    return endOf(known.lines.at(-1));
  }

  /** Takes up a line that was read from the log. */
  add(line: Buffer, { offset, length }: LinePosition): void {
    const entry = this.digest.toEntry(line);
    this.unsaved.push({ offset, length, ...(entry === undefined ? {} : { entry }) });
    this.digest.onEntry(entry, { offset, length });
  }

  /** Writes down what was taken up and is not there yet (N4): another process may have done so. Never throws for a full disk. */
  save(lock: HeldLock): void {
    const lines = this.unsaved;
    const [first] = lines;
    if (first === undefined) return;
    const bytes = endOf(lines.at(-1)) - first.offset;
    if (lines.length < SAVED_LINES && bytes < SAVED_BYTES) return;
    this.unsaved = [];
    if (this.knownBytes === undefined) return;
    let fd: number | undefined;
    try {
      fd = openOwnFile(this.path, "append");
      const { size } = fstatSync(fd);
      const others = readLines(readTail(fd, this.knownBytes, size), first.offset, Number.POSITIVE_INFINITY);
      if (this.knownBytes + others.bytes !== size) {
        this.knownBytes = undefined; // whoever opens the log next sees to it
        return;
      }
      const from = others.lines.length === 0 ? first.offset : endOf(others.lines.at(-1));
      const own = lines.filter(({ offset }) => offset >= from).map((line) => `${JSON.stringify(line)}\n`);
      const bytes = Buffer.from(own.join(""));
      failpoint("index.before-lines");
      lock.assertHeld();
      writeFileSync(fd, bytes);
      failpoint("index.lines-written");
      this.knownBytes = size + bytes.length;
    } catch (error) {
      if (systemCode(error) === undefined) throw error;
      this.knownBytes = undefined;
    } finally {
      if (fd !== undefined) closeSync(fd);
    }
  }

  /** The index ends with a line of this very log: not of one that was put in its place, nor of what a power failure took. */
  private isOfThisLog(last: IndexLine | undefined): boolean {
    if (last === undefined) return true;
    if (last.length > this.maxLineBytes) return false; // the log itself says what is wrong with it
    const fd = openOwnFile(this.logPath, "read");
    try {
      const line = Buffer.alloc(last.length);
      if (readSync(fd, line, 0, last.length, last.offset) !== last.length) return false;
      return JSON.stringify(this.digest.toEntry(line)) === JSON.stringify(last.entry);
    } finally {
      closeSync(fd);
    }
  }

  /** Puts what is left of a damaged index in its place. */
  private replace(lines: readonly IndexLine[], lock: HeldLock): void {
    removeTemporaries(this.path);
    const text = lines.map((line) => `${JSON.stringify(line)}\n`).join("");
    const temporary = temporaryPathFor(this.path);
    const fd = openOwnFile(temporary, "create");
    try {
      writeFileSync(fd, text);
    } finally {
      closeSync(fd);
    }
    lock.assertHeld();
    renameSync(temporary, this.path);
    this.knownBytes = Buffer.byteLength(text);
  }
}

/** Whole lines of an index that join on to each other, the first at `start` of the log; `bytes` is how long they are. */
function readLines(text: string, start: number, logSize: number): { lines: IndexLine[]; bytes: number } {
  const joined = text.slice(0, text.lastIndexOf("\n") + 1);
  const texts = joined.split("\n").slice(0, -1);
  const all = parseAtOnce(texts);
  const lines = joiningOn(all?.length === texts.length ? all : texts.map(jsonIn), start, logSize);
  if (lines.length === texts.length) return { lines, bytes: Buffer.byteLength(joined) };
  const known = texts.slice(0, lines.length).map((line) => `${line}\n`);
  return { lines, bytes: Buffer.byteLength(known.join("")) };
}

/** All lines by one call of the parser, which is much quicker than one for each; undefined where one is damaged. */
function parseAtOnce(texts: readonly string[]): readonly unknown[] | undefined {
  const parsed = jsonIn(`[${texts.join(",")}]`);
  return isList(parsed) ? parsed : undefined;
}

/** The first of the values that are lines of an index, each where the one before ends. */
function joiningOn(values: readonly unknown[], start: number, logSize: number): IndexLine[] {
  const lines: IndexLine[] = [];
  let from = start;
  for (const value of values) {
    if (!isIndexLine(value) || value.offset !== from || endOf(value) > logSize) break;
    lines.push(value);
    from = endOf(value);
  }
  return lines;
}

function isIndexLine(value: unknown): value is IndexLine {
  if (typeof value !== "object" || value === null) return false;
  const { offset, length, entry } = value as Partial<IndexLine>; // checked here
  if (!Number.isSafeInteger(offset) || !Number.isSafeInteger(length) || Number(length) < 0) return false;
  return entry === undefined || (typeof entry === "object" && entry !== null);
}

/** Where the log goes on behind a line. */
function endOf(line: IndexLine | undefined): number {
  return line === undefined ? 0 : line.offset + line.length + 1;
}

function readText(path: string): string {
  return standsThere(path) ? readOwnFileSync(path).toString("utf8") : "";
}

function readTail(fd: number, from: number, size: number): string {
  const bytes = Buffer.alloc(Math.max(0, size - from));
  return bytes.toString("utf8", 0, readSync(fd, bytes, 0, bytes.length, from));
}
