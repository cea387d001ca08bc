import { type Client, ServiceError } from "@temporalio/client";
import { abortable, pause } from "../temporal/abortable.js";
import { isOpen } from "./execution-status.js";
import type { Addressed } from "./run-address.js";

/** Several events come at once. */
const PAUSE_MS = 300;
/** From one "there is more" to the next: whoever is told asks a store, which costs the server more than the waiting. */
const LEAST_MS = 1_500;
const ERROR_PAUSE_MS = 2_000;

/** The events of a history after which a run's audit log may be longer. */
interface HistoryEvent {
  readonly activityTaskCompletedEventAttributes?: unknown;
  readonly markerRecordedEventAttributes?: unknown;
}

/**
 * Waits for a run's history to grow, by Temporal's long poll: an idle run costs the server a request every twenty seconds or so.
 * Each call goes on where the one before has ended; false once the newest execution is closed.
 */
export function historyGrowth(
  { temporal, namespace }: { readonly temporal: Client; readonly namespace: string },
  run: Addressed,
): (signal: AbortSignal) => Promise<boolean> {
  let execution: { readonly workflowId: string; readonly runId: string } | undefined;
  let nextPageToken: Uint8Array | undefined;
  let toldAt = Number.NEGATIVE_INFINITY;

  async function executionOf() {
    const { workflowId, executionRunId } = await run.address();
    if (executionRunId !== undefined) return { workflowId, runId: executionRunId };
    return { workflowId, runId: (await temporal.workflow.getHandle(workflowId).describe()).runId };
  }

  async function poll(): Promise<"more" | "nothing" | "closed"> {
    execution ??= await executionOf();
    const request = {
      namespace,
      execution,
      waitNewEvent: true,
      skipArchival: true,
      ...(nextPageToken === undefined ? {} : { nextPageToken }),
    };
    const { history, nextPageToken: token } =
      await temporal.workflowService.getWorkflowExecutionHistory(request);
    const events: readonly HistoryEvent[] = history?.events ?? [];
    if (token === null || token === undefined || token.length === 0) {
      // It has ended, or goes on in another execution.
      execution = undefined;
      nextPageToken = undefined;
      return "closed";
    }
    nextPageToken = token;
    return events.some(mayHaveLogged) ? "more" : "nothing";
  }

  return async (signal) => {
    for (;;) {
      signal.throwIfAborted();
      try {
        const news = await abortable(temporal, signal, poll);
        if (news === "closed") {
          if (!(await isOpen(temporal, run))) return false;
          await pause(PAUSE_MS, signal);
          return true;
        }
        if (news === "nothing") continue;
        await pause(Math.max(PAUSE_MS, toldAt + LEAST_MS - performance.now()), signal);
        toldAt = performance.now();
        return true;
      } catch (error) {
        signal.throwIfAborted();
        // A connection that is lost comes back, or the next question says that it does not.
        if (!(error instanceof ServiceError) && !isTransient(error)) throw error;
        await pause(ERROR_PAUSE_MS, signal);
        return true;
      }
    }
  };
}

function mayHaveLogged(event: HistoryEvent): boolean {
  return Boolean(event.activityTaskCompletedEventAttributes) || Boolean(event.markerRecordedEventAttributes);
}

const TRANSIENT: readonly unknown[] = [1, 4, 8, 14]; // cancelled, deadline exceeded, resource exhausted, unavailable

function isTransient(error: unknown): boolean {
  return error instanceof Error && "code" in error && TRANSIENT.includes(error.code);
}
