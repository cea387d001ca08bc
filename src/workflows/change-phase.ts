import { type SearchAttributePair, SearchAttributeType, defineSearchAttributeKey } from "@temporalio/common";
import { upsertSearchAttributes } from "@temporalio/workflow";
import type { SEARCH_ATTRIBUTES } from "../contract/names.js";
import type { RunPhase } from "../contract/run.js";
import type { Fault } from "../core/errors.js";
import { printable } from "../core/printable.js";
import { cutText } from "../core/text.js";
import { runActivities } from "./activity-options.js";
import type { RunRecord } from "./run-record.js";

/** Temporal ends a run whose attribute is longer than 2,048 bytes. */
const MAX_VALUE_CHARS = 500;

/** Sets search attributes where the namespace has them: without them a run works, but cannot be searched for. */
export function setSearchAttributes(
  record: RunRecord,
  values: Partial<Record<keyof typeof SEARCH_ATTRIBUTES, string>>,
): void {
  if (!record.hasSearchAttributes) return;
  const pairs: SearchAttributePair[] = Object.entries(values).map(([name, value]) => ({
    key: defineSearchAttributeKey(name, SearchAttributeType.KEYWORD),
    value: cutText(printable(value), MAX_VALUE_CHARS),
  }));
  upsertSearchAttributes(pairs);
}

/** Moves the run to a phase: in the workflow, in the index, in the audit log and in what can be searched. */
export async function changePhase(record: RunRecord, phase: RunPhase, fault?: Fault): Promise<void> {
  record.setPhase(phase);
  const { paused, budget, raises } = record.carried;
  record.note(fault === undefined ? `${phase}${paused ? ", paused" : ""}` : `${phase}: ${fault.code}`);
  setSearchAttributes(record, { RunPhase: phase });
  const audit = await runActivities["run.phase"].executeWithOptions({ summary: phase }, [
    {
      run: record.opened.run,
      phase,
      ...(paused ? { paused } : {}),
      change: record.carried.phaseChanges,
      nodeId: record.nodeId,
      usage: record.carried.usage,
      ...(budget.run === undefined && budget.node === undefined ? {} : { budget }),
      ...(raises === undefined ? {} : { raises }),
      ...(record.question === undefined ? {} : { question: record.question }),
      ...(fault === undefined ? {} : { fault }),
    },
  ]);
  record.noteAudit(audit);
}

/** Records a pause, its end and a raised budget where people look, once the phase itself is recorded. */
export async function recordChanges(record: RunRecord): Promise<void> {
  while (!record.isRecorded) await changePhase(record, record.carried.phase);
}
