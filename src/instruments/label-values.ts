/** What stands for all values beyond the bound, and for those that are no names. */
export const OTHER = "other";

/** Values that nobody configured, which get a series of their own. */
const NEWCOMERS = 20;
const NAME = /^[\w.:/@+-]{1,80}$/;

/**
 * The values that a label may have, so that nobody who chooses names of models or tools chooses how many series there are: those
 * that are known, the first few others, and `other`.
 */
export class LabelValues {
  private readonly known: Set<string>;
  private newcomers: number;

  constructor(known: Iterable<string>, newcomers: number = NEWCOMERS) {
    this.known = new Set(known);
    this.newcomers = newcomers;
  }

  of(value: string): string {
    if (this.known.has(value)) return value;
    if (this.newcomers === 0 || !NAME.test(value)) return OTHER;
    this.newcomers -= 1;
    this.known.add(value);
    return value;
  }
}
