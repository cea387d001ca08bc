// @module-tag slow
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, inject, test } from "vitest";
import type { FailpointName } from "../../src/core/failpoint.js";
import { sharedBuild } from "../crash/shared-build.js";
import { turnOf } from "../crash/crash-script.js";
import { type CrashStage, answeredResult, openCrashStage } from "../crash/crash-stage.js";
import { endStateOf } from "../crash/end-state.js";
import { jsonLines } from "../fakes/run-world.js";

/** Longer than a worker's death, its activity's timeout and a run take on a busy machine. */
const TIMEOUT_MS = 600_000;

const build = sharedBuild();

/** A run whose first model refuses its key; the second one, at the same place, does the work. */
async function withFallback<T>(
  at: { readonly name: FailpointName; readonly hit: number } | undefined,
  action: (stage: CrashStage) => Promise<T>,
): Promise<T> {
  const stage = await openCrashStage({
    address: inject("temporalAddress"),
    build,
    onRequest: ({ model }) => (model === "scripted" ? { status: 401 } : undefined),
  });
  try {
    const models = { spare: { model: "spare-1" } };
    await writeFile(join(stage.store.dir, "settings.json"), JSON.stringify({ models }));
    await stage.startVictim(at && { ...at, action: "kill" });
    return await action(stage);
  } finally {
    await stage.close();
  }
}

async function ended(stage: CrashStage, isKilled: boolean) {
  const { projectRoot, packageId, store, client } = stage;
  const input = { projectRoot, packageId, input: "Paint it.", storeId: store.storeId };
  const run = await client.start({ ...input, model: { fallbacks: ["spare"] } });
  const result = await answeredResult(stage, run, async () => {
    if (!isKilled) return;
    const signal = await stage.victims[0]?.ended;
    if (signal !== "SIGKILL") throw new Error(`The worker was not killed: ${signal}`);
    await stage.startSuccessor();
  });
  const { lastRequests: _, ...endState } = (await endStateOf(stage, run, result)) as Record<string, unknown>;
  const log = join((await stage.runDir(run)) ?? "", "state/logs/execution.jsonl");
  const turns = (await jsonLines(log)).filter(({ kind }) => kind === "model.turn");
  const asked = stage.model.requests.map((request) => `${request.model} ${turnOf(request)}`);
  return { endState, turns, asked };
}

test(
  "a worker killed in a fallback leaves a run that falls back all the same: no answer twice, no model forgotten",
  async () => {
    const undisturbed = await withFallback(undefined, (stage) => ended(stage, false));
    const answeredBy = { name: "spare", model: "spare-1" };
    expect(undisturbed.turns.length).toBeGreaterThan(3);
    for (const turn of undisturbed.turns) expect(turn).toMatchObject({ answeredBy });
    const points = [
      { name: "model.before-request", hit: 1 }, // the first model is to be asked
      { name: "activity.before-report", hit: 4 },
      { name: "model.before-request", hit: 2 }, // the second one
      { name: "model.answer-received", hit: 1 },
      { name: "model.answer-written", hit: 1 },
    ] as const;
    for (const at of points) {
      const killed = await withFallback(at, (stage) => ended(stage, true));
      expect(killed.endState, `${at.name} ${at.hit}`).toEqual(undisturbed.endState);
      const more = killed.asked.filter((turn, index) => killed.asked.indexOf(turn) !== index);
      expect(more.length, `asked twice after ${at.name} ${at.hit}: ${more.join(", ")}`).toBeLessThanOrEqual(
        1,
      );
    }
  },
  5 * TIMEOUT_MS,
);
