import type { Config } from "../../config.js";
import { hasServed, isServed, servedUi } from "../../embedded/server.js";
import type { Store } from "../../store/store.js";
import { EMBEDDED_WEB_UI } from "./web-link.js";

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

/** How the embedded server's Web UI is come to, for a run that Temporal is not asked for. */
export async function embeddedWebUi(store: Store | undefined): Promise<string> {
  const url = store && (await servedUi(store.dir));
  return url === undefined ? EMBEDDED_WEB_UI : `all runs: ${url}`;
}
