import { type History, historyFromJSON } from "@temporalio/common/lib/proto-utils.js";
import { newestAuditHead } from "../../src/client/runs/audit-head.js";
import { ANSWER_UPDATE, BUDGET_UPDATE, MAX_PAYLOAD_BYTES } from "../../src/contract/names.js";
import type { AuditHead } from "../../src/core/run/audit-head.js";
import { type Finding, compareLists, doubled, lost, unknown } from "./finding.js";

export interface HistoryVerdict {
  readonly findings: readonly Finding[];
  readonly isCompleted: boolean;
  /** Of the answers that were accepted: each once for an execution that accepted it. */
  readonly answerIds: readonly string[];
  /** Of the raises that were accepted. */
  readonly raiseIds: readonly string[];
  /** The newest head of the audit chain that Temporal knows. */
  readonly head: AuditHead | undefined;
}

/** Checks the histories of a run's executions, oldest first: each whole, no payload too large, no link missing. */
export function checkHistories(texts: readonly string[]): HistoryVerdict {
  const findings: Finding[] = [];
  const histories = texts.map((text) => historyFromJSON(JSON.parse(text)));
  for (const [index, history] of histories.entries()) findings.push(...checkHistory(history, index + 1));
  findings.push(...checkChain(histories));
  const last = histories.at(-1)?.events?.at(-1);
  const isCompleted = Boolean(last?.workflowExecutionCompletedEventAttributes);
  if (!isCompleted) findings.push(unknown("No history of it ends with its completion."));
  const accepted = (name: string) =>
    histories.flatMap((history, index) => {
      const ids = updateIds(history, name);
      findings.push(
        ...compareLists(`updates ${name} in history ${index + 1}`, ids, [...new Set(ids)], "any order"),
      );
      return [...new Set(ids)];
    });
  const [answerIds, raiseIds] = [accepted(ANSWER_UPDATE), accepted(BUDGET_UPDATE)];
  const heads = histories.flatMap((history) => newestAuditHead(history) ?? []);
  const head = heads.reduce<AuditHead | undefined>(longer, undefined);
  return { findings, isCompleted, answerIds, raiseIds, head };
}

function updateIds({ events }: History, name: string): readonly string[] {
  return (events ?? []).flatMap(({ workflowExecutionUpdateAcceptedEventAttributes: update }) => {
    const request = update?.acceptedRequest;
    return request?.input?.name === name ? [request.meta?.updateId ?? ""] : [];
  });
}

/** An execution that continued as new is followed by the one it names, and only by that one. */
function checkChain(histories: readonly History[]): readonly Finding[] {
  const findings: Finding[] = [];
  let expected = "";
  for (const [index, { events }] of histories.entries()) {
    const started = events?.[0]?.workflowExecutionStartedEventAttributes;
    const isContinued = (started?.continuedExecutionRunId ?? "") !== "";
    if (expected !== "" && started?.originalExecutionRunId !== expected) {
      findings.push(lost(`history ${index} continues as ${expected}, of which there is no history.`));
    } else if (expected === "" && isContinued) {
      const before = started?.continuedExecutionRunId;
      findings.push(lost(`history ${index + 1} continues ${before}, of which there is no history.`));
    }
    expected = events?.at(-1)?.workflowExecutionContinuedAsNewEventAttributes?.newExecutionRunId ?? "";
  }
  if (expected !== "") findings.push(lost(`the last history continues as ${expected}, which is not there.`));
  return findings;
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
