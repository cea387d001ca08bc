import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { type HistoryText, actionsOf } from "../../bench/actions.js";

const historyOf = (name: string, version = "0.1.0") =>
  JSON.parse(
    readFileSync(new URL(`../replay/histories/${version}/${name}.json`, import.meta.url), "utf8"),
  ) as HistoryText;

test("a history's billed actions: markers count once a workflow task, each retry counts, the code's version does not", () => {
  const marker = { eventType: "EVENT_TYPE_MARKER_RECORDED" };
  const upsert = (...names: string[]) => ({
    eventType: "EVENT_TYPE_UPSERT_WORKFLOW_SEARCH_ATTRIBUTES",
    upsertWorkflowSearchAttributesEventAttributes: {
      searchAttributes: { indexedFields: Object.fromEntries(names.map((name) => [name, {}])) },
    },
  });
  const { total, turns, kinds } = actionsOf({
    events: [
      { eventType: "EVENT_TYPE_WORKFLOW_EXECUTION_STARTED" },
      { ...marker, markerRecordedEventAttributes: { workflowTaskCompletedEventId: "4" } },
      { ...marker, markerRecordedEventAttributes: { workflowTaskCompletedEventId: "4" } },
      { ...marker, markerRecordedEventAttributes: { workflowTaskCompletedEventId: "9" } },
      upsert("TemporalChangeVersion"),
      upsert("TemporalChangeVersion", "InterlockPhase"),
      {
        eventType: "EVENT_TYPE_ACTIVITY_TASK_SCHEDULED",
        activityTaskScheduledEventAttributes: { activityType: { name: "model.turn" } },
      },
      { eventType: "EVENT_TYPE_ACTIVITY_TASK_STARTED", activityTaskStartedEventAttributes: { attempt: 3 } },
    ],
  });
  expect([total, turns]).toEqual([7, 1]);
  expect(Object.fromEntries(kinds)).toEqual({
    starts: 1,
    markers: 2,
    "search attributes": 1,
    activities: 1,
    retries: 2,
  });
});

test("the model turns of a run by nodes are counted, though most are no activities of their own", () => {
  const { turns } = actionsOf(historyOf("nodes-question.1", "0.2.0"));
  expect(turns).toBe(5);
});

test("the figures of docs/scaling.md are those of the histories", () => {
  const page = readFileSync(new URL("../../docs/scaling.md", import.meta.url), "utf8");
  for (const name of ["graph-question.1", "graph-story.1", "bundle-question.1", "graph-continue-as-new.1"]) {
    const { total, turns } = actionsOf(historyOf(name));
    expect(page).toContain(`| \`${name}\` | ${turns} | ${total} |`);
  }
});
