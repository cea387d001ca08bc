import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
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
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const connection = Connection.lazy({ address: `127.0.0.1:${port}` });
  onTestFinished(async () => {
    await connection.close();
    server.close();
  });
  return connection;
}

test("a Temporal that takes no notice delays a change of phase twice, and fails it never", async () => {
  const scene = await openScene([]);
  const { store } = scene.world;
  const webhook = {
    name: "ops",
    format: "json",
    events: ["completed"],
    rehearsals: true,
    target: { url: "http://127.0.0.1:1/", secrets: [SECRET] },
  } as const;
  const connection = await silentTemporal();
  const { announce } = openNotifier({
    store,
    webhooks: [webhook],
    connection,
    namespace: "default",
    webUi: undefined,
  });
  const activities = createActivities({ ...scene.deps, announce });
  const usage = { modelTurns: 1, toolCalls: 0, promptTokens: 0, completionTokens: 0, cost: 0 };
  const input: PhaseInput = { run: scene.opened.run, phase: "completed", change: 1, nodeId: "ask", usage };
  const warnings: string[] = [];
  const attempt = (number: number) => {
    const info = { inWorkflow: true, attempt: number };
    const log = { warn: (message: string) => warnings.push(message) };
    // All that these activities ask of Temporal's context.
    const context = { info, log } as unknown as Context;
    return asyncLocalStorage.run(context, () => activities["run.phase"](input));
  };
  await expect(attempt(1)).rejects.toMatchObject({ name: "ServiceError" });
  expect(warnings).toEqual([]);
  expect(await attempt(3)).toMatchObject({ lines: 1 });
  expect(warnings).toEqual(["A notice of the run could not be handed to Temporal, and is not sent."]);
  expect(await namesIn(join(scene.files.dir, "notices"))).toEqual(["1.ops.json"]);
});
