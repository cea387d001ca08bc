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

/** The same, and it rejects with these words where it is late: a worker's connection to Temporal goes on asking past its deadline. */
export async function inTime<T>(milliseconds: number, promise: Promise<T>, late: string): Promise<T> {
  const found = await within(
    milliseconds,
    promise.then((value) => ({ value })),
  );
  if (found === undefined) throw new Error(late);
  return found.value;
}
