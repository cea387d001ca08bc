import { storeReader } from "../../client/stores/store-reader.js";
import type { StoreReader } from "../../contract/reads.js";
import { StoreAnswers } from "../../reads/store-answers.js";
import type { Store } from "../../store/store.js";

/** Reads a store on this machine. */
export function localReader(store: Store): StoreReader {
  const answers = new StoreAnswers({ store });
  return storeReader((name, asked) => answers.page(name, asked), { isAtHand: true });
}
