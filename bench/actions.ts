import type { RunResult } from "../src/core/run/run-result.js";

/** What of a history counts here, as `temporal workflow show --output json` prints it. */
export interface HistoryText {
  readonly events: readonly EventText[];
}

interface EventText {
  readonly eventType: string;
  readonly activityTaskScheduledEventAttributes?: { readonly activityType?: { readonly name?: string } };
  readonly activityTaskStartedEventAttributes?: { readonly attempt?: number };
  readonly markerRecordedEventAttributes?: { readonly workflowTaskCompletedEventId?: string };
  readonly upsertWorkflowSearchAttributesEventAttributes?: {
    readonly searchAttributes?: { readonly indexedFields?: Readonly<Record<string, unknown>> };
  };
  readonly workflowExecutionCompletedEventAttributes?: {
    readonly result?: { readonly payloads?: readonly { readonly data?: string }[] };
  };
  readonly workflowTaskCompletedEventAttributes?: {
    readonly meteringMetadata?: { readonly nonfirstLocalActivityExecutionAttempts?: number };
  };
}

/** What Temporal Cloud bills for a history, and how many model turns it has. */
export interface Actions {
  readonly total: number;
  readonly turns: number;
  readonly kinds: ReadonlyMap<string, number>;
}

/** Events that are an action each. */
const ONE: ReadonlyMap<string, string> = new Map([
  ["WORKFLOW_EXECUTION_STARTED", "starts"],
  ["WORKFLOW_EXECUTION_OPTIONS_UPDATED", "options"],
  ["WORKFLOW_EXECUTION_SIGNALED", "signals"],
  ["WORKFLOW_EXECUTION_UPDATE_ACCEPTED", "updates"],
  ["START_CHILD_WORKFLOW_EXECUTION_INITIATED", "children"],
  ["ACTIVITY_TASK_SCHEDULED", "activities"],
  ["TIMER_STARTED", "timers"],
]);

/**
 * Counts actions by Temporal's rules of 2026 (https://docs.temporal.io/cloud/actions). Heartbeats, queries and refused updates are in
 * no history and are not counted; nor is a retry of an activity that never came to its end.
 */
export function actionsOf({ events }: HistoryText): Actions {
  const kinds = new Map<string, number>();
  const count = (kind: string, by = 1): void => {
    if (by > 0) kinds.set(kind, (kinds.get(kind) ?? 0) + by);
  };
  const marked = new Set<string>();
  let turns = 0;
  for (const event of events) {
    const kind = ONE.get(event.eventType.replace(/^EVENT_TYPE_/, ""));
    if (kind !== undefined) count(kind);
    const upsert = event.upsertWorkflowSearchAttributesEventAttributes?.searchAttributes?.indexedFields;
    // Which version a workflow's code has is free.
    if (Object.keys(upsert ?? {}).some((name) => name !== "TemporalChangeVersion"))
      count("search attributes");
    count("retries", (event.activityTaskStartedEventAttributes?.attempt ?? 1) - 1);
    const metering = event.workflowTaskCompletedEventAttributes?.meteringMetadata;
    count("local retries", metering?.nonfirstLocalActivityExecutionAttempts ?? 0);
    // All markers of one workflow task are one action.
    const task = event.markerRecordedEventAttributes?.workflowTaskCompletedEventId;
    if (task !== undefined) marked.add(task);
    if (event.activityTaskScheduledEventAttributes?.activityType?.name === "model.turn") turns += 1;
  }
  count("markers", marked.size);
  const total = [...kinds.values()].reduce((sum, value) => sum + value, 0);
  return { total, turns: turnsInResult(events.at(-1)) ?? turns, kinds };
}

/** The model turns of a run that has completed: by nodes, most are no activities of their own. Undefined where its result is not there in plain. */
function turnsInResult(last: EventText | undefined): number | undefined {
  const data = last?.workflowExecutionCompletedEventAttributes?.result?.payloads?.[0]?.data;
  if (data === undefined) return undefined;
  try {
    const { usage } = JSON.parse(Buffer.from(data, "base64").toString("utf8")) as Partial<RunResult>;
    return usage?.modelTurns;
  } catch {
    return undefined; // sealed
  }
}

export function actionsText({ total, turns, kinds }: Actions): string {
  return `${total} actions, ${turns} model turns (${[...kinds].map(([kind, value]) => `${value} ${kind}`).join(", ")})`;
}
