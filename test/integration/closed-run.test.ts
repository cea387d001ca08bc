// @module-tag slow
import { describe, expect, test } from "vitest";
import { followRun } from "../../src/cli/follow/follow.js";
import { workflowIdOf } from "../../src/core/run/run-id.js";
import type { RunHandle } from "../../src/client/client.js";
import { twoNodePackage } from "../fakes/two-node-package.js";
import { valueOf } from "../fakes/run-world.js";
import { type Bench, openBench, until } from "./harness.js";
import { jsonOf, shellOf } from "./shell.js";

const ASKS = [{ content: "Which colour?" }];

function terminate(bench: Bench, { runId }: RunHandle): Promise<unknown> {
  return bench.client.temporal.workflow.getHandle(workflowIdOf(runId)).terminate("no longer wanted");
}

async function openWaiting(): Promise<{ bench: Bench; run: RunHandle }> {
  const bench = await openBench(ASKS);
  const run = await bench.start(twoNodePackage());
  await until(run, "waiting-user");
  return { bench, run };
}

describe("a run that was terminated while it waited for an answer", () => {
  test("is failed with the reason, for clients and for status, with a worker and without; its package can go", async () => {
    const { bench, run } = await openWaiting();
    const { packageId } = valueOf(await bench.store.runs.findRun(run.runId));
    const kept = await shellOf(bench).run(["package", "remove", packageId]);
    expect(kept).toMatchObject({ code: 2 });
    await terminate(bench, run);
    const failure = {
      code: "ENGINE_ABORTED",
      message: expect.stringContaining("no longer wanted") as unknown,
    };
    const state = await run.state();
    expect(state).toMatchObject({ phase: "failed", failure });
    expect(state.question).toBeUndefined();
    expect(jsonOf(await shellOf(bench).run(["status", run.runId, "--json"]))).toMatchObject({
      phase: "failed",
      failure,
    });
    await bench.stopWorker();
    const status = jsonOf(await shellOf(bench).run(["status", run.runId, "--json"]));
    expect(status).toMatchObject({ phase: "failed", failure });
    expect(status).not.toHaveProperty("question");
    expect(await shellOf(bench).run(["package", "remove", packageId])).toMatchObject({ code: 0 });
  });

  test("is no longer followed, though nobody answers", async () => {
    const { bench, run } = await openWaiting();
    const asked: string[] = [];
    const end = await followRun(
      run,
      {
        show: () => undefined,
        wait: () => undefined,
        ask(question) {
          asked.push(question.text);
          void terminate(bench, run);
          return new Promise(() => undefined);
        },
        close: () => undefined,
      },
      new AbortController().signal,
    );
    expect(asked).toEqual(["Which colour?"]);
    expect(end).toMatchObject({ waiting: false, state: { phase: "failed" } });
  });
});

test("status of a run whose files lie here needs no Temporal, though one is configured", async () => {
  const { bench, run } = await openWaiting();
  const status = await shellOf(bench, { TEMPORAL_ADDRESS: "127.0.0.1:9" }).run([
    "status",
    run.runId,
    "--json",
  ]);
  expect(status.code).toBe(0);
  expect(jsonOf(status)).toMatchObject({ phase: "waiting-user" });
  expect(status.stderr).toContain("No Temporal answers at 127.0.0.1:9 (connect ECONNREFUSED 127.0.0.1:9");
});

test.each([
  ["the configured Temporal is not there", { TEMPORAL_ADDRESS: "127.0.0.1:9" }, "No Temporal answers at"],
  [
    "no server can be started",
    { TEMPORAL_ADDRESS: "", INTERLOCK_TEMPORAL_CLI: "/no/temporal" },
    "/no/temporal does not exist",
  ],
])("a run's files are exported and its audit log is checked where %s", async (_, variables, why) => {
  const { bench, run } = await openWaiting();
  const shell = shellOf(bench, { ...variables });
  const exported = await shell.run(["export", run.runId, "--json"]);
  expect(exported).toMatchObject({ code: 0, stderr: expect.stringContaining(why) as unknown });
  const entries = expect.arrayContaining(["state/workflow.md", "state/logs/execution.jsonl"]) as unknown;
  expect(jsonOf(exported)).toMatchObject({ entries });
  const verified = await shell.run(["audit", "verify", run.runId, "--json"]);
  expect(verified).toMatchObject({ code: 0, stderr: expect.stringContaining("cannot be seen") as unknown });
  expect(jsonOf(verified)).toMatchObject({ ok: true, checkedAgainstTemporal: false });
});
