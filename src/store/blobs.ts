import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { removeTemporaries, temporaryPathFor } from "./atomic-file.js";
import { sha256 } from "./sha256.js";

/**
 * What a run has written into its project, each content once, by its SHA-256. A fork finds files here as they were. Not
 * fsynced: what a power failure tears is noticed by its hash and reported as missing.
 */
export class Blobs {
  private readonly dir: string;

  constructor(dir: string) {
    this.dir = dir;
  }

  /** Throws, and leaves nothing, where it cannot be written. The caller holds the run's state lock. */
  keep(bytes: Uint8Array): void {
    const path = join(this.dir, sha256(bytes));
    if (existsSync(path)) return;
    mkdirSync(this.dir, { recursive: true, mode: 0o700 });
    removeTemporaries(path); // of an attempt that was cut short: it is made again
    const temporary = temporaryPathFor(path);
    try {
      writeFileSync(temporary, bytes, { mode: 0o600 });
      renameSync(temporary, path);
    } catch (error) {
      rmSync(temporary, { force: true });
      throw error;
    }
  }

  /** Undefined where the content is missing or damaged. */
  read(hash: string): Buffer | undefined {
    if (!/^[0-9a-f]{64}$/.test(hash)) return undefined;
    try {
      const bytes = readFileSync(join(this.dir, hash));
      return sha256(bytes) === hash ? bytes : undefined;
    } catch {
      return undefined;
    }
  }
}
