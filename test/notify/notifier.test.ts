import { once } from "node:events";
import { type Http2Server, createServer as createHttp2Server } from "node:http2";
import { type AddressInfo, type Server, createServer } from "node:net";
import { join } from "node:path";
import { type Context, asyncLocalStorage } from "@temporalio/activity";
import { Connection } from "@temporalio/client";
import { expect, onTestFinished, test } from "vitest";
import { createActivities } from "../../src/activities/create-activities.js";
import type { PhaseInput } from "../../src/contract/activities.js";
import { openNotifier } from "../../src/notify/notifier.js";
import { openScene } from "../activities/harness-world.js";
import { namesIn } from "../fakes/run-world.js";
import { SECRET } from "../fakes/webhook-receiver.js";

/** A Temporal that takes connections and says nothing. */
async function silentTemporal(): Promise<Connection> {
  return connectionTo(createServer());
}

async function connectionTo(server: Server | Http2Server): Promise<Connection> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const connection = Connection.lazy({ address: `127.0.0.1:${port}` });
  onTestFinished(async () => {
    await connection.close();
    server.close();
  });
  return connection;
}

/** A Temporal that refuses each start with this gRPC status. */
async function refusingTemporal(status: number): Promise<Connection> {
  const server = createHttp2Server();
  server.on("stream", (stream, headers) => {
    const answer = { ":status": 200, "content-type": "application/grpc" };
    if (headers[":path"]?.endsWith("/StartWorkflowExecution")) {
      stream.respond({ ...answer, "grpc-status": status, "grpc-message": "No." }, { endStream: true });
      return;
    }
    stream.respond(answer, { waitForTrailers: true });
    stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": 0 }));
    stream.end(Buffer.alloc(5)); // an empty message
  });
  return connectionTo(server);
}

const ATTEMPTS = 10;

/** What becomes of the end of a run that one webhook, or more, would be told of, at an attempt of its activity. */
async function openEnding(connection: Connection, webhooks = ["ops"]) {
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

test("a Temporal that says nothing of a notice has the change of phase tried again, to the last attempt, and fails it never", async () => {
  const { attempt, lost, kept } = await openEnding(await silentTemporal(), ["ops", "chat"]);
  await expect(attempt(ATTEMPTS - 1)).rejects.toMatchObject({ name: "ServiceError" });
  expect([lost, await kept()]).toEqual([[], ["1.ops.json"]]);
  expect(await attempt(ATTEMPTS)).toMatchObject({ lines: 1 });
  expect(lost).toEqual([
    [LOST, "ops"],
    [LOST, "chat"],
  ]);
  expect(await kept()).toEqual(["1.chat.json", "1.ops.json"]);
});

test.each([
  ["INVALID_ARGUMENT", 3],
  ["NOT_FOUND", 5],
  ["PERMISSION_DENIED", 7],
  ["FAILED_PRECONDITION", 9],
  ["UNIMPLEMENTED", 12],
])("a Temporal that refuses a notice with %s is not asked again", async (_, status) => {
  const { attempt, lost } = await openEnding(await refusingTemporal(status));
  expect(await attempt(1)).toMatchObject({ lines: 1 });
  expect(lost).toEqual([[LOST, "ops"]]);
});

test("a Temporal that refuses a notice with UNKNOWN or UNAVAILABLE is asked again, while there are attempts", async () => {
  const endings = [2, 14].map(async (status) => {
    const { attempt, lost } = await openEnding(await refusingTemporal(status));
    await expect(attempt(1)).rejects.toMatchObject({ name: "ServiceError" });
    expect(lost).toEqual([]);
    expect(await attempt(ATTEMPTS)).toMatchObject({ lines: 1 });
    expect(lost).toEqual([[LOST, "ops"]]);
  });
  await Promise.all(endings);
});
