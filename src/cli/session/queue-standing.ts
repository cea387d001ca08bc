import type { RunHandle } from "../../client/client.js";
import type { Store } from "../../store/store.js";
import { mayLive } from "../../worker/worker-identity.js";
import { notPolledSince, sentenceTime } from "./known-stores.js";
import type { TemporalSession } from "./temporal-session.js";
import { noWorkerHint } from "./standstill-words.js";

/** Whether somebody works on a run: on the queue that it is on, of whichever store. */
export interface QueueStanding {
  readonly polled: boolean;
  readonly taskQueue: string;
  /** Since when nobody polls, as far as is known; ISO. */
  readonly notPolledSince?: string;
  /** What to say where nobody polls. */
  readonly note: string;
}

/** Throws `E_RUN_NOT_FOUND`. */
export async function queueStandingOf(
  { client, embedded }: Pick<TemporalSession, "client" | "embedded">,
  run: RunHandle,
  store: Store | undefined,
): Promise<QueueStanding> {
  const taskQueue = await run.taskQueue();
  const polling = await client.polling(taskQueue, mayLive);
  if (polling.polled) return { polled: true, taskQueue, note: "" };
  const stores = await client.stores();
  const since = notPolledSince(
    stores.find((known) => known.taskQueue === taskQueue),
    polling,
  );
  return {
    polled: false,
    taskQueue,
    ...(since === undefined ? {} : { notPolledSince: since }),
    note: noWorkerHint({ embedded, isHere: taskQueue === store?.taskQueue }, taskQueue, sentenceTime(since)),
  };
}
