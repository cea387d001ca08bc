import { failpoint } from "../core/failpoint.js";
import { type JsonObject, type JsonValue, jsonIn } from "../core/json.js";
import { redactSecrets } from "../core/prompt/redact.js";
import { excerpt } from "../core/text.js";
import { nestingDepth } from "../core/tools/tool-arguments.js";
import type { ToolResult } from "../core/tools/tool-result.js";
import type { AuditHead } from "../core/run/audit-head.js";
import { summarizeForAudit } from "../store/runs/audit-summary.js";
import type { CallOutcome, RecordedResult } from "../store/runs/call-journal.js";
import { type HeldLock, NO_LOCK } from "../store/disk/fenced-lock.js";
import type { RunFiles } from "../store/runs/run-files.js";
import { sha256 } from "../store/disk/sha256.js";

/** A tool call of a run, as a host is asked to run it. */
export interface CallRequest {
  /** Equal ids in one run are one call: the second gets the recorded result and has no effect. */
  readonly toolCallId: string;
  /** As the model spelled it. */
  readonly name: string;
  readonly argumentsJson: string;
  readonly context: CallContext;
}

/** Whose call it is, and in which run. */
export interface CallContext {
  readonly runId: string;
  readonly agentId: string;
  /** Which execution of the run calls: when a newer one has taken over, the call has no effect. Absent means no engine. */
  readonly execution?: number;
}

/** A tool call, and how it is written down (contracts §11). */
export interface CallToRecord extends Omit<CallRequest, "context"> {
  /** The canonical name; undefined for a tool that does not exist. */
  readonly toolName: string | undefined;
  readonly agentId: string;
  readonly nodeId: string;
  /** From `performance.now()`, in milliseconds. */
  readonly startedAt: number;
  /** The call may change files: its result is recorded before the audit event. */
  readonly hasEffect: boolean;
  /** Nobody else may change the run's files meanwhile. */
  readonly isExclusive: boolean;
}

/** A call that was run and recorded, now or before. */
export interface ExecutedCall<R extends RecordedResult = ToolResult> extends CallOutcome<R> {
  readonly audit: AuditHead;
}

/**
 * Runs a call once, with one audit event. The same call twice at once is run once: the second one finds the first
 * one's record. What a crash leaves of record and audit event, the repetition completes. They are written side by side
 * for a read; a call with an effect is recorded first, or the log could keep the failure of an attempt that was made
 * again with success. `attempt` rejects only for a lost lock.
 */
export async function runRecorded<R extends RecordedResult>(
  files: RunFiles,
  call: CallToRecord,
  attempt: (lock: HeldLock) => Promise<CallOutcome<R>>,
): Promise<ExecutedCall<R>> {
  const note = (outcome: CallOutcome<R>): Promise<AuditHead> =>
    files.audit.record(auditEvent(call, outcome.result), new Date());
  const known = await files.calls.find<R>(call.toolCallId);
  if (known !== undefined) return { ...known, audit: await note(known) };
  const once = async (lock: HeldLock) => {
    const known = await files.calls.find<R>(call.toolCallId);
    if (known !== undefined) return { ...known, audit: await note(known) };
    const outcome = await attempt(lock);
    failpoint("call.done");
    const recording = files.calls.record(call.toolCallId, outcome, lock);
    if (call.hasEffect) await recording;
    const [isRecorded, audit] = await Promise.all([recording, note(outcome)]);
    if (isRecorded) return { ...outcome, audit };
    return { ...((await files.calls.find<R>(call.toolCallId)) ?? outcome), audit }; // a read that ran twice at once
  };
  return call.isExclusive ? files.whileStateIsMine(once) : once(NO_LOCK);
}

/**
 * Writes the audit event of a call unless it is there, or the call never ran: for a run that failed between the two,
 * since its calls are not repeated.
 */
export async function noteRecorded(
  files: RunFiles,
  call: Omit<CallToRecord, "startedAt" | "hasEffect" | "isExclusive">,
): Promise<void> {
  const known = await files.calls.find<RecordedResult>(call.toolCallId);
  if (known === undefined) return;
  await files.audit.record(auditEvent({ ...call, startedAt: performance.now() }, known.result), new Date());
}

function auditEvent(call: Omit<CallToRecord, "hasEffect" | "isExclusive">, result: RecordedResult) {
  return {
    kind: "tool.exec",
    toolCallId: call.toolCallId,
    toolName: call.toolName ?? excerpt(redactSecrets(call.name.slice(0, 1000)), 100),
    agentId: call.agentId,
    nodeId: call.nodeId,
    input: summarizeForAudit(parseLoosely(call.argumentsJson)),
    output: summarizeForAudit(result as JsonObject), // tool results are JSON
    durationMs: Math.round(performance.now() - call.startedAt),
  } as const;
}

/** The arguments as far as they can be read; else what they are, by size and hash. */
function parseLoosely(argumentsJson: string): JsonValue {
  const isBounded = argumentsJson.length <= 10_000_000 && nestingDepth(argumentsJson) <= 100;
  const given = isBounded ? jsonIn(argumentsJson) : undefined;
  if (given !== undefined) return given;
  return { malformed: { bytes: Buffer.byteLength(argumentsJson), sha256: sha256(argumentsJson) } };
}
