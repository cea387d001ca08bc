import { closeSync, mkdirSync, openSync } from "node:fs";
import { dirname } from "node:path";
import { tryLock } from "fs-native-extensions";

/**
 * Mutual exclusion by a kernel lock on a file: between processes, and between callers in one process. The
 * kernel lets go when the holder dies, so nothing is ever stale and nothing is ever stolen: a process that
 * was stopped inside keeps the others waiting and cannot be overtaken.
 */

/** The last holder or waiter of each lock in this process: later callers queue behind it. */
const queues = new Map<string, Promise<void>>();

const FIRST_PAUSE_MS = 1;
const LONGEST_PAUSE_MS = 25;

/** Runs `action` while holding `lockFile`, which is made (0600) when missing. Not reentrant. */
export async function withFileLock<T>(lockFile: string, action: () => Promise<T>): Promise<T> {
  const before = queues.get(lockFile) ?? Promise.resolve();
  let leave: () => void = () => undefined;
  const turn = new Promise<void>((resolve) => {
    leave = resolve;
  });
  const queued = before.then(() => turn);
  queues.set(lockFile, queued);
  await before;
  try {
    return await withKernelLock(lockFile, action);
  } finally {
    leave();
    if (queues.get(lockFile) === queued) queues.delete(lockFile);
  }
}

async function withKernelLock<T>(lockFile: string, action: () => Promise<T>): Promise<T> {
  const fd = openLockFile(lockFile);
  try {
    for (let pauseMs = FIRST_PAUSE_MS; !tryLock(fd); pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)) {
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
    return await action();
  } finally {
    closeSync(fd); // closing lets go of the lock
  }
}

/** Synchronous: it takes microseconds, and a way through the thread pool would take longer. */
function openLockFile(lockFile: string): number {
  try {
    return openSync(lockFile, "a", 0o600);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    mkdirSync(dirname(lockFile), { recursive: true, mode: 0o700 });
    return openSync(lockFile, "a", 0o600);
  }
}
