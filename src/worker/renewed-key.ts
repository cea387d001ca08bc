import type { NativeConnection } from "@temporalio/worker";

const LOOK_MS = 10_000;

/** The configured key, as it was read at first and as its file has it now. */
interface ConfiguredKey {
  readonly temporal: { readonly connectionOptions: { readonly apiKey?: string | undefined } } | undefined;
  readonly temporalKey: (() => string) | undefined;
}

/**
 * Has a worker's connection show the key that its file has now: the one that it has shown so far may count for an hour only. Another key than the
 * configured one, `shown` by a program of its own, is left to that. Returns what ends it.
 */
export function renewKey(
  connection: Pick<NativeConnection, "setApiKey">,
  shown: string | undefined,
  { temporal, temporalKey }: ConfiguredKey,
): () => void {
  if (temporalKey === undefined || shown !== temporal?.connectionOptions.apiKey) return () => undefined;
  let last = shown;
  const looking = setInterval(() => {
    const key = temporalKey();
    if (key === last) return;
    last = key;
    void connection.setApiKey(key).catch(() => undefined); // a connection that is closed shows none
  }, LOOK_MS);
  looking.unref();
  return () => clearInterval(looking);
}
