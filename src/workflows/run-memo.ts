import { upsertMemo, workflowInfo } from "@temporalio/workflow";
import { RUN_MEMO, type RunMemo, runMemoSchema } from "../contract/run-memo.js";
import type { RunRecord } from "../core/engine/run-record.js";
import { runNote } from "../core/engine/run-note.js";

/**
 * Writes where the run stands into its memo, so that a listing shows it without asking the run. Its opening says whether: no worker of
 * an earlier version did so. (A marker of `patched` would do, but for queries: one that is asked of a worker without the run in its
 * cache, while the marker stands after the last workflow task, fails.)
 */
export function setRunMemo(record: RunRecord): void {
  if (record.open?.keepsMemo !== true) return;
  const memo: RunMemo = runNote(record, phaseSince(record));
  upsertMemo({ [RUN_MEMO]: memo });
}

/** Since when the run is in its phase: what its memo says, which continue-as-new carries over. */
function phaseSince({ carried }: RunRecord): string {
  const known = runMemoSchema.safeParse(workflowInfo().memo?.[RUN_MEMO]);
  return known.success && known.data.phase === carried.phase ? known.data.since : new Date().toISOString();
}
