import { createHash } from "node:crypto";
import {
  closeSync,
  lstatSync,
  mkdirSync,
  readSync,
  readdirSync,
  renameSync,
  rmSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { syncDirectory, syncOwnFile, temporaryPathFor } from "../disk/atomic-file.js";
import { syncMade } from "../disk/make-folders.js";
import { openOwnFile, refuseLinkedFolders } from "../disk/own-file.js";
import type { Piece } from "./backup-format.js";
import { Unreadable, reading } from "./unreadable.js";
import { someAtOnce } from "../../core/some-at-once.js";

const CHUNK_BYTES = 256 * 1024;
/** A run may have more files than a process may open. */
const SYNCED_AT_ONCE = 16;

/** A piece of a backup is missing, or is not what its name says. */
export class DamagedPiece extends Error {}

/** Which bytes of an open file. */
export interface Stretch {
  readonly from: number;
  readonly to: number;
}

/**
 * The pieces of one part of a backup: files that are named by their SHA-256. Read and written synchronously: a backup is a process
 * of its own, and the less time between two looks at a run, the likelier nothing has changed.
 */
export class Pieces {
  readonly dir: string;
  private readonly unsynced = new Set<string>();
  /** The first folder on the way that was made for it: those from there on have new names. */
  private made: string | undefined;

  constructor(dir: string) {
    this.dir = dir;
  }

  /** Whether a piece is there, as far as its kind and its length tell: its bytes are looked at when it is read. */
  holds({ sha256, bytes }: Piece): boolean {
    const entry = lstatSync(join(this.dir, sha256), { throwIfNoEntry: false });
    return entry?.isFile() === true && entry.size === bytes;
  }

  /** Keeps a stretch of an open file. It is durable after `sync`. */
  keep(fd: number, stretch: Stretch): Piece {
    return this.write((take) => readStretch(fd, stretch, take));
  }

  keepText(text: string): Piece {
    return this.write((take) => take(Buffer.from(text)));
  }

  /** Makes what was kept durable. */
  async sync(): Promise<void> {
    await someAtOnce(this.unsynced, SYNCED_AT_ONCE, (name) => syncOwnFile(join(this.dir, name)));
    if (this.unsynced.size > 0) await syncDirectory(this.dir);
    this.unsynced.clear();
    await syncMade(this.made, this.dir);
    this.made = undefined;
  }

  /** Hands over the bytes of a piece. Throws `DamagedPiece` when they are not what they were. */
  read({ sha256, bytes }: Piece, take: (bytes: Buffer) => void): void {
    const hash = createHash("sha256");
    const path = join(this.dir, sha256);
    let fd: number;
    try {
      fd = openOwnFile(path, "read");
    } catch (error) {
      throw unreadablePiece(path, error);
    }
    try {
      readStretch(fd, { from: 0, to: bytes }, (chunk) => {
        hash.update(chunk);
        take(chunk);
      });
    } catch (error) {
      throw error instanceof Unreadable ? unreadablePiece(path, error) : error;
    } finally {
      closeSync(fd);
    }
    if (hash.digest("hex") !== sha256) {
      throw new DamagedPiece(`${path} is damaged: it does not have the SHA-256 of its name.`);
    }
  }

  private isWhole(piece: Piece): boolean {
    if (!this.holds(piece)) return false;
    try {
      this.read(piece, () => undefined);
      return true;
    } catch (error) {
      if (error instanceof DamagedPiece) return false;
      throw error;
    }
  }

  readText(piece: Piece): string {
    const chunks: Buffer[] = [];
    this.read(piece, (bytes) => chunks.push(Buffer.from(bytes)));
    return Buffer.concat(chunks).toString("utf8");
  }

  /** Removes every file of the part but these: what an older backup held, or one that was cut short. */
  sweep(kept: ReadonlySet<string>): void {
    this.refuseLinks();
    for (const entry of readdirSync(this.dir, { withFileTypes: true })) {
      if (entry.isFile() && !kept.has(entry.name)) rmSync(join(this.dir, entry.name), { force: true });
    }
  }

  private refuseLinks(): void {
    refuseLinkedFolders(join(this.dir, "piece"));
  }

  private write(fill: (take: (bytes: Uint8Array) => void) => void): Piece {
    this.refuseLinks();
    this.made ??= mkdirSync(this.dir, { recursive: true, mode: 0o700 });
    const hash = createHash("sha256");
    const temporary = temporaryPathFor(join(this.dir, "piece"));
    let bytes = 0;
    try {
      const fd = openOwnFile(temporary, "create");
      try {
        fill((chunk) => {
          hash.update(chunk);
          for (let written = 0; written < chunk.length;) written += writeSync(fd, chunk, written);
          bytes += chunk.length;
        });
      } finally {
        closeSync(fd);
      }
      const piece = { sha256: hash.digest("hex"), bytes };
      // One that is there is durable, and may be the former backup's: nothing takes its place that is not durable yet.
      if (this.isWhole(piece)) rmSync(temporary);
      else renameSync(temporary, join(this.dir, piece.sha256));
      this.unsynced.add(piece.sha256);
      return piece;
    } catch (error) {
      rmSync(temporary, { force: true });
      throw error;
    }
  }
}

function unreadablePiece(path: string, cause: unknown): DamagedPiece {
  return new DamagedPiece(`${path} is missing or cannot be read.`, { cause });
}

/** The SHA-256 of a stretch of an open file. */
export function hashOf(fd: number, stretch: Stretch): string {
  const hash = createHash("sha256");
  readStretch(fd, stretch, (chunk) => hash.update(chunk));
  return hash.digest("hex");
}

/** A file that was cut shorter meanwhile gives less. Throws `Unreadable`. */
function readStretch(fd: number, { from, to }: Stretch, take: (chunk: Buffer) => void): void {
  const chunk = Buffer.alloc(Math.min(CHUNK_BYTES, Math.max(1, to - from)));
  for (let at = from; at < to;) {
    const length = Math.min(chunk.length, to - at);
    const bytesRead = reading("One of its files", () => readSync(fd, chunk, 0, length, at));
    if (bytesRead === 0) return;
    take(chunk.subarray(0, bytesRead));
    at += bytesRead;
  }
}
