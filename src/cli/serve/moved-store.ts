import { whyLost } from "../../store/lost-store.js";
import type { Store } from "../../store/store.js";

/** Looks whether a store lies where it was opened, and says once that it does not, and once that it does again. */
export function movedStore(
  store: Pick<Store, "dir" | "storeId">,
  say: (line: string) => void,
): () => Promise<void> {
  let wasLost = false;
  return async () => {
    const lost = await whyLost(store);
    const isLost = lost !== undefined;
    if (isLost === wasLost) return;
    wasLost = isLost;
    say(lost ?? `The store is in ${store.dir} again.`);
  };
}
