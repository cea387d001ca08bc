import type { Config } from "../../config.js";
import type { Sign } from "../../contract/signed.js";
import { hasStartSecret, signsStarts, startSigner } from "../../store/start-signatures.js";
import type { Store } from "../../store/store.js";
import { CommandError } from "../terminal/output.js";
import { wordsOf } from "../../core/system-code.js";

/**
 * What signs a command's starts and updates: where signatures are asked for, and wherever the store has, or has had, a secret, since its
 * workers may be set otherwise than this command.
 */
export async function signerFor(config: Config, store: Store | undefined): Promise<Sign | undefined> {
  if (store === undefined) return undefined; // the secret is where the store is
  if (config.starts !== "signed" && !signsStarts(store)) return undefined;
  const opened = (): Promise<Sign> =>
    startSigner(store).catch((error: unknown) => {
      throw new CommandError(wordsOf(error), { cause: error });
    });
  if (hasStartSecret(store)) return opened(); // what is wrong with it is said at once
  return async (statement, nonce) => (await opened())(statement, nonce); // who only looks makes none
}
