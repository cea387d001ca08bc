import { join } from "node:path";
import { type Context, asyncLocalStorage } from "@temporalio/activity";
import { NativeConnection } from "@temporalio/worker";
import { expect, onTestFinished, test } from "vitest";
import { createActivities } from "../../src/activities/create-activities.js";
import type { PhaseInput } from "../../src/contract/activities.js";
import { openNotifier } from "../../src/notify/notifier.js";
import { openScene } from "../activities/harness-world.js";
import { type GrpcAnswer, answeringTemporal } from "../fakes/answering-temporal.js";
import { quietRuntime } from "../fakes/quiet-runtime.js";
import { namesIn } from "../fakes/run-world.js";
import { SECRET } from "../fakes/webhook-receiver.js";

/** A connection as a worker has one, to a Temporal that answers each start of a notice so. */
async function connectionTo(answer: GrpcAnswer | (() => Promise<GrpcAnswer>)): Promise<NativeConnection> {
  quietRuntime();
  const connection = await NativeConnection.connect({
    address: await answeringTemporal({ StartWorkflowExecution: answer }),
  });
  onTestFinished(() => connection.close());
  return connection;
}

const ATTEMPTS = 10;

/** What becomes of the end of a run that one webhook, or more, would be told of, at an attempt of its activity. */
async function openEnding(connection: NativeConnection, webhooks = ["ops"]) {
  const scene = await openScene([]);
  const { announce } = openNotifier({
    store: scene.world.store,
    webhooks: webhooks.map((name) => ({
      name,
      format: "json",
      events: ["completed"],
      rehearsals: true,
      target: { url: "http://127.0.0.1:1/", secrets: [SECRET] },
    })),
    connection,
    namespace: "default",
    webUi: undefined,
  });
  const activities = createActivities({ ...scene.deps, announce });
  const usage = { modelTurns: 1, toolCalls: 0, promptTokens: 0, completionTokens: 0, cost: 0 };
  const input: PhaseInput = { run: scene.opened.run, phase: "completed", change: 1, nodeId: "ask", usage };
  const lost: unknown[] = [];
  const attempt = (number: number) => {
    const info = { inWorkflow: true, attempt: number, retryPolicy: { maximumAttempts: ATTEMPTS } };
    const log = {
      warn: (message: string, { webhook }: { webhook: string }) => lost.push([message, webhook]),
    };
    // All that these activities ask of Temporal's context.
    const context = { info, log } as unknown as Context;
    return asyncLocalStorage.run(context, () => activities["run.phase"](input));
  };
  return { attempt, lost, kept: () => namesIn(join(scene.files.dir, "notices")) };
}

const LOST = "A notice of the run could not be handed to Temporal, and is not sent.";
const LATE = "Temporal has not taken the notice in time.";

test("a Temporal that says nothing of a notice has the change of phase tried again, to the last attempt, and fails it never", async () => {
  const { attempt, lost, kept } = await openEnding(await connectionTo("silence"), ["ops", "chat"]);
  await expect(attempt(ATTEMPTS - 1)).rejects.toThrow(LATE);
  expect([lost, await kept()]).toEqual([[], ["1.chat.json", "1.ops.json"]]);
  expect(await attempt(ATTEMPTS)).toMatchObject({ lines: 1 });
  expect(lost).toEqual([
    [LOST, "ops"],
    [LOST, "chat"],
  ]);
  expect(await kept()).toEqual(["1.chat.json", "1.ops.json"]);
});

test("the messages of a change are handed to Temporal at once: of many, one after the other, the last had no time left in any attempt", async () => {
  const names = ["ops", "chat", "mail"];
  const answers: (() => void)[] = [];
  const connection = await connectionTo(
    () =>
      new Promise((resolve) => {
        answers.push(() => resolve({ message: Buffer.alloc(0) }));
        if (answers.length === names.length) for (const answer of answers) answer();
      }),
  );
  const { attempt, lost } = await openEnding(connection, names);
  expect(await attempt(1)).toMatchObject({ lines: 1 });
  expect(lost).toEqual([]);
});

test.each([
  ["INVALID_ARGUMENT", 3],
  ["NOT_FOUND", 5],
  ["PERMISSION_DENIED", 7],
  ["FAILED_PRECONDITION", 9],
  ["UNIMPLEMENTED", 12],
])("a Temporal that refuses a notice with %s is not asked again", async (_, code) => {
  const { attempt, lost } = await openEnding(await connectionTo({ code, details: "No." }));
  expect(await attempt(1)).toMatchObject({ lines: 1 });
  expect(lost).toEqual([[LOST, "ops"]]);
});

// The connection of a worker asks again by itself, for longer than the activity has.
test("a Temporal that refuses a notice with UNKNOWN, RESOURCE_EXHAUSTED or UNAVAILABLE is asked again by the next attempt, while there is one", async () => {
  const endings = [2, 8, 14].map(async (code) => {
    const { attempt, lost } = await openEnding(await connectionTo({ code, details: "No." }));
    await expect(attempt(1)).rejects.toThrow(LATE);
    expect(lost).toEqual([]);
    expect(await attempt(ATTEMPTS)).toMatchObject({ lines: 1 });
    expect(lost).toEqual([[LOST, "ops"]]);
  });
  await Promise.all(endings);
});
