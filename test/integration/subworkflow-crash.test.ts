// @module-tag slow
import { join } from "node:path";
import { expect, inject, test } from "vitest";
import { readHits } from "../crash/armed-build.js";
import { sharedBuild } from "../crash/shared-build.js";
import type { Arming } from "../crash/armed-failpoint.js";
import { type CrashStage, openCrashStage } from "../crash/crash-stage.js";
import { endStateOf } from "../crash/end-state.js";
import { limiter } from "../crash/limiter.js";
import { firstWay, mergedPackage } from "../fakes/nested-package.js";
import { writePackage } from "../fakes/package-fixture.js";
import { valueOf } from "../fakes/run-world.js";
import { call } from "../fakes/scripted-model.js";
import { nodeOf } from "../fakes/walk.js";

/** Longer than all of these workers' deaths, their activities' timeouts and runs take on a busy machine. */
const TIMEOUT_MS = 1_800_000;

const build = sharedBuild();

const write = call("fs_write", { path: "@project/artifacts/part.md", content: "part\n" });

async function onStage<T>(at: Arming["at"], action: (stage: CrashStage) => Promise<T>): Promise<T> {
  const stage = await openCrashStage({
    address: inject("temporalAddress"),
    build,
    onRequest: (request) =>
      nodeOf(request) === "draft" && request.messages.at(-1)?.role !== "tool"
        ? { calls: [write] }
        : firstWay(request),
  });
  try {
    await stage.startVictim(at);
    return await action(stage);
  } finally {
    await stage.close();
  }
}

/** What there is of both runs in the end: without what endStateOf knows of one run's model alone. */
async function ended(stage: CrashStage, isKilled: boolean) {
  const { projectRoot, store, client } = stage;
  const source = await writePackage(join(stage.dir, "nested"), mergedPackage());
  const { packageId } = valueOf(await store.packages.install(source));
  const run = await client.start({ projectRoot, packageId, workflowRef: "main", storeId: store.storeId });
  if (isKilled) {
    const signal = await stage.victims[0]?.ended;
    if (signal !== "SIGKILL") throw new Error(`The worker was not killed: ${signal}`);
    await stage.startSuccessor();
  }
  const result = await run.result();
  const runs = await store.runs.listAllRuns();
  const below = client.handle(runs.find(({ parentRunId }) => parentRunId === run.runId)?.runId ?? "");
  const states = [
    await endStateOf(stage, run, result),
    await endStateOf(stage, below, await below.result()),
  ].map((state) => ({ ...(state as Record<string, unknown>), lastRequests: undefined }));
  const text = JSON.stringify(states).replaceAll(below.runId, "BELOW").replaceAll(run.runId, "RUN");
  const seen = JSON.parse(text) as { names: readonly string[] }[];
  return {
    states: seen.map((state) => ({ ...state, names: state.names.toSorted() })), // the ids are others each time
    hits: readHits(stage.hitsFile),
  };
}

/** Where an effect is there and nobody has heard of it, or is about to be. */
const POINTS: readonly string[] = ["activity.before-report", "call.planned"];

test(
  "a worker that is killed in a run, or in the run below it, leaves both as if nothing had happened",
  async () => {
    const undisturbed = await onStage(undefined, (stage) => ended(stage, false));
    expect(undisturbed.states).toMatchObject([
      { result: { stepsCompleted: ["plan", "parts", "both", "done"] }, auditFindings: [] },
      { result: { stepsCompleted: ["draft", "ready"] }, auditFindings: [] },
    ]);
    const counts = new Map<string, number>();
    const cases = undisturbed.hits.flatMap((name) => {
      const hit = (counts.get(name) ?? 0) + 1;
      counts.set(name, hit);
      return POINTS.includes(name) ? [{ name, hit, action: "kill" as const }] : [];
    });
    expect(cases.length).toBeGreaterThan(20);
    const limited = limiter(3);
    const ends = cases.map((at) =>
      limited(async () => ({ at, ...(await onStage(at, (stage) => ended(stage, true))) })),
    );
    for (const { at, states } of await Promise.all(ends)) {
      expect(states, `${at.name} ${at.hit}`).toEqual(undisturbed.states);
    }
  },
  TIMEOUT_MS,
);
