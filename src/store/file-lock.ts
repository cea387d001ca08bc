import { closeSync, existsSync, mkdirSync, openSync } from "node:fs";
import { dirname } from "node:path";
import { tryLock } from "fs-native-extensions";

/**
 * Mutual exclusion by a kernel lock on a file: between processes, and between callers in one process. The kernel lets
 * go when the holder dies, so nothing is ever stale.
 *
 * A holder that was only stopped keeps the kernel's lock. Where a takeover is possible, whoever has waited too long goes
 * on with the next generation of the lock: the file `<lockFile>.1`, then `.2`. That nobody is hurt by it rests on this:
 *
 * K1. A generation that has a successor belongs to nobody any more; that is never undone.
 * K2. Before each effect, the holder makes sure that its generation has no successor (`assertHeld`). What it may still
 *     do after that, if it is stopped in between, is one step: rename a temporary file, or append to an open file.
 * K3. The first of a process to hold a new generation makes that step impossible (`takeOver`) before it looks at
 *     anything: it removes the temporary file, or puts a copy in the place of the open one.
 */

/** A lock while it is held. */
export interface HeldLock {
  isHeld(): boolean;
  /** Throws `LockLost` when somebody else has taken over. */
  assertHeld(): void;
}

/** This process was stopped for so long that another one has taken over its work: it has lost. */
export class LockLost extends Error {
  constructor() {
    super("This process was stopped for so long that another one has taken its lock over.");
  }
}

/** For whoever shares nothing with anybody. */
export const NO_LOCK: HeldLock = { isHeld: () => true, assertHeld: () => undefined };

/** The last holder or waiter of each lock in this process: later callers queue behind it. */
const queues = new Map<string, Promise<void>>();

/** The generation of each lock that this process knows and has taken over, where it is not the first one. */
const generations = new Map<string, number>();

const FIRST_PAUSE_MS = 1;
const LONGEST_PAUSE_MS = 25;
/** Longer than any critical section takes whose lock can be taken over. Pauses are added up: a sleeper has no patience lost. */
const PATIENCE_MS = 3_000;

/**
 * Runs `action` while holding `lockFile`, which is made (0600) when missing. Not reentrant. With `takeOver`, a holder
 * that does not let go loses the lock; without, it is waited for.
 */
export async function withFileLock<T>(
  lockFile: string,
  action: (lock: HeldLock) => Promise<T>,
  takeOver?: () => void,
): Promise<T> {
  const before = queues.get(lockFile) ?? Promise.resolve();
  let leave: () => void = () => undefined;
  const turn = new Promise<void>((resolve) => {
    leave = resolve;
  });
  const queued = before.then(() => turn);
  queues.set(lockFile, queued);
  await before;
  try {
    return await withKernelLock(lockFile, action, takeOver);
  } finally {
    leave();
    if (queues.get(lockFile) === queued) queues.delete(lockFile);
  }
}

async function withKernelLock<T>(
  lockFile: string,
  action: (lock: HeldLock) => Promise<T>,
  takeOver?: () => void,
): Promise<T> {
  const known = generations.get(lockFile) ?? 0;
  for (let generation = known; ; generation += 1) {
    const fd = openLockFile(fileOf(lockFile, generation));
    try {
      if (!(await isLocked(fd, lockFile, generation, takeOver !== undefined))) continue;
      if (generation > known) {
        takeOver?.();
        generations.set(lockFile, generation);
      }
      return await action(heldLock(lockFile, generation));
    } finally {
      closeSync(fd); // closing lets go of the lock
    }
  }
}

/** Waits for the lock. False when this generation has a successor, which a waiter without patience gives it. */
async function isLocked(
  fd: number,
  lockFile: string,
  generation: number,
  canTakeOver: boolean,
): Promise<boolean> {
  let waitedMs = 0;
  for (let pauseMs = FIRST_PAUSE_MS; !tryLock(fd); pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)) {
    if (hasSuccessor(lockFile, generation)) return false;
    if (canTakeOver && waitedMs >= PATIENCE_MS) {
      closeSync(openLockFile(fileOf(lockFile, generation + 1)));
      return false;
    }
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
    waitedMs += pauseMs;
  }
  return !hasSuccessor(lockFile, generation);
}

function heldLock(lockFile: string, generation: number): HeldLock {
  const isHeld = () => !hasSuccessor(lockFile, generation);
  return {
    isHeld,
    assertHeld() {
      if (!isHeld()) throw new LockLost();
    },
  };
}

function hasSuccessor(lockFile: string, generation: number): boolean {
  return existsSync(fileOf(lockFile, generation + 1));
}

function fileOf(lockFile: string, generation: number): string {
  return generation === 0 ? lockFile : `${lockFile}.${generation}`;
}

/** Synchronous: it takes microseconds, and a way through the thread pool would take longer. */
function openLockFile(path: string): number {
  try {
    return openSync(path, "a", 0o600);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    return openSync(path, "a", 0o600);
  }
}
