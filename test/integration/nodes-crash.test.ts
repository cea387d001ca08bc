// @module-tag slow
import { expect, inject, test } from "vitest";
import { sharedBuild } from "../crash/shared-build.js";
import { openCrashStage } from "../crash/crash-stage.js";
import { endStateOf } from "../crash/end-state.js";
import { nodeOf, readsFirst } from "../fakes/walk.js";

const build = sharedBuild();

/** What is left of a run by nodes that asks nobody; its worker is killed when it has recorded so many calls. */
async function straightRun(killedAt: number | undefined, reads = 0) {
  const stage = await openCrashStage({
    address: inject("temporalAddress"),
    build,
    steps: "nodes",
    onRequest: readsFirst(reads),
  });
  try {
    const at = { name: "call.recorded", action: "kill" } as const;
    const victim = await stage.startVictim(killedAt === undefined ? undefined : { ...at, hit: killedAt });
    const run = await stage.startRun();
    const died = killedAt === undefined ? undefined : await victim.ended;
    if (died !== undefined) await stage.startSuccessor();
    const endState = await endStateOf(stage, run, await run.result());
    return { endState, nodes: stage.model.requests.map(nodeOf), died };
  } finally {
    await stage.close();
  }
}

test.concurrent.for([1, 2, 3])(
  "a worker killed in a visit that one workflow task had done leaves a run that begins it where it stood: call %i",
  async (killedAt) => {
    const undisturbed = await straightRun(undefined);
    expect(undisturbed.nodes).toEqual(["ask", "middle", "finish"]);
    expect(await straightRun(killedAt)).toEqual({ ...undisturbed, died: "SIGKILL" });
  },
);

test.concurrent.for([2, 3, 5])(
  "a worker killed among turns that are taken together leaves a run that asks for none of them again: call %i",
  async (killedAt) => {
    const reads = 2;
    const undisturbed = await straightRun(undefined, reads);
    const nodes = ["ask", "middle", "finish"].flatMap((node) =>
      Array.from({ length: reads + 1 }, () => node),
    );
    expect(undisturbed.nodes).toEqual(nodes);
    expect(await straightRun(killedAt, reads)).toEqual({ ...undisturbed, died: "SIGKILL" });
  },
);
