// @module-tag slow
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, inject, test } from "vitest";
import type { FailpointName } from "../../src/core/failpoint.js";
import { sharedBuild } from "../crash/shared-build.js";
import { answerQuestion, openCrashStage } from "../crash/crash-stage.js";
import { eventually } from "../fakes/eventually.js";
import { listenForWebhooks } from "../fakes/webhook-receiver.js";

/** Longer than a worker's death and its activity's timeout take on a busy machine. */
const TIMEOUT_MS = 600_000;

const build = sharedBuild();

/** The ids of the messages that a receiver got, when a worker was killed there and another one took its place. */
async function idsAfterDeathAt(name: FailpointName) {
  const receiver = await listenForWebhooks();
  const stage = await openCrashStage({ address: inject("temporalAddress"), build });
  try {
    const webhooks = { ops: { url: receiver.url, format: "slack", events: ["question", "completed"] } };
    await writeFile(join(stage.store.dir, "settings.json"), JSON.stringify({ notifications: { webhooks } }));
    const victim = await stage.startVictim({ name, hit: 1, action: "kill" });
    const run = await stage.startRun();
    expect(await victim.ended).toBe("SIGKILL");
    await stage.startSuccessor();
    const idOf = (change: number) => `notice-${run.runId}-${change}-ops`;
    const ids = () => receiver.messages.map(({ headers }) => headers["webhook-id"]);
    await eventually(() => ids().includes(idOf(1)));
    await answerQuestion(stage, run, new AbortController().signal);
    await run.result();
    await eventually(() => ids().includes(idOf(3)));
    const { temporal } = stage.client;
    for (const change of [1, 3]) await temporal.workflow.getHandle(idOf(change)).result();
    return { questions: ids().filter((id) => id === idOf(1)), all: new Set(ids()).size };
  } finally {
    await stage.close();
    receiver.close();
  }
}

test.concurrent.each([
  ["notice.kept", 1],
  ["notice.started", 1],
  // The receiver has it, and nobody knows: it is told again by the same id.
  ["notice.sent", 2],
] as const)(
  "a worker killed at %s: the question is told, by one id",
  async (name, times) => {
    const { questions, all } = await idsAfterDeathAt(name);
    expect(questions).toHaveLength(times);
    expect(all).toBe(2);
  },
  TIMEOUT_MS,
);
