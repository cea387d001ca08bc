import { unlessAborted } from "../../client/temporal/abortable.js";
import { noTemporal } from "./faults.js";

/** What needs no Temporal is answered sooner. */
const LAST_CHANCE_MS = 1_000;

/**
 * What is asked, unless Temporal is known not to answer. It is asked on; but a browser has six connections for all its tabs, and what
 * waits on each of them keeps it from asking anything else.
 */
export async function unlessAway<T>(away: AbortSignal | undefined, answer: Promise<T>): Promise<T> {
  if (away === undefined) return answer;
  const soon = new AbortController();
  const timer = away.aborted ? setTimeout(() => soon.abort(), LAST_CHANCE_MS) : undefined;
  const leave = away.aborted ? soon.signal : away;
  try {
    return await unlessAborted(leave, answer);
  } catch (error) {
    throw leave.aborted && error === leave.reason ? noTemporal(undefined) : error;
  } finally {
    clearTimeout(timer);
  }
}
