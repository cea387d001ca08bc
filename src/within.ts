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
