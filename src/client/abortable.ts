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
  const abort = (): void => own.abort(signal.reason);
  signal.addEventListener("abort", abort, { once: true });
  try {
    return await temporal.withAbortSignal(own.signal, ask);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}
