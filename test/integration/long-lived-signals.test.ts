import { getEventListeners } from "node:events";
import { expect, test } from "vitest";
import { historyGrowth } from "../../src/client/runs/history-growth.js";
import { workflowIdOf } from "../../src/core/run/run-id.js";
import { twoNodePackage } from "../fakes/two-node-package.js";
import { openBench, until } from "./harness.js";

test("a signal that lives as long as its page is let go by each request that is over", async () => {
  const bench = await openBench([{ content: "Which colour?" }]);
  const run = await bench.start(twoNodePackage());
  await until(run, "waiting-user");
  const { temporal } = bench.client;
  const { signal } = new AbortController();
  await run.pendingWork({ signal });
  const ended = run.result({ signal }).catch((error: unknown) => String(error));
  const grown = historyGrowth({ temporal, namespace: bench.client.namespace }, run);
  expect(await grown(signal)).toBe(true);
  await temporal.workflow.getHandle(workflowIdOf(run.runId)).terminate("no longer wanted");
  while (await grown(signal));
  expect(await ended).toContain("no longer wanted");
  expect(getEventListeners(signal, "abort")).toEqual([]);
});
