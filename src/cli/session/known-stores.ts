import type { InterlockClient, KnownStore, Polling } from "../../client/client.js";
import { excerpt } from "../../core/text.js";
import { type Store, readStoreName } from "../../store/store.js";
import { mayLive } from "../../worker/worker-identity.js";
import { UsageError } from "../terminal/output.js";
import { someAtOnce } from "../../core/some-at-once.js";

/** A store, and whether anybody polls its queue. */
export interface StoreStanding extends KnownStore {
  readonly hosts: readonly string[];
  readonly versions: readonly string[];
  readonly polled: boolean;
  /** Since when nobody polls, as far as is known; ISO. */
  readonly notPolledSince?: string;
}

/** The stores that Temporal knows, and the store at hand, which needs nobody to make it known. */
export async function knownStores(client: InterlockClient, own?: Store): Promise<readonly KnownStore[]> {
  const listed = await client.stores();
  if (own === undefined) return listed;
  const { storeId, taskQueue, dir } = own;
  const said = listed.find((store) => store.storeId === storeId);
  const name = await readStoreName(dir);
  // Of the store at hand nobody else is believed: neither its queue nor its name.
  const mine = { workers: [], projects: [], ...said, storeId, taskQueue, name };
  return [mine, ...listed.filter((store) => store.storeId !== storeId)];
}

const AT_A_TIME = 16;

/** How each queue is polled. */
export async function pollings(
  client: InterlockClient,
  taskQueues: Iterable<string>,
): Promise<ReadonlyMap<string, Polling>> {
  const ask = async (queue: string) => [queue, await client.polling(queue, mayLive)] as const;
  return new Map(await someAtOnce(new Set(taskQueues), AT_A_TIME, ask));
}

/** A store with what its workers and Temporal say of who works on it. */
export function standingOf(store: KnownStore, polling: Polling | undefined): StoreStanding {
  const since = notPolledSince(store, polling);
  return {
    ...store,
    hosts: distinct(store.workers.map(({ host }) => host)),
    versions: distinct(store.workers.map(({ version }) => version)),
    polled: polling?.polled === true,
    ...(polling?.polled === true || since === undefined ? {} : { notPolledSince: since }),
  };
}

/** The last that Temporal or a worker knows of somebody who polled. */
export function notPolledSince(store: KnownStore | undefined, polling: Polling | undefined) {
  const times = [polling?.lastPolledAt, ...(store?.workers ?? []).map(({ seenAt }) => seenAt)];
  return times.reduce((a, b) => (b !== undefined && (a === undefined || b > a) ? b : a), undefined);
}

const SHORTEST_ID = 4;

/** The store of that name, id, or beginning of an id. Throws `UsageError` for none and for several, with those there are. */
export function chooseStore<S extends KnownStore>(stores: readonly S[], wanted: string): S {
  const byId = stores.filter(({ storeId }) => storeId === wanted);
  const byName = stores.filter(({ name }) => name === wanted);
  const byStart =
    wanted.length < SHORTEST_ID ? [] : stores.filter(({ storeId }) => storeId.startsWith(wanted));
  const found = [byId, byName, byStart].find((some) => some.length > 0) ?? [];
  const [only] = found;
  if (only !== undefined && found.length === 1) return only;
  if (found.length > 1) {
    throw new UsageError(
      `Several stores are called "${excerpt(wanted)}":\n${namesOf(found)}\nSay which with its id.`,
    );
  }
  const there = stores.length === 0 ? "None is known." : `Known are:\n${namesOf(stores)}`;
  throw new UsageError(`No store is called "${excerpt(wanted)}". ${there}`);
}

/** Stores as an error lists them. */
export function namesOf(stores: readonly KnownStore[]): string {
  return stores
    .slice(0, 20)
    .map(({ name, storeId }) => `${excerpt(name)}  ${storeId}`)
    .join("\n");
}

function distinct(texts: readonly string[]): readonly string[] {
  return [...new Set(texts)].sort();
}

/** A time as a sentence says it: UTC, to the minute. */
export function sentenceTime(iso: string | undefined): string {
  return iso === undefined ? "" : ` since ${iso.slice(0, 16).replace("T", " ")} UTC`;
}
