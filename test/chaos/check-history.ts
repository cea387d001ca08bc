import { type History, historyFromJSON } from "@temporalio/common/lib/proto-utils.js";
import { newestAuditHead } from "../../src/audit-head.js";
import { MAX_PAYLOAD_BYTES } from "../../src/contract/names.js";
import type { AuditHead } from "../../src/contract/run.js";
import { type Finding, doubled, lost, unknown } from "./finding.js";

export interface HistoryVerdict {
  readonly findings: readonly Finding[];
  readonly isCompleted: boolean;
  /** Of the answers that were accepted. */
  readonly answerIds: readonly string[];
  /** The newest head of the audit chain that Temporal knows. */
  readonly head: AuditHead | undefined;
}

/** Checks the histories of a run's executions, oldest first: each whole, no payload too large. */
export function checkHistories(texts: readonly string[]): HistoryVerdict {
  const findings: Finding[] = [];
  const histories = texts.map((text) => historyFromJSON(JSON.parse(text)));
  for (const [index, history] of histories.entries()) findings.push(...checkHistory(history, index + 1));
  const last = histories.at(-1)?.events?.at(-1);
  const isCompleted = Boolean(last?.workflowExecutionCompletedEventAttributes);
  if (!isCompleted) findings.push(unknown("No history of it ends with its completion."));
  const answerIds = histories
    .flatMap(({ events }) => events ?? [])
    .flatMap(({ workflowExecutionUpdateAcceptedEventAttributes: update }) =>
      update ? [update.acceptedRequest?.meta?.updateId ?? ""] : [],
    );
  const heads = histories.flatMap((history) => newestAuditHead(history) ?? []);
  return { findings, isCompleted, answerIds, head: heads.reduce<AuditHead | undefined>(longer, undefined) };
}

function longer(a: AuditHead | undefined, b: AuditHead): AuditHead {
  return a !== undefined && a.lines >= b.lines ? a : b;
}

function checkHistory(history: History, execution: number): readonly Finding[] {
  const findings: Finding[] = [];
  const events = history.events ?? [];
  for (const [index, { eventId }] of events.entries()) {
    const [id, expected] = [Number(eventId), index + 1];
    if (id === expected) continue;
    const sentence = `history ${execution}: event ${expected} is followed by another number, ${id}.`;
    findings.push(id > expected ? lost(sentence) : doubled(sentence));
    break;
  }
  if (!events[0]?.workflowExecutionStartedEventAttributes) {
    findings.push(lost(`history ${execution} does not begin with its start.`));
  }
  const largest = Math.max(0, ...events.map((event) => largestPayload(event)));
  if (largest > MAX_PAYLOAD_BYTES) {
    findings.push(
      doubled(`history ${execution} holds a payload of ${largest} bytes; ${MAX_PAYLOAD_BYTES} is the bound.`),
    );
  }
  return findings;
}

function largestPayload(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  if (value instanceof Uint8Array) return value.length;
  return Math.max(0, ...Object.values(value).map(largestPayload));
}
