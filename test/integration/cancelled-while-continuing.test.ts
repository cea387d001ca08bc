// @module-tag slow
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, inject, onTestFinished, test } from "vitest";
import { InterlockClient, type RunHandle } from "../../src/client/client.js";
import { workflowIdOf } from "../../src/core/run/run-id.js";
import { startSigner } from "../../src/store/start-signatures.js";
import { type EarlyServer, startEarlyServer } from "../fakes/early-server.js";
import { eventually } from "../fakes/eventually.js";
import { held } from "../fakes/held-lock.js";
import { firstWay, nestedPackage } from "../fakes/nested-package.js";
import { type ScriptedAnswer, call } from "../fakes/scripted-model.js";
import { twoNodePackage } from "../fakes/two-node-package.js";
import { nodeOf } from "../fakes/walk.js";
import { type Bench, openBench, until } from "./harness.js";

let early: EarlyServer;

beforeAll(async () => {
  early = await startEarlyServer(inject("cacheDir"));
});
afterAll(() => early.close());

/** Of an activity, in `PendingActivityState`. */
const CANCEL_REQUESTED = 3;
const ABORTED = { code: "ENGINE_ABORTED" };

function describe({ client }: Bench, { runId }: RunHandle) {
  return client.temporal.workflow.getHandle(workflowIdOf(runId)).describe();
}

const END = { type: "end" };
const nested = nestedPackage({
  main: { nodes: { parts: { type: "subworkflow", workflow: "part" }, done: END } },
  part: { nodes: { draft: {}, ready: END } },
});

test("a run that is cancelled when it has just continued as new takes along the run below that goes on by itself", async () => {
  const bench = await openBench(
    (request) => (nodeOf(request) === "draft" ? { content: "Go on?" } : firstWay(request)),
    { TEMPORAL_ADDRESS: early.address },
  );
  const { client } = bench;
  const run = await bench.start(nested, { workflowRef: "main", budget: { run: { turns: 10 } } });
  await eventually(async () => (await run.state()).below !== undefined);
  const below = client.handle((await run.state()).below?.runId ?? "");
  await until(below, "waiting-user");
  await below.cancel();
  await expect(run.result()).rejects.toMatchObject(ABORTED);
  const alone = await client.retry(below.runId);
  const again = await client.retry(run.runId);
  await eventually(async () =>
    (await again.state()).progress.some(({ text }) => text.includes("goes on by itself")),
  );

  const { letGo } = await held(join((await bench.filesOf(run)).dir, "execution.lock"));
  const first = await again.executionRunId();
  while ((await again.executionRunId()) === first) await again.raiseBudget({ add: { turns: 1 } });
  await again.cancel();
  letGo();
  await expect(again.result()).rejects.toMatchObject(ABORTED);
  await expect(alone.result()).rejects.toMatchObject(ABORTED);
});

test("a run that is cancelled while it records a change before it continues as new is cancelled", async () => {
  let answer: () => void = () => undefined;
  const answered = new Promise<void>((resolve) => (answer = resolve));
  const look: ScriptedAnswer = { calls: [call("fs_list", { path: "@pkg" })] };
  const bench = await openBench(() => answered.then(() => look), {
    TEMPORAL_ADDRESS: early.address,
    INTERLOCK_STARTS: "signed",
  });
  const sign = await startSigner(bench.store);
  const secret = join(bench.store.dir, "starts.secret");
  const digits = readFileSync(secret);
  let isDamaged = false;
  const client = await InterlockClient.connect({
    connection: { address: early.address },
    taskQueue: bench.store.taskQueue,
    async sign(...args) {
      const signature = await sign(...args);
      if (isDamaged) writeFileSync(secret, "none");
      return signature;
    },
  });
  onTestFinished(() => client.close());
  const run = await bench.start(twoNodePackage(), {}, client);
  await eventually(() => bench.model.requests.length === 1);
  while ((await describe(bench, run)).historyLength < 120) {
    await run.pause();
    await run.resume();
  }
  // This one is looked at for as long as the secret cannot be read, and the run waits for that before it continues.
  isDamaged = true;
  const paused = run.pause();
  await eventually(() => !readFileSync(secret).equals(digits));
  answer();
  const { dir } = await bench.filesOf(run);
  await eventually(async () => (await bench.auditEvents(run)).some(({ kind }) => kind === "tool.exec"));
  const { letGo } = await held(join(dir, "status.lock"));
  writeFileSync(secret, digits);
  await paused;
  const isRecording = async (inState?: number) =>
    ((await describe(bench, run)).raw.pendingActivities ?? []).some(
      ({ activityType, state }) => activityType?.name === "run.phase" && (inState ?? state) === state,
    );
  await eventually(() => isRecording());
  await run.cancel();
  await eventually(() => isRecording(CANCEL_REQUESTED));
  letGo();
  await expect(run.result()).rejects.toMatchObject(ABORTED);
});
