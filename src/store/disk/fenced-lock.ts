import { channel } from "node:diagnostics_channel";
import { closeSync, mkdirSync } from "node:fs";
import { dirname } from "node:path";
import { defined } from "../../core/defined.js";
import { tryKernelLock } from "./kernel-lock.js";
import { openOwnFile, standsThere } from "./own-file.js";
import { systemCode } from "../../core/system-code.js";

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
 * K3. The first to hold a new generation makes that step impossible (`takeOver`) before it looks at anything: it removes the
 *     temporary file, or puts a copy in the place of the open one. When that is done it says so, with the file
 *     `<lockFile>.1.done`: it is done once, not by each process that comes later.
 *
 * A lock may have an owner, which is itself something that can be lost: an execution of a run (`executions.ts`). Who has
 * lost the owner holds none of its locks.
 */

/** A lock while it is held. */
export interface HeldLock {
  isHeld(): boolean;
  /** Throws `LockLost` when somebody else has taken over. */
  assertHeld(): void;
}

/** This process was stopped for so long that another one has taken over its work: it has lost. */
export class LockLost extends Error {
  constructor(message = "This process was stopped for so long that another one has taken its lock over.") {
    super(message);
  }
}

/** For whoever shares nothing with anybody. */
export const NO_LOCK: HeldLock = { isHeld: () => true, assertHeld: () => undefined };

/** Of whoever only looks, perhaps where nothing can be written: no lock is taken. Else as `withFileLock`. */
export function withFileLockUnless<T>(
  isLook: boolean,
  lockFile: string,
  action: (lock: HeldLock) => Promise<T>,
  takeOver?: TakeOver,
): Promise<T> {
  return isLook ? action(NO_LOCK) : withFileLock(lockFile, action, takeOver);
}

/** Makes impossible what a holder before us may still do. `lock` is the one that was taken over. */
export type TakeOver = (lock: HeldLock) => void | Promise<void>;

/** A channel of `node:diagnostics_channel`: hears of each lock that this process has taken over. */
export const LOCK_TAKEN_OVER = "interlock:lock-taken-over";

/** A channel of `node:diagnostics_channel`: hears of each lock that this process waits for (`WaitedFor`), once that has taken a second. */
export const LOCK_WAITED_FOR = "interlock:lock-waited-for";

export interface WaitedFor {
  readonly lockFile: string;
  /** It cannot be taken over: it is waited for until its holder lets go. */
  readonly isEndless: boolean;
}

interface LockOptions {
  readonly takeOver?: TakeOver;
  readonly owner?: HeldLock;
  /** How long a holder is waited for that does not let go, where the lock can be taken over. */
  readonly patienceMs?: number;
}

/** The last holder or waiter of each lock in this process: later callers queue behind it. */
const queues = new Map<string, Promise<void>>();

/** The generation of each lock that this process knows to be taken over, where it is not the first one. */
const generations = new Map<string, number>();

const FIRST_PAUSE_MS = 1;
const LONGEST_PAUSE_MS = 25;
const LONG_WAIT_MS = 1_000;
/** Longer than any critical section takes whose lock can be taken over. Pauses are added up: a sleeper has no patience lost. */
const PATIENCE_MS = 3_000;

/**
 * Runs `action` while holding `lockFile`, which is made (0600) when missing. Not reentrant. With `takeOver`, a holder
 * that does not let go loses the lock; without, it is waited for.
 */
export function withFileLock<T>(
  lockFile: string,
  action: (lock: HeldLock) => Promise<T>,
  takeOver?: TakeOver,
): Promise<T> {
  return queued(lockFile, action, defined({ takeOver }));
}

/** A lock that can be taken over, and whose it is. */
export class FencedLock {
  private readonly lockFile: string;
  private readonly options: LockOptions;

  constructor(lockFile: string, takeOver: TakeOver, owner: HeldLock = NO_LOCK) {
    this.lockFile = lockFile;
    this.options = { takeOver, owner };
  }

  /** Runs `action` while holding it. Not reentrant. A holder that does not let go loses it. */
  hold<T>(action: (lock: HeldLock) => Promise<T>): Promise<T> {
    return queued(this.lockFile, action, this.options);
  }

