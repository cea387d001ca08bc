/** The last of some entries: so many at most, and no more than have a size together. */
export function newest<T>(
  entries: readonly T[],
  most: { readonly count: number; readonly size: number },
  sizeOf: (entry: T) => number,
): T[] {
  let size = 0;
  const beyond = entries.findLastIndex((entry, index) => {
    if (index < entries.length - most.count) return true;
    size += sizeOf(entry);
    return size > most.size;
  });
  return entries.slice(beyond + 1);
}
