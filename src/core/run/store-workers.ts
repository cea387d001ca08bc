/** A worker that nobody has heard of for that long is left out. It says every five minutes that it is there. */
const FORGOTTEN_MS = 16 * 60_000;

interface SeenWorker {
  readonly instance: string;
  readonly seenAt: string;
}

/** The workers of a store, newest word first, after one of them was heard of. Bounded. */
export function workersAfter<W extends SeenWorker>(
  known: readonly W[],
  heard: W,
  { left, max }: { readonly left: boolean; readonly max: number },
): W[] {
  const oldest = new Date(Date.parse(heard.seenAt) - FORGOTTEN_MS).toISOString();
  const others = known.filter(({ instance, seenAt }) => instance !== heard.instance && seenAt >= oldest);
  // The last one that leaves stays: it says when the store was worked on last.
  if (left && others.length > 0) return others;
  return [heard, ...others].slice(0, max);
}