  /** Ends what another process may be about to do under it: if one holds it, it loses it at once. */
  fence(): Promise<void> {
    return queued(this.lockFile, () => Promise.resolve(), { ...this.options, patienceMs: 0 });
  }
}

async function queued<T>(
  lockFile: string,
  action: (lock: HeldLock) => Promise<T>,
  options: LockOptions,
): Promise<T> {
  const before = queues.get(lockFile) ?? Promise.resolve();
  let leave: () => void = () => undefined;
  const turn = new Promise<void>((resolve) => {
    leave = resolve;
  });
  const after = before.then(() => turn);
  queues.set(lockFile, after);
  await before;
  try {
    return await withKernelLock(lockFile, action, options);
  } finally {
    leave();
    if (queues.get(lockFile) === after) queues.delete(lockFile);
  }
}

async function withKernelLock<T>(
  lockFile: string,
  action: (lock: HeldLock) => Promise<T>,
  { takeOver, owner = NO_LOCK, patienceMs = PATIENCE_MS }: LockOptions,
): Promise<T> {
  const known = generations.get(lockFile) ?? 0;
  for (let generation = known; ; generation += 1) {
    const lock = heldLock(lockFile, generation, owner);
    const fd = openLockFile(fileOf(lockFile, generation));
    try {
      const limitMs = takeOver === undefined ? Number.POSITIVE_INFINITY : patienceMs;
      if (!(await isLocked(fd, { lockFile, generation, owner, limitMs }))) continue;
      if (generation > known) {
        const done = `${fileOf(lockFile, generation)}.done`;
        if (takeOver !== undefined && !standsThere(done)) {
          await takeOver(lock);
          lock.assertHeld();
          closeSync(openLockFile(done));
          channel(LOCK_TAKEN_OVER).publish({ lockFile });
        }
        generations.set(lockFile, generation);
      }
      return await action(lock);
    } finally {
      closeSync(fd); // closing lets go of the lock
    }
  }
}

interface Waiting {
  readonly lockFile: string;
  readonly generation: number;
  readonly owner: HeldLock;
  readonly limitMs: number;
}

/**
 * Waits for the lock. False when this generation has a successor, which a waiter without patience gives it. Throws when
 * the owner is lost: then nobody's lock is taken over.
 */
async function isLocked(fd: number, { lockFile, generation, owner, limitMs }: Waiting): Promise<boolean> {
  const path = fileOf(lockFile, generation);
  let waitedMs = 0;
  for (
    let pauseMs = FIRST_PAUSE_MS;
    !tryKernelLock(fd, path);
    pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)
  ) {
    owner.assertHeld();
    if (hasSuccessor(lockFile, generation)) return false;
    if (waitedMs >= limitMs) {
      closeSync(openLockFile(fileOf(lockFile, generation + 1)));
      return false;
    }
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
    if (waitedMs < LONG_WAIT_MS && waitedMs + pauseMs >= LONG_WAIT_MS) {
      const waited: WaitedFor = { lockFile, isEndless: limitMs === Number.POSITIVE_INFINITY };
      channel(LOCK_WAITED_FOR).publish(waited);
    }
    waitedMs += pauseMs;
  }
  owner.assertHeld();
  return !hasSuccessor(lockFile, generation);
}

function heldLock(lockFile: string, generation: number, owner: HeldLock): HeldLock {
  return {
    isHeld: () => owner.isHeld() && !hasSuccessor(lockFile, generation),
    assertHeld() {
      owner.assertHeld();
      if (hasSuccessor(lockFile, generation)) throw new LockLost();
    },
  };
}

function hasSuccessor(lockFile: string, generation: number): boolean {
  return standsThere(fileOf(lockFile, generation + 1));
}

function fileOf(lockFile: string, generation: number): string {
  return generation === 0 ? lockFile : `${lockFile}.${generation}`;
}

/** Synchronous: it takes microseconds, and a way through the thread pool would take longer. */
function openLockFile(path: string): number {
  try {
    return openOwnFile(path, "append");
  } catch (error) {
    if (systemCode(error) !== "ENOENT") throw error;
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    return openOwnFile(path, "append");
  }
}
