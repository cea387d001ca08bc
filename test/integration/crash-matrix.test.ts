import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { FAILPOINTS } from "../../src/core/failpoint.js";
import { type ArmedBuild, buildArmed, countHits } from "../crash/armed-build.js";
import type { Arming } from "../crash/armed-failpoint.js";
import { answerQuestion, openCrashStage } from "../crash/crash-stage.js";
import { endStateOf, requestCounts, writtenTurns } from "../crash/end-state.js";
import { limiter } from "../crash/limiter.js";

/** Most of the time a case waits for a timeout of Temporal's. */
const CASES_AT_ONCE = Number(process.env["INTERLOCK_CRASH_CASES_AT_ONCE"] ?? 12);
/** Every hit instead of the first, the second and the last one. */
const EVERY_HIT = process.env["INTERLOCK_CRASH_EVERY_HIT"] === "true";

/** Hit by whoever installs a package, and by no worker. */
const OF_INSTALLATION = FAILPOINTS.filter((name) => name.startsWith("package."));
const OF_WORKER = FAILPOINTS.filter((name) => !OF_INSTALLATION.includes(name));

let build: ArmedBuild;
let reference: Awaited<ReturnType<typeof undisturbedRun>>;
const address = inject("temporalAddress");
const inTurn = limiter(CASES_AT_ONCE);

beforeAll(async () => {
  build = buildArmed();
  reference = await undisturbedRun();
}, 120_000);
afterAll(() => build.remove());

/** What a run comes to that nothing happens to, and how often it passes each failpoint. */
async function undisturbedRun() {
  const stage = await openCrashStage({ address, build });
  const over = new AbortController();
  try {
    await stage.startVictim();
    const run = await stage.startRun();
    await answerQuestion(stage, run, over.signal);
    const result = await run.result();
    return {
      endState: await endStateOf(stage, run, result),
      requests: requestCounts(stage),
      hits: countHits(stage.hitsFile),
    };
  } finally {
    over.abort();
    await stage.close();
  }
}

/** A run whose worker is killed there, and which another worker takes up. */
async function killedRun(at: NonNullable<Arming["at"]>): Promise<void> {
  const stage = await openCrashStage({ address, build });
  const over = new AbortController();
  try {
    const victim = await stage.startVictim(at);
    const run = await stage.startRun();
    const answering = answerQuestion(stage, run, over.signal);
    expect(await Promise.race([victim.ended, run.result()])).toBe("SIGKILL");
    const written = await writtenTurns(stage, run);
    const asked = requestCounts(stage);
    await stage.startSuccessor();
    const result = await run.result();
    await answering;
    expect(await endStateOf(stage, run, result)).toEqual(reference.endState);
    for (const [turn, count] of requestCounts(stage)) {
      // An answer that was not written down when its asker died is asked for once more; no other one is.
      const mayRepeat = asked.has(turn) && !written.includes(turn);
      expect(count, `requests for ${turn}`).toBeLessThanOrEqual(mayRepeat ? 2 : 1);
    }
  } finally {
    over.abort();
    await stage.close();
  }
}

/** The first, the second and the last of so many hits. */
function hitsToTry(count: number): readonly number[] {
  if (EVERY_HIT) return Array.from({ length: count }, (_, index) => index + 1);
  return [...new Set([1, 2, count])].filter((hit) => hit <= count);
}

describe("a worker killed at", () => {
  test.concurrent.each(OF_WORKER)(
    "%s leaves a run that ends as if nothing had happened",
    async (name) => {
      const count = reference.hits.get(name) ?? 0;
      expect(count).toBeGreaterThan(0);
      const cases = hitsToTry(count).map((hit) =>
        inTurn(() =>
          killedRun({ name, hit, action: "kill" }).catch((error: unknown) => {
            throw new Error(`killed at hit ${hit} of ${count}`, { cause: error });
          }),
        ),
      );
      const outcomes = await Promise.allSettled(cases);
      expect(outcomes.filter(({ status }) => status === "rejected")).toEqual([]);
    },
    1_200_000,
  );
});
