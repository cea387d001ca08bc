/** An entry of a list that has the key of an earlier one. */
interface Repeat {
  readonly key: string;
  readonly index: number;
  /** Where the key stands for the first time. */
  readonly first: number;
}

/** The entries that repeat an earlier one. What has no key repeats nothing. */
export function repeatsIn(keys: readonly (string | undefined)[]): readonly Repeat[] {
  const seen = new Map<string, number>();
  const repeats: Repeat[] = [];
  for (const [index, key] of keys.entries()) {
    if (key === undefined) continue;
    const first = seen.get(key);
    if (first === undefined) seen.set(key, index);
    else repeats.push({ key, index, first });
  }
  return repeats;
}
