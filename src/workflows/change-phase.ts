import { type SearchAttributePair, SearchAttributeType, defineSearchAttributeKey } from "@temporalio/common";
import { upsertSearchAttributes } from "@temporalio/workflow";
import { MAX_KEYWORD_BYTES, type SEARCH_ATTRIBUTES } from "../contract/names.js";
import type { RunPhase } from "../core/run/phase.js";
import type { Fault } from "../core/errors.js";
import { printable } from "../core/printable.js";
import { questionIn } from "../core/run/question.js";
import { cutBytes } from "../core/text.js";
import { runActivities } from "./activity-options.js";
import { setRunMemo } from "./run-memo.js";
import type { RunRecord } from "../core/engine/run-record.js";
import { defined } from "../core/defined.js";

/** Sets search attributes where the namespace has them: without them a run works, but cannot be searched for. */
export function setSearchAttributes(
  record: RunRecord,
  values: Partial<Record<keyof typeof SEARCH_ATTRIBUTES, string>>,
): void {
  const settable = Object.entries(values).filter(([name]) => record.mayBeSearchedBy(name));
  const pairs: SearchAttributePair[] = settable.map(([name, value]) => ({
    key: defineSearchAttributeKey(name, SearchAttributeType.KEYWORD),
    value: cutBytes(printable(value), MAX_KEYWORD_BYTES),
  }));
  if (pairs.length > 0) upsertSearchAttributes(pairs);
}

/** Says in lists and searches where the run stands. */
export function tellPlace(record: RunRecord): void {
  setSearchAttributes(record, placeOf(record));
  setRunMemo(record);
  record.pace.noteTold(Date.now());
}

export function placeOf(record: RunRecord) {
  return { RunNode: record.nodeId, RunAgent: record.agentOf(record.nodeId) };
}

/** Moves the run to a phase: in the workflow, in the index, in the audit log and in what can be searched. */
export async function changePhase(
  record: RunRecord,
  phase: RunPhase,
  { fault, again }: { readonly fault?: Fault; readonly again?: true } = {},
): Promise<void> {
  record.setPhase(phase);
  const { paused, budget, raises, answeredBy } = record.carried;
  record.note(fault === undefined ? `${phase}${paused ? ", paused" : ""}` : `${phase}: ${fault.code}`);
  setSearchAttributes(record, { RunPhase: phase, ...(record.pace.isPlaceOld ? placeOf(record) : {}) });
  setRunMemo(record);
  record.pace.noteTold(Date.now());
  const { spent, ...audit } = await runActivities["run.phase"].executeWithOptions({ summary: phase }, [
    {
      ...record.scope,
      phase,
      ...(paused ? { paused } : {}),
      change: record.carried.phaseChanges,
      nodeId: record.nodeId,
      usage: record.carried.usage,
      ...(budget.run === undefined && budget.node === undefined ? {} : { budget }),
      ...defined({ raises, answeredBy }),
      ...(record.question === undefined
        ? {}
        : { question: record.question, asked: questionIn(record.carried) }),
      ...defined({ again, lastAnswer: record.lastAnswer, fault }),
    },
  ]);
  record.noteAudit(audit);
  if (spent !== undefined) record.use(spent);
}

/** Records a pause, its end and a raised budget where people look, once the phase itself is recorded. */
export async function recordChanges(record: RunRecord): Promise<void> {
  while (!record.isRecorded) await changePhase(record, record.carried.phase, { again: true });
}
