import { setMaxListeners } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import type { Client } from "@temporalio/client";
import { knownFieldsIn } from "./interlock-error.js";

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

/** How long something is waited for. */
export interface Waiting {
  readonly signal?: AbortSignal;
}

const WAITING: Readonly<Record<keyof Waiting, true>> = { signal: true };

/** As `abortable`, where there may be no signal. Throws `E_SCHEMA_VALIDATION` for another field. */
export async function untilSignal<T>(
  temporal: Client,
  waiting: Waiting,
  ask: (signal?: AbortSignal) => Promise<T>,
): Promise<T> {
  const { signal } = knownFieldsIn("how long it is waited", waiting, WAITING);
  return signal === undefined ? ask() : abortable(temporal, signal, () => ask(signal));
}

/**
 * What a promise gives, unless the signal comes first: then it rejects with the reason at once, and what the promise still
 * gives is handed to `drop`.
 */
export async function unlessAborted<T>(
  signal: AbortSignal,
  promise: Promise<T>,
  drop: (late: T) => Promise<unknown> = () => Promise.resolve(),
): Promise<T> {
  let stop = (): void => undefined;
  const aborted = new Promise<never>((_, reject) => {
    stop = () => reject(signal.reason);
    if (signal.aborted) stop();
    else signal.addEventListener("abort", stop, { once: true });
  });
  try {
    return await Promise.race([promise, aborted]);
  } catch (error) {
    if (signal.aborted) promise.then(drop).catch(() => undefined);
    throw error;
  } finally {
    signal.removeEventListener("abort", stop);
  }
}

/** Waits a moment. Rejects with the signal's reason: by itself a timer says only that it was stopped. */
export async function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  await sleep(ms, undefined, signal === undefined ? {} : { signal }).catch((error: unknown) => {
    signal?.throwIfAborted();
    throw error;
  });
}
