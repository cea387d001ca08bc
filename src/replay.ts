import { readFile } from "node:fs/promises";
import type { DataConverter } from "@temporalio/common";
import { type History, historyFromJSON } from "@temporalio/common/lib/proto-utils.js";
import { Worker } from "@temporalio/worker";
import { DeterminismViolationError } from "@temporalio/workflow";
import { writtenText } from "./core/written-text.js";
import { PATIENT_VM } from "./worker/patient-vm.js";
import { workflowBundle } from "./worker/workflow-bundle.js";

/** Whether a history leads the code at hand to the same decisions. */
export type ReplayVerdict =
  | { readonly ok: true; readonly events: number }
  | { readonly ok: false; readonly events: number; readonly departure: string };

/**
 * Replays a history against the workflow code at hand: nothing is run, nothing is asked of a server. A sealed one needs the data
 * converter of a worker that has its keys.
 */
export async function replayHistory(
  history: History,
  workflowId = idIn(history) ?? "replayed",
  dataConverter?: DataConverter,
): Promise<ReplayVerdict> {
  const events = history.events?.length ?? 0;
  try {
    const options = {
      ...PATIENT_VM,
      workflowBundle: await workflowBundle(),
      ...(dataConverter && { dataConverter }),
    };
    await Worker.runReplayHistory(options, history, workflowId);
    return { ok: true, events };
  } catch (error) {
    if (!(error instanceof DeterminismViolationError)) throw error;
    return { ok: false, events, departure: departureOf(error.message) };
  }
}

/** The workflow's id, as newer servers write it into the first event. */
function idIn({ events }: History): string | undefined {
  return events?.[0]?.workflowExecutionStartedEventAttributes?.workflowId || undefined;
}

/** What the SDK's core says of it, without what is said around it. */
function departureOf(message: string): string {
  return /message: "((?:[^"\\]|\\.)*)"/.exec(message)?.[1] ?? message;
}

/**
 * A history file as `temporal workflow show --output json` and `interlock export` write it, and as a shell of Windows saves what the
 * first prints. Throws on anything else.
 */
export async function readHistory(path: string): Promise<History> {
  const written = writtenText(await readFile(path));
  if ("problem" in written) throw new Error(`The file ${written.problem}.`);
  const value: unknown = JSON.parse(written.text);
  const history = historyFromJSON(value);
  const events = history.events ?? [];
  if (events.length === 0) throw new Error("The file holds no events.");
  // Replay waits for ever on a history with a gap.
  if (!events[0]?.workflowExecutionStartedEventAttributes || !events.every(isEvent)) {
    throw new Error("The file does not hold the events of one execution from its start, in order.");
  }
  return history;
}

type HistoryEvent = NonNullable<History["events"]>[number];

function isEvent({ eventId, eventType }: HistoryEvent, index: number): boolean {
  return Number(eventId) === index + 1 && Boolean(eventType); // 0 is no type
}
