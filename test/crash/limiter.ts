/** Lets so many actions run at once; the others wait in order. */
export function limiter(atOnce: number): <T>(action: () => Promise<T>) => Promise<T> {
  let running = 0;
  const waiting: (() => void)[] = [];
  return async (action) => {
    if (running >= atOnce) await new Promise<void>((resolve) => waiting.push(resolve));
    running += 1;
    try {
      return await action();
    } finally {
      running -= 1;
      waiting.shift()?.();
    }
  };
}
