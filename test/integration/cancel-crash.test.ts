// @module-tag slow
import { expect, inject, onTestFinished, test } from "vitest";
import { sharedBuild } from "../crash/shared-build.js";
import { openCrashStage } from "../crash/crash-stage.js";

test("a run that is cancelled after its worker died is cancelled, not failed, and can be retried", async () => {
  const build = sharedBuild();
  const stage = await openCrashStage({ address: inject("temporalAddress"), build });
  onTestFinished(() => stage.close());
  const victim = await stage.startVictim({ name: "run.staged", hit: 1, action: "kill" });
  const run = await stage.startRun();
  await victim.ended;
  await run.cancel();
  await stage.startSuccessor();
  await expect(run.result()).rejects.toMatchObject({ code: "ENGINE_ABORTED" });
  expect(await run.executionStatus()).toBe("CANCELLED");
  const retried = await stage.client.retry(run.runId);
  await retried.cancel();
});
