// @module-tag slow
import { join } from "node:path";
import type { History } from "@temporalio/common/lib/proto-utils.js";
import { expect, test } from "vitest";
import { workflowIdOf } from "../../src/core/run/run-id.js";
import { replayHistory } from "../../src/replay.js";
import { eventually } from "../fakes/eventually.js";
import { held } from "../fakes/held-lock.js";
import { twoNodePackage } from "../fakes/two-node-package.js";
import { straightOn } from "../fakes/walk.js";
import { openBench, until } from "./harness.js";

type Events = NonNullable<History["events"]>;

/** Longer than a task of the workflow is left without a word; nothing of the worker's JavaScript runs meanwhile. */
const STOPPED_MS = 4_500;

function stopWorker(): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, STOPPED_MS);
}

/** The place of the last task that has said nothing but that it goes on. */
function idleTaskOf(events: Events): number {
  return events.findLastIndex(
    (event, at) =>
      event.workflowTaskStartedEventAttributes &&
      events[at + 1]?.workflowTaskCompletedEventAttributes &&
      events[at + 2]?.workflowTaskScheduledEventAttributes,
  );
}

/** The history up to the second task after that place, as a server writes it that suggests to continue as new from the next one on. */
function longAfter(events: Events, place: number): History {
  const tasks = events.flatMap((event, at) =>
    event.workflowTaskStartedEventAttributes && at > place ? [at] : [],
  );
  for (const at of tasks) {
    const { workflowTaskStartedEventAttributes: started } = events[at] ?? {};
    if (started) started.suggestContinueAsNew = true;
  }
  return { events: events.slice(0, (tasks[1] ?? 0) + 1) };
}

test("a run whose worker stood still within its turn goes on as it did when it is replayed, though its history has become long meanwhile", async () => {
  const bench = await openBench((request, index) => {
    if (index === 0) return { content: "Blue, or red?" };
    if (index === 1) stopWorker();
    return straightOn(request);
  });
  const run = await bench.start(twoNodePackage(), { steps: "nodes" });
  await until(run, "waiting-user");
  const temporal = bench.client.temporal.workflow.getHandle(workflowIdOf(run.runId));
  const { dir } = await bench.filesOf(run);
  const { letGo } = await held(join(dir, "status.lock"));
  await run.answer({ nodeId: "ask", text: "Red." });
  await eventually(async () =>
    ((await temporal.describe()).raw.pendingActivities ?? []).some(
      ({ activityType }) => activityType?.name === "run.phase",
    ),
  );
  await temporal.signal("heard-by-nobody");
  await eventually(async () => {
    const { events } = await temporal.fetchHistory();
    return Boolean(events?.at(-1)?.workflowTaskCompletedEventAttributes);
  });
  letGo();
  await run.result();
  const { events } = await temporal.fetchHistory();
  const idle = idleTaskOf(events ?? []);
  expect(idle).toBeGreaterThan(0);
  expect(await replayHistory(longAfter(events ?? [], idle))).toMatchObject({ ok: true });
});
