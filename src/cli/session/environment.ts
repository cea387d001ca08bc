import { systemWords } from "../../core/system-code.js";
import { type Config, loadConfig } from "../../config.js";
import { printable } from "../../core/printable.js";
import { DamagedRoots } from "../../store/roots/roots.js";
import { type OpenOptions, type Store, isStore, openStore, readStoreIdentity } from "../../store/store.js";
import { tellOfWaits } from "./lock-waits.js";
import { UsageError, printNote } from "../terminal/output.js";

interface Opening {
  /** Finds what is mistyped, before a store is made. */
  readonly check?: () => Promise<unknown>;
  /** The command says by itself which store it has. */
  readonly namesStore?: true;
}

/**
 * Configuration and store of a command. Where no store stands one is made; it is said where there is a Temporal, since the store that is meant
 * may be elsewhere.
 */
export async function openEnvironment({ check, namesStore }: Opening = {}): Promise<{
  config: Config;
  store: Store;
}> {
  const config = loadConfig();
  const isNew = (await readStoreIdentity(config.storeDir)) === undefined;
  if (isNew) await check?.();
  const store = await storeOf(config);
  if (isNew && config.temporal !== undefined && namesStore !== true) printNote(newStoreWords(store));
  return { config, store };
}

/** Configuration and, where one stands here, store of a command that only looks, or works elsewhere: nothing is made where there is none. */
export async function lookAround(): Promise<{ config: Config; store: Store | undefined }> {
  const config = loadConfig();
  return {
    config,
    store: (await isStore(config.storeDir)) ? await storeOf(config, { isLook: true }) : undefined,
  };
}

/** What is said where a command looks for a store, and none stands: its path may be mistyped. */
export function noStoreWords({ storeDir }: Pick<Config, "storeDir">): string {
  return `There is no store in ${storeDir}. INTERLOCK_STORE says where it is; the first run makes one.`;
}

function newStoreWords({ dir, taskQueue }: Store): string {
  return `A store was made in ${dir}, with the queue "${taskQueue}": none stood there. INTERLOCK_STORE says where it is.`;
}

/** Of a command that only looks: nobody is there to be asked, neither a store nor a Temporal. */
export function isNobodyThere(config: Config, store: Store | undefined): boolean {
  return store === undefined && config.temporal === undefined;
}

/** Where a run was looked for that nobody knows: without a store at hand only Temporal was asked, perhaps another one than was meant. */
export function whereAsked({ temporal }: Config, store: Store | undefined): string | undefined {
  if (store !== undefined || temporal === undefined) return undefined;
  const { connectionOptions, namespace = "default" } = temporal;
  return printable(
    `the namespace "${namespace}" of the Temporal at ${connectionOptions.address ?? "127.0.0.1:7233"}`,
  );
}

/** Configuration and store of a command that makes none. Throws `UsageError` where none stands. */
export async function storeAtHand(options?: OpenOptions): Promise<{ config: Config; store: Store }> {
  const config = loadConfig();
  if ((await readStoreIdentity(config.storeDir)) === undefined) {
    throw new UsageError(noStoreWords(config));
  }
  return { config, store: await storeOf(config, options) };
}

async function storeOf({ storeDir, taskQueue, roots }: Config, options?: OpenOptions): Promise<Store> {
  tellOfWaits();
  try {
    return await openStore(storeDir, taskQueue, roots, options);
  } catch (error) {
    if (error instanceof DamagedRoots) throw new UsageError(error.message, { cause: error });
    if (!(error instanceof Error && "syscall" in error)) throw error;
    const sentence = `The store ${storeDir} cannot be opened: ${systemWords(error)}. INTERLOCK_STORE says where it is.`;
    throw new UsageError(sentence, { cause: error });
  }
}
