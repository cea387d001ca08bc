import { setMaxListeners } from "node:events";
import type { Client } from "@temporalio/client";

/**
 * What is asked of Temporal until the signal ends it. The client listens to a signal for each request and never stops, which would hold
 * all requests as long as the signal lives: each call has a signal of its own.
 */
export async function abortable<T>(temporal: Client, signal: AbortSignal, ask: () => Promise<T>): Promise<T> {
  signal.throwIfAborted();
  const own = new AbortController();
  setMaxListeners(0, own.signal); // waiting for a result is many requests
  let abort = (): void => undefined;
  const aborted = new Promise<never>((_, reject) => {
    abort = () => {
      own.abort(signal.reason);
      // A request that was tried again after an outage is not cancelled with the first try: nobody waits for it.
      reject(signal.reason);
    };
  });
  signal.addEventListener("abort", abort, { once: true });
  try {
    return await Promise.race([temporal.withAbortSignal(own.signal, ask), aborted]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}
