/** Something sealed that is not opened: the message says why, and what to do. */
export class SealError extends Error {
  readonly reason: SealProblem;

  constructor(reason: SealProblem, message: string) {
    super(message);
    this.name = "SealError";
    this.reason = reason;
  }
}

export type SealProblem = "no key" | "unknown key" | "wrong key" | "altered" | "moved";

/** What lies behind an error, where that is something sealed. */
export function sealErrorIn(error: unknown): SealError | undefined {
  let each = error;
  for (let depth = 0; each instanceof Error && depth < MAX_CAUSES; depth += 1) {
    if (each instanceof SealError) return each;
    each = each.cause;
  }
  return undefined;
}

const MAX_CAUSES = 10;
