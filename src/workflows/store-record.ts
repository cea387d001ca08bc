import {
  ApplicationFailure,
  condition,
  continueAsNew,
  defineSignal,
  setHandler,
  upsertMemo,
  workflowInfo,
} from "@temporalio/workflow";
import {
  MAX_STORE_WORKERS,
  STORE_MEMO,
  STORE_SEEN_SIGNAL,
  STORE_WORKERS_MEMO,
  type StoreRecordInput,
  storeIdIn,
  storeRecordSchema,
  storeSeenSchema,
} from "../contract/store-record.js";
import { requireOpened } from "./payload-converter.js";
import { workersAfter } from "../core/run/store-workers.js";

/** Words of workers that one execution hears, at most: a store with one worker begins a new one every two days. */
const MAX_WORDS = 500;

const seen = defineSignal<[unknown]>(STORE_SEEN_SIGNAL);

const SEEN_DESCRIPTION =
  'A worker of the store says that it is there; workers send it by themselves. Argument: {"worker": {…}}, as the memo lists workers, and {"left": true} when it ends.';

/**
 * What a store says of itself, in its memo, where it can be read when nobody works on the store. Anybody may start it and tell it
 * things: what does not fit is not listened to, and nothing rests on what it says but finding a store by its name.
 */
export async function storeRecord(...args: readonly unknown[]): Promise<void> {
  requireOpened(args[0]);
  const parsed = storeRecordSchema.safeParse(args[0]);
  if (!parsed.success || storeIdIn(workflowInfo().workflowId) === undefined) {
    throw ApplicationFailure.nonRetryable("This is no record of a store.", "E_SCHEMA_VALIDATION");
  }
  let record: StoreRecordInput = parsed.data;
  let words = 0;
  upsertMemo({ [STORE_MEMO]: record.note, [STORE_WORKERS_MEMO]: record.workers });
  const hear = (word: unknown): void => {
    words += 1;
    const heard = storeSeenSchema.safeParse(word);
    if (!heard.success) return;
    const { worker, note, left = false } = heard.data;
    const latest = { ...worker, seenAt: new Date().toISOString() };
    const workers = workersAfter(record.workers, latest, { left, max: MAX_STORE_WORKERS });
    record = { note: note ?? record.note, workers };
    upsertMemo({ [STORE_WORKERS_MEMO]: workers, ...(note === undefined ? {} : { [STORE_MEMO]: note }) });
  };
  setHandler(seen, hear, { description: SEEN_DESCRIPTION });
  await condition(() => words >= MAX_WORDS || workflowInfo().continueAsNewSuggested);
  await continueAsNew<typeof storeRecord>(record);
}
