import {
  STORE_MEMO,
  STORE_WORKERS_MEMO,
  STORE_WORKFLOW,
  type StoreProject,
  type StoreWorkers,
  storeIdIn,
  storeNoteSchema,
  storeWorkersSchema,
} from "../../contract/store-record.js";
import { excerpt } from "../../core/text.js";
import { PERMISSION_DENIED, UNIMPLEMENTED, statusIn } from "../temporal/grpc-status.js";
import { type Lister, listExecutions } from "../temporal/list-executions.js";
import { readableValue } from "../temporal/payloads.js";
import { quoted } from "../temporal/quoted.js";
import { isoOf } from "../temporal/raw-values.js";

/** A store as its workers have made it known. Names, hosts and projects are text from outside. */
export interface KnownStore {
  readonly storeId: string;
  readonly name: string;
  /** Where its runs are started. Said by Temporal. */
  readonly taskQueue: string;
  readonly workers: StoreWorkers;
  readonly projects: readonly StoreProject[];
}

/** Whether a queue is polled. */
export interface Polling {
  readonly polled: boolean;
  /** When it was polled last, ISO; absent where Temporal knows no more: it forgets after five minutes. */
  readonly lastPolledAt?: string;
}

const MAX_STORES = 500;
const PAGE = 100;
/** A poll takes a minute, then the next one begins. */
const FRESH_MS = 75_000;
/** Temporal forgets who has not polled for five minutes: where all seem to be gone for longer, this machine's clock is ahead of its own. */
const FORGOTTEN_MS = 6 * 60_000;
/** A worker says every five minutes that it is there. */
const HEARD_MS = 10 * 60_000;
const MAX_NAME_CHARS = 80;
/** It does not know the call, or lets whoever asks start runs and no more. */
const TELLS_NOT: readonly (number | undefined)[] = [PERMISSION_DENIED, UNIMPLEMENTED];

/**
 * The stores that workers have made known and that somebody has worked on within thirty days, the newest record first; with `at`, those
 * at that queue. Whoever reaches Temporal may make one known that is none.
 */
export async function listStores(temporal: Lister, at?: string): Promise<readonly KnownStore[]> {
  const atQueue = at === undefined ? "" : ` AND TaskQueue = ${quoted(at)}`;
  const query = `WorkflowType = ${quoted(STORE_WORKFLOW)} AND ExecutionStatus = "Running"${atQueue}`;
  const stores: KnownStore[] = [];
  for await (const { execution, memo, taskQueue } of listExecutions(temporal, query, PAGE)) {
    const storeId = storeIdIn(execution?.workflowId ?? "");
    const said = (name: string) => readableValue(temporal, memo?.fields?.[name], execution?.workflowId ?? "");
    const note = storeNoteSchema.safeParse(await said(STORE_MEMO));
    const workers = storeWorkersSchema.safeParse(await said(STORE_WORKERS_MEMO));
    if (storeId === undefined || !note.success) continue;
    stores.push({
      storeId,
      ...note.data,
      taskQueue: taskQueue ?? "",
      workers: workers.success ? workers.data : [],
    });
    if (stores.length >= MAX_STORES) break;
  }
  return stores;
}

/**
 * What is wrong where workers of other stores are at a store's queue, or were within minutes: Temporal hands each of them tasks of the
 * other's runs. Undefined where none are.
 */
export async function queueTrouble(
  temporal: Lister,
  { storeId: own, taskQueue }: Pick<KnownStore, "storeId" | "taskQueue">,
): Promise<string | undefined> {
  const lately = new Date(Date.now() - HEARD_MS).toISOString();
  const others = (await listStores(temporal, taskQueue)).filter(
    ({ storeId, workers }) => storeId !== own && workers.some(({ seenAt }) => seenAt >= lately),
  );
  if (others.length === 0) return undefined;
  const names = others.map(({ name, storeId }) => `${excerpt(name, MAX_NAME_CHARS)} (${storeId})`);
  return `The task queue "${taskQueue}" has workers of another store as well, ${names.join(", ")}: each takes steps of the other's runs, which wait or fail by it`;
}

/** What helps then. */
export const QUEUE_REMEDY =
  'Give each store a queue of its own: docs/operating.md, "A queue for each store", says how.';

/**
 * Whether workers poll a queue. `mayLive` says of a worker's identity whether it may be there still. Where Temporal does not tell whoever
 * asks, nobody is said to be missing.
 */
export async function pollingOf(
  temporal: Lister,
  taskQueue: string,
  mayLive: (identity: string) => boolean = () => true,
): Promise<Polling> {
  const { namespace } = temporal.options;
  const described = await temporal.workflowService
    .describeTaskQueue({ namespace, taskQueue: { name: taskQueue } })
    .catch((error: unknown) => {
      if (TELLS_NOT.includes(statusIn(error)?.code)) return undefined;
      throw error;
    });
  if (described === undefined) return { polled: true };
  const times = (described.pollers ?? []).map((poller) => ({
    at: isoOf(poller.lastAccessTime) ?? "",
    lives: mayLive(poller.identity ?? ""),
  }));
  const last = times.map(({ at }) => at).reduce((a, b) => (a > b ? a : b), "");
  const isAhead = Date.now() - Date.parse(last) > FORGOTTEN_MS;
  const fresh = isAhead ? "" : new Date(Date.now() - FRESH_MS).toISOString();
  return {
    polled: times.some(({ at, lives }) => lives && at >= fresh),
    ...(last === "" ? {} : { lastPolledAt: last }),
  };
}
