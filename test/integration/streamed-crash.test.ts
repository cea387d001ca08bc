// @module-tag slow
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, inject, test } from "vitest";
import { sharedBuild } from "../crash/shared-build.js";
import { answerTo, turnOf } from "../crash/crash-script.js";
import { type CrashStage, answeredResult, openCrashStage } from "../crash/crash-stage.js";
import { endStateOf, requestCounts } from "../crash/end-state.js";

/** Longer than a worker's death, its activity's timeout and a run take on a busy machine. */
const TIMEOUT_MS = 600_000;

const build = sharedBuild();

/** What is left of a run with streamed answers; its worker is killed when this request's answer has come but for its end. */
async function streamedRun(killedAt: number | undefined) {
  let killed = false;
  const stage: CrashStage = await openCrashStage({
    address: inject("temporalAddress"),
    build,
    onRequest: (request, index) => {
      expect(request.stream).toBe(true);
      if (index !== killedAt) return undefined;
      const beforeEnd = async () => {
        const [victim] = stage.victims;
        victim?.process.kill("SIGKILL");
        await victim?.ended;
        killed = true;
        await stage.startSuccessor();
      };
      return { ...answerTo(request), beforeEnd };
    },
  });
  try {
    const models = { scripted: { model: "scripted", stream: true } };
    await writeFile(join(stage.store.dir, "settings.json"), JSON.stringify({ models }));
    await stage.startVictim();
    const run = await stage.startRun();
    const result = await answeredResult(stage, run);
    const counts = [...requestCounts(stage)];
    const asked = stage.model.requests.map(turnOf);
    return { endState: await endStateOf(stage, run, result), counts, asked, killed };
  } finally {
    await stage.close();
  }
}

test(
  "a worker killed in the middle of a streamed answer leaves a run that ends as if nothing had happened",
  async () => {
    const undisturbed = await streamedRun(undefined);
    expect(undisturbed.counts.filter(([, count]) => count > 1)).toEqual([]);
    const last = undisturbed.asked.length - 1;
    for (const at of [0, Math.floor(last / 2), last]) {
      const disturbed = await streamedRun(at);
      expect(disturbed.killed).toBe(true);
      expect(disturbed.endState, `killed at ${undisturbed.asked[at]}`).toEqual(undisturbed.endState);
      const again = disturbed.counts.filter(([, count]) => count > 1);
      expect(again).toEqual([[undisturbed.asked[at], 2]]);
    }
  },
  4 * TIMEOUT_MS,
);
