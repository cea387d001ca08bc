import type { StoreReader } from "../../contract/reads.js";
import { pause, unlessAborted } from "./abortable.js";
import { isAway } from "./grpc-status.js";

const PAUSE_MS = 2_000;

/** What Temporal answers, however long it is away: it is asked again until it does. Rejects with the signal's reason. */
export async function onceBack<T>(
  signal: AbortSignal | undefined,
  ask: () => Promise<T>,
  mayComeBack = isAway,
): Promise<T> {
  for (;;) {
    signal?.throwIfAborted();
    try {
      return await ask();
    } catch (error) {
      signal?.throwIfAborted();
      if (!mayComeBack(error)) throw error;
    }
    await pause(PAUSE_MS, signal);
  }
}

/** What Temporal answers, though it be away meanwhile. */
export type Once = <T>(ask: () => Promise<T>) => Promise<T>;

/** As `onceBack`, unless Temporal is the embedded server: nobody brings that back while a command waits. */
export function onceFor({ embedded }: { readonly embedded: boolean }, signal: AbortSignal): Once {
  return (ask) => (embedded ? ask() : onceBack(signal, ask));
}

/**
 * A store elsewhere that is read through Temporal, however long that is away. The signal ends it at once: a store that does not answer is
 * waited for for seconds.
 */
export function patientReader(reader: StoreReader, signal: AbortSignal): StoreReader {
  if (reader.isAtHand) return reader;
  return {
    ...reader,
    ask: (name, question) =>
      unlessAborted(
        signal,
        onceBack(signal, () => reader.ask(name, question)),
      ),
  };
}
