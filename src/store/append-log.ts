import { type FileHandle, open } from "node:fs/promises";
import type { JsonObject } from "../core/json.js";
import { withFileLock } from "./file-lock.js";
import { printableJson } from "./printable-json.js";

const LF = 0x0a;
const CHUNK_BYTES = 256 * 1024;

/** Where a record's line lies in the file, in bytes. */
export interface LinePosition {
  readonly offset: number;
  readonly length: number;
}

/**
 * An append-only file of JSON lines that several processes may read and extend.
 *
 * A1. A line is written whole and fsynced before `append` resolves, under the log's lock.
 * A2. What is in the file is never rewritten. A line that a crash left torn is ended and stays, unread.
 * A3. Each process reads every line once: `onLine` sees them in file order, others' lines included.
 */
export class AppendLog {
  private readonly path: string;
  private readonly lockFile: string;
  private readonly onLine: (line: Buffer, position: LinePosition) => void;
  private readUpTo = 0;

  constructor(path: string, lockFile: string, onLine: (line: Buffer, position: LinePosition) => void) {
    this.path = path;
    this.lockFile = lockFile;
    this.onLine = onLine;
  }

  /** Reads the lines that are new since the last look. */
  async refresh(): Promise<void> {
    await withFileLock(this.lockFile, () => this.withFile((file) => this.readNew(file)));
  }

  /**
   * Appends what `decide` returns, having read everything before it; nothing when it returns nothing.
   * `decide` is told whether the last line of the file was torn.
   */
  async append(decide: (torn: boolean) => readonly JsonObject[]): Promise<void> {
    await withFileLock(this.lockFile, () =>
      this.withFile(async (file) => {
        const torn = await this.readNew(file);
        const records = decide(torn);
        if (records.length === 0) return;
        const text = records.map((record) => `${toLine(record)}\n`).join("");
        await file.appendFile(text);
        await file.sync();
        await this.readNew(file);
      }),
    );
  }

  /** The records of lines that `onLine` was told of, one after the other from one open file. */
  async readAt(positions: readonly LinePosition[]): Promise<readonly JsonObject[]> {
    if (positions.length === 0) return [];
    return this.withFile(async (file) => {
      const records: JsonObject[] = [];
      for (const { offset, length } of positions) {
        const bytes = Buffer.alloc(length);
        await file.read(bytes, 0, length, offset);
        records.push(JSON.parse(bytes.toString("utf8")) as JsonObject); // written by `append`
      }
      return records;
    });
  }

  private async withFile<T>(action: (file: FileHandle) => Promise<T>): Promise<T> {
    const file = await open(this.path, "a+", 0o600);
    try {
      return await action(file);
    } finally {
      await file.close();
    }
  }

  /** Reads whole new lines; ends a torn one and says that there was one. */
  private async readNew(file: FileHandle): Promise<boolean> {
    const { size } = await file.stat();
    let pending = Buffer.alloc(0);
    let offset = this.readUpTo;
    while (offset + pending.length < size) {
      const start = offset + pending.length;
      const chunk = Buffer.alloc(Math.min(CHUNK_BYTES, size - start));
      const { bytesRead } = await file.read(chunk, 0, chunk.length, start);
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
    await file.appendFile("\n");
    this.onLine(pending, { offset, length: pending.length });
    this.readUpTo = offset + pending.length + 1;
    return true;
  }
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
