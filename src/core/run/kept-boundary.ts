/** A node's boundary that is kept already: what there may be only one of for each visit. */
export interface KeptBoundary {
  /** Counts node visits from 1. */
  readonly visit: number;
  /** Where the run stands then. */
  readonly next: string;
  /** The version of the state document. */
  readonly documentSha256: string;
}

/** Whether a boundary is the one that was kept. */
export function isKept(kept: KeptBoundary | undefined, boundary: KeptBoundary): boolean {
  return (
    kept?.visit === boundary.visit &&
    kept.next === boundary.next &&
    kept.documentSha256 === boundary.documentSha256
  );
}
