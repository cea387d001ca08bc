/**
 * What comes of each, in their order, while so many are under way at once. What one of them throws is thrown when none is under way any
 * more, and none is begun after it.
 */
export async function someAtOnce<T, R>(
  items: Iterable<T>,
  most: number,
  action: (item: T) => Promise<R>,
): Promise<R[]> {
  const results: R[] = [];
  const waiting = numbered(items);
  const work = async (): Promise<void> => {
    for (const [index, item] of waiting) results[index] = await action(item);
  };
  const ends = await Promise.allSettled(Array.from({ length: most }, work));
  for (const end of ends) if (end.status === "rejected") throw end.reason;
  return results;
}

/** A generator: who leaves a loop over it because of an error ends it for all. */
function* numbered<T>(items: Iterable<T>): Generator<readonly [number, T]> {
  let index = 0;
  for (const item of items) {
    yield [index, item];
    index += 1;
  }
}
