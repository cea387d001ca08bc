import { noTemporal } from "./faults.js";

/** What needs no Temporal is answered sooner. */
const LAST_CHANCE_MS = 1_000;

/**
 * What is asked, unless Temporal is known not to answer. It is asked on; but a browser has six connections for all its tabs, and what
 * waits on each of them keeps it from asking anything else.
 */
export async function unlessAway<T>(away: AbortSignal | undefined, answer: Promise<T>): Promise<T> {
  if (away === undefined) return answer;
  let timer: NodeJS.Timeout | undefined;
  let leave = (): void => undefined;
  const refused = new Promise<never>((_, reject) => {
    leave = () => reject(noTemporal(undefined));
    if (away.aborted) timer = setTimeout(leave, LAST_CHANCE_MS);
    else away.addEventListener("abort", leave, { once: true });
  });
  try {
    return await Promise.race([answer, refused]);
  } finally {
    clearTimeout(timer);
    away.removeEventListener("abort", leave);
  }
}
