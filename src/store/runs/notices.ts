import { lstatSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { parseNotice, type Notice } from "../../core/notify/notice.js";
import { removeAllTemporaries, writeFileAtomic } from "../disk/atomic-file.js";
import { type HeldLock, withFileLock } from "../disk/fenced-lock.js";
import { makeDurable } from "../disk/make-folders.js";
import { readOwnFile, standsThere } from "../disk/own-file.js";
import { systemCode } from "../../core/system-code.js";

/** A notice that lies in a run's folder, and since when. */
export interface KeptNotice {
  readonly change: number;
  readonly receiver: string;
  readonly keptAt: Date;
}

const MAX_NOTICE_BYTES = 64 * 1024;

/** What of a run waits to be told to somebody: a file for each change of phase and receiver, gone when it was delivered. */
export class Notices {
  private readonly dir: string;

  private readonly lockFile: string;

  constructor(dir: string, lockFile: string) {
    this.dir = dir;
    this.lockFile = lockFile;
  }

  /** The same notice twice is one. */
  async keep(change: number, receiver: string, notice: Notice): Promise<void> {
    await makeDurable(this.dir, 0o700);
    const path = this.pathOf(change, receiver);
    // No file is written again: what a crash has left of one goes when the next one comes.
    const clear = () => removeAllTemporaries(this.dir);
    const write = async (lock: HeldLock) => {
      clear();
      await writeFileAtomic(path, `${JSON.stringify(notice)}\n`, lock);
    };
    await withFileLock(this.lockFile, write, clear);
  }

  /** Undefined where it was delivered, or never was. Throws what the system says. */
  async read(change: number, receiver: string): Promise<Notice | undefined> {
    try {
      const bytes = await readOwnFile(this.pathOf(change, receiver), MAX_NOTICE_BYTES);
      return parseNotice(JSON.parse(bytes.toString("utf8")));
    } catch (error) {
      if (systemCode(error) === "ENOENT") return undefined;
      throw error;
    }
  }

  /** Those that were kept and not delivered: what was given up is among them. */
  waiting(): readonly KeptNotice[] {
    const names = standsThere(this.dir) ? readdirSync(this.dir) : [];
    return names.flatMap((name) => {
      const [, change, receiver] = /^(\d+)\.(.+)\.json$/.exec(name) ?? [];
      const entry = lstatSync(join(this.dir, name), { throwIfNoEntry: false }); // it may be delivered just now
      if (change === undefined || receiver === undefined || entry === undefined) return [];
      return [{ change: Number(change), receiver, keptAt: entry.mtime }];
    });
  }

  remove(change: number, receiver: string): void {
    rmSync(this.pathOf(change, receiver), { force: true });
  }

  private pathOf(change: number, receiver: string): string {
    if (!/^[a-z0-9-]+$/.test(receiver)) throw new Error("A receiver's name is small letters, digits and -.");
    return join(this.dir, `${change}.${receiver}.json`);
  }
}
