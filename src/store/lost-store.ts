import { lstatSync } from "node:fs";
import { join } from "node:path";
import { type Store, readStoreIdentity } from "./store.js";
import { wordsOf } from "../core/system-code.js";

type Opened = Pick<Store, "dir" | "storeId">;

/** What `store.json` was when it was last seen to be that of the store, by the store's id and directory. */
const seen = new Map<string, string>();

/**
 * Why nothing may be concluded from what a store that was opened does not hold: it was moved, its volume is not mounted or cannot be read
 * now, or another one lies in its place. Undefined while it stands: that takes one look at `store.json`. Never rejects.
 */
export async function whyLost(store: Opened): Promise<string | undefined> {
  const { dir, storeId } = store;
  const what = await whatIsWrong(store).catch((error: unknown) => `cannot be read (${wordsOf(error)})`);
  return what === undefined
    ? undefined
    : `The store ${storeId} was opened in ${dir}, and ${join(dir, "store.json")} ${what} now. Put it back, or end this worker and start one where the store is.`;
}

async function whatIsWrong({ dir, storeId }: Opened): Promise<string | undefined> {
  const entry = lstatSync(join(dir, "store.json"), { bigint: true, throwIfNoEntry: false });
  const stamp = entry && `${entry.dev} ${entry.ino} ${entry.ctimeNs}`;
  const key = `${storeId} ${dir}`;
  if (stamp !== undefined && seen.get(key) === stamp) return undefined;
  const found = await readStoreIdentity(dir);
  if (stamp !== undefined && found?.storeId === storeId) {
    seen.set(key, stamp);
    return undefined;
  }
  return found === undefined ? "is not there" : `is that of another store, ${found.storeId}`;
}
