import { lstatSync } from "node:fs";
import { join } from "node:path";
import { type Store, readStoreIdentity } from "./store.js";

type Opened = Pick<Store, "dir" | "storeId">;

/** What `store.json` was when it was last seen to be that of the store, by the store's id and directory. */
const seen = new Map<string, string>();

/**
 * Why nothing may be concluded from what a store that was opened does not hold: it was moved, its volume is not mounted now, or another
 * one lies in its place. Undefined while it stands: that takes one look at `store.json`. Throws what the system says, and where it is damaged.
 */
export async function whyLost({ dir, storeId }: Opened): Promise<string | undefined> {
  const entry = lstatSync(join(dir, "store.json"), { bigint: true, throwIfNoEntry: false });
  const stamp = entry && `${entry.dev} ${entry.ino} ${entry.ctimeNs}`;
  const key = `${storeId} ${dir}`;
  if (stamp !== undefined && seen.get(key) === stamp) return undefined;
  const found = await readStoreIdentity(dir);
  if (stamp !== undefined && found?.storeId === storeId) {
    seen.set(key, stamp);
    return undefined;
  }
  const what = found === undefined ? "is not there" : `is that of another store, ${found.storeId}`;
  return `The store ${storeId} was opened in ${dir}, and ${join(dir, "store.json")} ${what} now. Put it back, or end this worker and start one where the store is.`;
}
