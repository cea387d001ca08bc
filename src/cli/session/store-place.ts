import type { Config } from "../../config.js";
import type { StoreReader } from "../../contract/reads.js";
import type { Store } from "../../store/store.js";
import { isNobodyThere, lookAround, noStoreWords, openEnvironment } from "./environment.js";
import { CommandError, NoTemporal, UsageError, printNote } from "../terminal/output.js";
import { localReader } from "./readers.js";
import type { TemporalSession } from "./temporal-session.js";

/** A store that a command works with: the one of this machine or, where none stands here, that of the configured queue. */
export interface StorePlace {
  readonly config: Config;
  readonly reader: StoreReader;
  /** Undefined for one elsewhere. */
  readonly store: Store | undefined;
  /** Where the store is elsewhere. */
  readonly session?: TemporalSession;
}

/**
 * Opens the store that a command without a run is about. Where none stands here, nobody elsewhere answers, and the command would
 * put something into one, it is made here: `makes`. Where neither a store stands nor a Temporal is configured, a list is `none`.
 */
export async function withStore<T>(
  { makes, none }: { readonly makes: boolean; readonly none?: (config: Config) => T },
  action: (place: StorePlace) => Promise<T>,
): Promise<T> {
  const { config, store } = await lookAround();
  if (store !== undefined) return action({ config, store, reader: localReader(store) });
  if (isNobodyThere(config, store)) {
    if (makes) return here(action);
    if (none === undefined) throw new UsageError(noStoreWords(config));
    printNote(noStoreWords(config));
    return none(config);
  }
  const { withTemporal } = await import("./temporal-session.js");
  const { remoteReader } = await import("./remote-reader.js");
  const done = await withTemporal({ config, store }, async ({ session }) => {
    const reader = remoteReader(session);
    const answer = await reader.ask("read.store", {});
    if (answer.ok) return { value: await action({ config, store, reader, session }) };
    if (makes) return undefined;
    throw new CommandError(`There is no store on this machine (${config.storeDir}). ${answer.error.message}`);
  }).catch((error: unknown) => {
    if (makes && error instanceof NoTemporal) return undefined;
    throw error;
  });
  return done === undefined ? here(action) : done.value;
}

async function here<T>(action: (place: StorePlace) => Promise<T>): Promise<T> {
  const { config, store } = await openEnvironment();
  return action({ config, store, reader: localReader(store) });
}
