import type * as fc from "fast-check";

/** Something that holds for every case; a case is plain JSON, so that one that failed can be kept and replayed. */
export interface Property<T = unknown> {
  readonly name: string;
  readonly cases: fc.Arbitrary<T>;
  /** Throws when it does not hold. */
  readonly check: (one: T) => Promise<void>;
  /** Lets go of what the checks have made. */
  readonly close: () => Promise<void>;
}
