import { closeSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { unlock } from "fs-native-extensions";
import { tryKernelLock } from "../store/disk/kernel-lock.js";
import { systemCode } from "../core/system-code.js";
import { openOwnFile } from "../store/disk/own-file.js";

const POLL_MS = 50;

/**
 * A kernel lock on a file, held by the open file and not by the process: it ends when the last process that
 * has this open file ends, however it ends. A child that inherits `fd` keeps the lock by itself, so `close`
 * gives up only our own share, whereas `unlock` takes it from the child too. (A plain descriptor, for a
 * `FileHandle` that nobody refers to is closed by the garbage collector, and the lock with it.)
 */
export class FileLock {
  readonly fd: number;
  readonly isWritable: boolean;
  private readonly path: string;

  constructor(path: string, access: "append" | "read" = "append") {
    this.path = path;
    this.isWritable = access === "append";
    this.fd = openOwnFile(path, access);
  }

  tryExclusive(): boolean {
    return tryKernelLock(this.fd, this.path);
  }

  tryShared(): boolean {
    return tryKernelLock(this.fd, this.path, { shared: true });
  }

  unlock(): void {
    unlock(this.fd);
  }

  close(): void {
    closeSync(this.fd);
  }
}

/** Waits until the lock is ours alone. `onWait` is called once, when it is not so at once. */
export async function lockExclusively(
  path: string,
  wait: { readonly signal?: AbortSignal | undefined; readonly onWait?: () => void },
): Promise<FileLock> {
  const lock = new FileLock(path);
  try {
    let waiting = false;
    while (!lock.tryExclusive()) {
      if (!waiting) wait.onWait?.();
      waiting = true;
      wait.signal?.throwIfAborted();
      await pause(POLL_MS);
    }
    return lock;
  } catch (error) {
    lock.close();
    throw error;
  }
}

/** The same, as long as `patience` lasts; null where the lock was not to be had by then. */
export async function lockWithin(path: string, patience: AbortSignal): Promise<FileLock | null> {
  try {
    return await lockExclusively(path, { signal: patience });
  } catch (error) {
    if (patience.aborted) return null;
    throw error;
  }
}

/**
 * Whether some living process has this file open and locked for itself. A free lock is given back at once. Where nothing can be written a share of
 * it is tried, which tells the same.
 */
export function isHeld(path: string): boolean {
  let lock: FileLock;
  try {
    lock = new FileLock(path);
  } catch (error) {
    if (!isReadOnly(error)) throw error;
    lock = new FileLock(path, "read");
  }
  try {
    return !(lock.isWritable ? lock.tryExclusive() : lock.tryShared());
  } finally {
    lock.close();
  }
}

/** Whether it says that nothing can be written there. */
export function isReadOnly(error: unknown): boolean {
  return systemCode(error) === "EROFS";
}
