import type { Config } from "../config.js";
import { hasServed, isServed } from "../embedded/server.js";
import type { Store } from "../store/store.js";

/** Whether there is a Temporal to ask without one being started: one is configured, or the store's own runs. */
export async function isTemporalThere(
  config: Pick<Config, "temporal">,
  store: Store | undefined,
): Promise<boolean> {
  return config.temporal !== undefined || (store !== undefined && (await isServed(store.dir)));
}

/** Whether the store's own Temporal may know runs that the store does not, where it does not run. */
export function isTemporalSilent(store: Store | undefined): boolean {
  return store !== undefined && hasServed(store.dir);
}
