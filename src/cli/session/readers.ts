import { storeReader } from "../../client/stores/store-reader.js";
import type { Config } from "../../config.js";
import type { StoreReader } from "../../contract/reads.js";
import { StoreAnswers } from "../../reads/store-answers.js";
import type { Store } from "../../store/store.js";

/** Reads a store on this machine. */
export function localReader(store: Store, { settings }: Pick<Config, "settings">): StoreReader {
  const { protectedPaths } = settings;
  const answers = new StoreAnswers({ store, ...(protectedPaths === undefined ? {} : { protectedPaths }) });
  return storeReader((name, asked) => answers.page(name, asked), { isAtHand: true });
}
