import type { Client, WorkflowHandle } from "@temporalio/client";
import { type History, historyToJSON } from "@temporalio/common/lib/proto-utils.js";

/** What a finished workflow left on the server, over all executions of its chain. */
export interface HistoryFigures {
  readonly executions: number;
  readonly events: number;
  readonly bytes: number;
  /** Its activities in order: `R` for a regular one, `L` for a local one. */
  readonly activities: string;
  /** Of each execution: the size of the events of one turn, as JSON. Without what opens and closes the execution. */
  readonly turnBytes: readonly number[];
}

export async function historyOf(
  client: Client,
  workflowId: string,
  firstExecutionRunId: string,
): Promise<HistoryFigures> {
  let figures: HistoryFigures = { executions: 0, events: 0, bytes: 0, activities: "", turnBytes: [] };
  let runId: string | undefined = firstExecutionRunId;
  while (runId !== undefined) {
    const handle: WorkflowHandle = client.workflow.getHandle(workflowId, runId);
    const { historyLength, historySize = 0 } = await handle.describe();
    const events = (await handle.fetchHistory()).events ?? [];
    const activities = events.map((event) => {
      if (event.activityTaskScheduledEventAttributes) return "R";
      return event.markerRecordedEventAttributes?.markerName === "core_local_activity" ? "L" : "";
    });
    figures = {
      executions: figures.executions + 1,
      events: figures.events + historyLength,
      bytes: figures.bytes + historySize,
      activities: figures.activities + activities.join(""),
      turnBytes: [...figures.turnBytes, turnBytesOf(events)],
    };
    runId = events.at(-1)?.workflowExecutionContinuedAsNewEventAttributes?.newExecutionRunId ?? undefined;
  }
  return figures;
}

/** Between the first model turn and the last one, by turn. */
function turnBytesOf(events: NonNullable<History["events"]>): number {
  const turns = events.flatMap(({ activityTaskScheduledEventAttributes: scheduled }, index) =>
    scheduled?.activityType?.name === "model.turn" ? [index] : [],
  );
  const between = events.slice(turns[0], turns.at(-1));
  return historyToJSON({ events: between }).length / (turns.length - 1);
}
