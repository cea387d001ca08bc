/** What a timer can hold. */
export const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** What a promise comes to, if it does so in time. */
export async function within<T>(milliseconds: number, promise: Promise<T>): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), milliseconds);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** The same, and it rejects where that is late. */
export async function inTime<T>(milliseconds: number, promise: Promise<T>, late: () => Error): Promise<T> {
  const found = await within(
    milliseconds,
    promise.then((value) => ({ value })),
  );
  if (found === undefined) throw late();
  return found.value;
}

/**
 * Calls this once the process has waited so long with nothing of its own to do: what it is busy with, as long as a busy machine makes
 * that, is nobody's silence. Returns what calls it off.
 */
export function afterWaiting(milliseconds: number, call: () => void): () => void {
  const waited = () => performance.eventLoopUtilization().idle;
  const enough = waited() + milliseconds;
  const look = (): void => {
    const left = enough - waited();
    if (left <= 0) call();
    else timer = setTimeout(look, left);
  };
  let timer = setTimeout(look, milliseconds);
  return () => clearTimeout(timer);
}
