// @module-tag slow
import { join } from "node:path";
import { expect, inject, onTestFinished, test } from "vitest";
import { sharedBuild } from "../crash/shared-build.js";
import { openCrashStage } from "../crash/crash-stage.js";
import { eventually } from "../fakes/eventually.js";
import { firstWay, nestedPackage } from "../fakes/nested-package.js";
import { writePackage } from "../fakes/package-fixture.js";
import { valueOf } from "../fakes/run-world.js";
import { nodeOf } from "../fakes/walk.js";

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

test("a run that is cancelled after its worker died takes along the run below that goes on by itself", async () => {
  const stage = await openCrashStage({
    address: inject("temporalAddress"),
    build: sharedBuild(),
    onRequest: (request) => (nodeOf(request) === "draft" ? { content: "Go on?" } : firstWay(request)),
  });
  onTestFinished(() => stage.close());
  const { client, store, projectRoot, dir } = stage;
  const end = { type: "end" };
  const nested = nestedPackage({
    main: { nodes: { parts: { type: "subworkflow", workflow: "part" }, done: end } },
    part: { nodes: { draft: {}, ready: end } },
  });
  const { packageId } = valueOf(
    await store.packages.install(await writePackage(join(dir, "nested"), nested)),
  );
  const first = await stage.startVictim();
  const run = await client.start({ projectRoot, packageId, workflowRef: "main", storeId: store.storeId });
  let below = "";
  await eventually(async () => {
    below = (await run.state()).below?.runId ?? "";
    return below !== "";
  });
  const isAsking = async () =>
    (
      await client
        .handle(below)
        .state()
        .catch(() => undefined)
    )?.phase === "waiting-user";
  await eventually(isAsking);
  await client.handle(below).cancel();
  await expect(run.result()).rejects.toMatchObject({ code: "ENGINE_ABORTED" });
  const alone = await client.retry(below);
  await eventually(isAsking);
  await first.shutDown();
  // Opened, the run only looks again and again whether that run is over: one such look is cut short.
  const second = await stage.startVictim({ name: "activity.begun", hit: 6, action: "kill" });
  const again = await client.retry(run.runId);
  await second.ended;
  await again.cancel();
  await stage.startSuccessor();
  await expect(again.result()).rejects.toMatchObject({ code: "ENGINE_ABORTED" });
  await eventually(async () => (await alone.executionStatus()) === "CANCELLED");
});
