// @module-tag slow
import { beforeAll, describe, expect, inject, test } from "vitest";
import type { FailpointName } from "../../src/core/failpoint.js";
import { readHits } from "../crash/armed-build.js";
import { sharedBuild } from "../crash/shared-build.js";
import type { Arming } from "../crash/armed-failpoint.js";
import { openBundleStage } from "../crash/bundle-stage.js";
import { limiter } from "../crash/limiter.js";
import { quietRuntime } from "../fakes/quiet-runtime.js";
import { copyRoom } from "./harness.js";

/** Most of the time a case waits for a timeout of Temporal's. */
const CASES_AT_ONCE = Number(process.env["INTERLOCK_CRASH_CASES_AT_ONCE"] ?? 12);
/** Where a bundle run goes another way than a graph run, whose crash matrix has every failpoint. */
const POINTS: readonly FailpointName[] = [
  "file.temporary-synced",
  "file.renamed",
  "log.line-written",
  "write.temporary-synced",
  "write.renamed",
  "call.planned",
  "call.done",
  "call.recorded",
  "model.answer-written",
  "input.written",
  "activity.before-report",
  "run.placed",
];

const build = sharedBuild();
let reference: Awaited<ReturnType<typeof undisturbedRun>>;
const address = inject("temporalAddress");
const inTurn = limiter(CASES_AT_ONCE);

beforeAll(async () => {
  quietRuntime();
  reference = await undisturbedRun();
});

async function undisturbedRun() {
  const stage = await openBundleStage(address, build, copyRoom);
  try {
    await stage.startVictim();
    const result = await stage.run.result();
    return { endState: await stage.endState(result), hits: readHits(stage.hitsFile) };
  } finally {
    await stage.close();
  }
}

/** A bundle run whose worker is killed there, and which another worker takes up. */
async function killedRun(at: NonNullable<Arming["at"]>): Promise<void> {
  const stage = await openBundleStage(address, build, copyRoom);
  try {
    const victim = await stage.startVictim(at);
    expect(await Promise.race([victim.ended, stage.run.result()])).toBe("SIGKILL");
    const before = await stage.requests();
    await stage.startSuccessor();
    const result = await stage.run.result();
    expect(await stage.endState(result)).toEqual(reference.endState);
    for (const [turn, count] of (await stage.requests()).counts) {
      // An answer that was not written down when its asker died is asked for once more; no other one is.
      const mayRepeat = before.counts.has(turn) && !before.written.includes(turn);
      expect(count, `requests for turn ${turn}`).toBeLessThanOrEqual(mayRepeat ? 2 : 1);
    }
  } finally {
    await stage.close();
  }
}

describe("the worker of a bundle run killed at", () => {
  test.concurrent.each(POINTS)(
    "%s, in the middle: the run ends with the same files, conversation and audit log",
    async (name) => {
      const count = reference.hits.filter((hit) => hit === name).length;
      expect(count).toBeGreaterThan(0);
      await inTurn(() => killedRun({ name, hit: Math.ceil(count / 2), action: "kill" }));
    },
    600_000,
  );
});
