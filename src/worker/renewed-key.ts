import type { NativeConnection } from "@temporalio/worker";
import type { Config } from "../config.js";

const LOOK_MS = 10_000;

/**
 * Has a worker's connection show the key that its file has now: the one that it has shown so far may count for an hour only. Another key than the
 * configured one, `shown` by a program of its own, is left to that. Returns what ends it.
 */
export function renewKey(
  connection: Pick<NativeConnection, "setApiKey">,
  shown: string | undefined,
  { temporal, temporalKey }: Pick<Config, "temporal" | "temporalKey">,
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
