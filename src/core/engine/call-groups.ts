import { type Fault, fail } from "../errors.js";
import type { AuditHead } from "../run/audit-head.js";
import type { ToolEffect } from "../tools/external-tool.js";
import { READS } from "../tools/reads.js";
import { ENDING_KEY, type LoopVerdict, observeCall, observeRepeated } from "../run/loop-detection.js";
import { tellFailedCall } from "./run-graph-state.js";
import type { RunRecord } from "./run-record.js";

/** What of a call decides on when and whether it runs. */
interface Call {
  /** Absent when there is no such tool. */
  readonly tool?: string;
  /** Of a tool that is not the engine's own. */
  readonly external?: { readonly effect: ToolEffect };
  /** What the timeline shows. */
  readonly summary: string;
  /** Hash of tool and arguments. */
  readonly key: string;
  /** Why the call cannot run at all. */
  readonly fault?: Fault;
}

interface NotedOutcome {
  readonly ok: boolean;
  readonly code?: string;
  readonly message?: string;
  /** It failed for a precondition. */
  readonly unmet?: boolean;
  readonly audit: AuditHead;
}

type Kind = Pick<Call, "tool" | "external" | "fault">;

function isRead({ tool = "", external, fault }: Kind): boolean {
  return fault === undefined && (READS.has(tool) || external?.effect === "none");
}

/** The calls of one answer in groups that run one after the other: reads that follow one another side by side, the rest alone. */
export function groupCalls<C extends Kind>(calls: readonly C[]): readonly (readonly C[])[] {
  const groups: C[][] = [];
  let reads: C[] | undefined;
  for (const call of calls) {
    if (reads !== undefined && isRead(call)) reads.push(call);
    else {
      groups.push([call]);
      reads = isRead(call) ? groups.at(-1) : undefined;
    }
  }
  return groups;
}

/** Why a call is not run: it cannot, or an earlier one has ended the run. */
export function callRefusal(record: RunRecord, call: Pick<Call, "fault">): Fault | undefined {
  return record.isComplete ? RUN_IS_COMPLETE : call.fault;
}

const RUN_IS_COMPLETE: Fault = fail(
  "TOOL_NOT_AVAILABLE",
  "The run is complete: an earlier call of this answer or the user has ended it. Nothing more is run.",
).error;

export function noteRefusal(record: RunRecord, nodeId: string, { code, message }: Fault): void {
  record.note(`refused with ${code}: ${message}`, nodeId);
}

/**
 * Takes over how a call went, and says what is to be done about a model that repeats a failing one or, in a bundle run, any; undefined
 * where the call says nothing of that. `now` is an ISO time.
 */
export function takeOutcome(
  record: RunRecord,
  nodeId: string,
  { call, outcome, now }: { readonly call: Call; readonly outcome: NotedOutcome; readonly now: string },
): LoopVerdict | undefined {
  record.use({ toolCalls: 1 });
  record.noteAudit(outcome.audit);
  record.note(outcome.ok ? call.summary : `${call.summary} → ${outcome.code ?? "failed"}`, nodeId);
  if (!outcome.ok) tellFailedCall(record, nodeId, outcome, now);
  const { loop } = record.carried;
  // Reading is no progress of a model that says it is done while something is missing.
  const isAside = outcome.ok && isRead(call) && loop.key === ENDING_KEY;
  const verdict = isAside ? undefined : observe(record, call.key, outcome.ok);
  // Those of others may be asked again and again how far something is.
  if (!outcome.ok || !record.noticesRepeats || call.external !== undefined) return verdict;
  const observed = observeRepeated(loop.repeated, call.key);
  record.update({ loop: { ...record.carried.loop, repeated: observed.repeated } });
  return observed.verdict === "go-on" ? verdict : observed.verdict;
}

/** Notices repetition; see `observeCall`. */
export function observe(record: RunRecord, key: string, ok: boolean): LoopVerdict {
  const observed = observeCall(record.carried.loop, { key, ok });
  record.update({ loop: observed.state });
  return observed.verdict;
}
