import type { RunRecord } from "../core/engine/run-record.js";
import { runActivities } from "./activity-options.js";
import type { Summary } from "./summary.js";

/**
 * The bars in the timeline of nodes whose boundary was kept in the task at hand (contracts §9). They are handed out when that task ends, and
 * do nothing more: the next boundary that is waited for and the end of an execution wait for them.
 */
const bars = new WeakMap<RunRecord, Promise<unknown>[]>();

export function showBar(record: RunRecord, shown: Summary): void {
  const bar = runActivities["state.snapshot"].executeWithOptions(shown, [record.scope]);
  // What it stands for is kept, whatever becomes of it.
  const over = bar.catch(() => undefined);
  bars.set(record, [...(bars.get(record) ?? []), over]);
}

/** Before an execution ends: what is not over by then would never be. */
export async function barsOver(record: RunRecord): Promise<void> {
  const shown = bars.get(record);
  if (shown === undefined) return;
  bars.delete(record);
  await Promise.all(shown);
}
