import { closeSync, mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isSha256 } from "../../core/sha256.js";
import { mayPass, systemCode } from "../../core/system-code.js";
import { openOwnFile, readOwnFileSync, standsThere } from "../disk/own-file.js";
import { removeIfPresent } from "../disk/remove-leftover.js";
import { sha256 } from "../disk/sha256.js";

/**
 * What a run has written into its project, each content once, by its SHA-256. A fork finds files here as they were. Not
 * fsynced: what a power failure tears is noticed by its hash and reported as missing, and so is what a full disk refused.
 */
export class Blobs {
  private readonly dir: string;

  constructor(dir: string) {
    this.dir = dir;
  }

  /** Never throws: the file itself is written, and that is what counts. The caller holds the run's state lock. */
  keep(bytes: Uint8Array): void {
    const hash = sha256(bytes);
    const path = join(this.dir, hash);
    const temporary = join(this.dir, `.tmp-${hash}-${hash.slice(0, 12)}`);
    try {
      if (this.read(hash) !== undefined) return;
      mkdirSync(this.dir, { recursive: true, mode: 0o700 });
      rmSync(temporary, { force: true }); // of an attempt that was cut short: it is made again
      const fd = openOwnFile(temporary, "create");
      try {
        writeFileSync(fd, bytes);
      } finally {
        closeSync(fd);
      }
      renameSync(temporary, path);
    } catch {
      removeIfPresent(temporary);
    }
  }

  /** Whether something is kept under that hash: whether it is what it was, `read` says. */
  has(hash: string): boolean {
    return isSha256(hash) && standsThere(join(this.dir, hash));
  }

  /** Undefined where the content is missing or damaged. Throws what the system says where it cannot be read now. */
  read(hash: string): Buffer | undefined {
    if (!isSha256(hash)) return undefined;
    try {
      const bytes = readOwnFileSync(join(this.dir, hash));
      return sha256(bytes) === hash ? bytes : undefined;
    } catch (error) {
      if (mayPass(systemCode(error))) throw error;
      return undefined;
    }
  }
}
