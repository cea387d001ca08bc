import { readStoreName, renameStore } from "../../store/store.js";
import { lookAround, noStoreWords, storeAtHand } from "../session/environment.js";
import { isTemporalThere } from "../session/temporal-there.js";
import {
  type StoreStanding,
  knownStores,
  pollings,
  sentenceTime,
  standingOf,
} from "../session/known-stores.js";
import {
  EXIT,
  type ExitCode,
  UsageError,
  outputWidth,
  print,
  printJson,
  printNote,
} from "../terminal/output.js";
import { type Column, tableLines } from "../terminal/table.js";
import type { JsonChoice } from "../options/common-options.js";

const COLUMNS: readonly Column[] = [
  { title: "NAME", max: 60, gives: true },
  { title: "ID", max: 36 },
  { title: "QUEUE", max: 60, gives: true },
  { title: "HOSTS", max: 80, gives: true },
  { title: "WORKERS", max: 7 },
  { title: "VERSIONS", max: 40, gives: true },
  { title: "PROJECTS", max: 120, gives: true },
  { title: "POLLED", max: 40 },
];

/** `interlock stores`: the stores that workers have made known to Temporal, and whether anybody works on them. */
export async function storesCommand(options: JsonChoice): Promise<ExitCode> {
  const { config, store } = await lookAround();
  if (!(await isTemporalThere(config, store))) {
    throw new UsageError("Stores are found through Temporal. Set TEMPORAL_ADDRESS, or start: interlock dev");
  }
  const { withTemporal } = await import("../session/temporal-session.js");
  const stores = await withTemporal({ config, store }, async ({ session: { client } }) => {
    const own = (await client.stores()).some(({ storeId }) => storeId === store?.storeId) ? store : undefined;
    const known = await knownStores(client, own);
    const polled = await pollings(
      client,
      known.map(({ taskQueue }) => taskQueue),
    );
    return known.map((each) => standingOf(each, polled.get(each.taskQueue)));
  });
  if (options.json === true) printJson(stores);
  else if (stores.length === 0) print("No store is known to this Temporal. A worker makes its store known.");
  else for (const line of tableLines(COLUMNS, stores.map(cellsOf), outputWidth())) print(line);
  return EXIT.done;
}

function cellsOf({ workers, projects, ...store }: StoreStanding): readonly string[] {
  return [
    store.name,
    store.storeId,
    store.taskQueue,
    store.hosts.join(", "),
    store.polled ? String(workers.length) : "0",
    store.versions.join(", "),
    projects.map(({ name }) => name).join(", "),
    store.polled ? "yes" : `not${sentenceTime(store.notPolledSince)}`,
  ];
}

/** `interlock store name`: what the store at hand is called. */
export async function storeNameCommand(name: string | undefined, options: JsonChoice): Promise<ExitCode> {
  const { config, store } = name === undefined ? await lookAround() : await storeAtHand();
  if (store === undefined) throw new UsageError(noStoreWords(config));
  if (name !== undefined) {
    const renamed = await renameStore(store.dir, name);
    if (!renamed.ok) throw new UsageError(renamed.error.message);
  }
  const told = await readStoreName(store.dir);
  if (options.json === true) printJson({ storeId: store.storeId, name: told });
  else print(told);
  if (name !== undefined) printNote("Its workers make the name known within seconds.");
  return EXIT.done;
}
