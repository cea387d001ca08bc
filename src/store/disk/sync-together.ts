import { AsyncLocalStorage } from "node:async_hooks";

/**
 * What several small writes of one step have in common: they are made durable together.
 *
 * S1. Within a step a log leaves what is written to it to the step (`syncLater`). Nothing of it is reported before the step has ended,
 *     and it ends when all of it is durable.
 * S2. Before a file takes another's place, the lines that were written before are durable: what was planned is known after a power
 *     failure that the change has survived (`syncWritten`).
 * S3. A log that tells of others (`tellsOfOthers`) is made durable after them: it never says what they do not know.
 * S4. What goes on after its step has ended is made durable at once, as outside of any.
 */

export interface SyncedLater {
  /** Makes durable what this process knows to be in the file. */
  sync(): Promise<void>;
  readonly tellsOfOthers: boolean;
}

interface Step {
  readonly unsynced: Set<SyncedLater>;
  isOver: boolean;
}

const steps = new AsyncLocalStorage<Step>();

/** Does the work as one step. Rejects as the work does, or where what it wrote cannot be made durable. */
export async function syncedTogether<T>(work: () => Promise<T>): Promise<T> {
  const step: Step = { unsynced: new Set(), isOver: false };
  const result = await steps.run(step, work).finally(() => {
    step.isOver = true;
  });
  await syncAll(step, false);
  await syncAll(step, true);
  return result;
}

/** Leaves a file to the step that is under way; false where there is none. */
export function syncLater(file: SyncedLater): boolean {
  const step = steps.getStore();
  if (step === undefined || step.isOver) return false;
  step.unsynced.add(file);
  return true;
}

/** Makes durable what was left to the step that is under way, but for what tells of it. */
export async function syncWritten(): Promise<void> {
  const step = steps.getStore();
  if (step !== undefined) await syncAll(step, false);
}

/** A file that cannot be synced is left to the step: it is not forgotten. */
async function syncAll({ unsynced }: Step, tellsOfOthers: boolean): Promise<void> {
  const files = [...unsynced].filter((file) => file.tellsOfOthers === tellsOfOthers);
  await Promise.all(
    files.map(async (file) => {
      await file.sync();
      unsynced.delete(file);
    }),
  );
}
