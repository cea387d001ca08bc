// @module-tag slow
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, describe, expect, inject, test } from "vitest";
import { FAILPOINTS, type FailpointName } from "../../src/core/failpoint.js";
import { readHits } from "../crash/armed-build.js";
import { sharedBuild } from "../crash/shared-build.js";
import type { Arming } from "../crash/armed-failpoint.js";
import { turnOf } from "../crash/crash-script.js";
import { type CrashStage, openCrashStage } from "../crash/crash-stage.js";
import { endStateOf, requestCounts, writtenTurns } from "../crash/end-state.js";
import { limiter } from "../crash/limiter.js";
import {
  type ChatRequestBody,
  type ScriptedAnswer,
  type ScriptedCall,
  call,
  patch,
} from "../fakes/scripted-model.js";

/** Most of the time a case waits for a timeout of Temporal's. */
const CASES_AT_ONCE = Number(process.env["INTERLOCK_CRASH_CASES_AT_ONCE"] ?? 6);
const CASE_TIMEOUT_MS = 600_000;
const OF_COMPACTION = FAILPOINTS.filter((name) => name.startsWith("context."));

const READS = 9;
const MAX_REQUEST_CHARS = 70_000;

/** What the model does at each node; the first one reads far more than its context holds. */
const TURNS: Readonly<Record<string, readonly ScriptedCall[]>> = {
  ask: [
    ...Array.from({ length: READS }, (_, file) => call("fs_read", { path: `@project/${file}.txt` })),
    patch({ stepsCompleted: { append: ["ask"] }, currentNodeId: { set: "middle" } }),
  ],
  middle: [patch({ stepsCompleted: { append: ["middle"] }, currentNodeId: { set: "finish" } })],
  finish: [patch({ stepsCompleted: { append: ["finish"] } })],
};

function isTooLong(request: ChatRequestBody): boolean {
  return JSON.stringify(request).length > MAX_REQUEST_CHARS;
}

/** The same answer, with the same call id, whenever the same turn is asked for; none to a request that is too long. */
function answerTo(request: ChatRequestBody): ScriptedAnswer {
  if (isTooLong(request)) {
    const message =
      "This model's maximum context length is 17000 tokens. Please reduce the length of the messages.";
    return { status: 400, body: { error: { message, code: "context_length_exceeded" } } };
  }
  const turn = turnOf(request);
  const [nodeId = "", number = ""] = turn.split(" ");
  const next = TURNS[nodeId]?.[Number(number) - 1];
  return next === undefined
    ? { status: 418 }
    : { calls: [{ ...next, id: turn.replace(" ", "-") }], usage: null };
}

const build = sharedBuild();
let reference: Awaited<ReturnType<typeof undisturbedRun>>;
const address = inject("temporalAddress");
const inTurn = limiter(CASES_AT_ONCE);

beforeAll(async () => {
  reference = await undisturbedRun();
});

async function onStage<T>(action: (stage: CrashStage) => Promise<T>): Promise<T> {
  const stage = await openCrashStage({ address, build, onRequest: answerTo });
  try {
    for (let file = 0; file < READS; file += 1) {
      await writeFile(join(stage.projectRoot, `${file}.txt`), `${file} is a line of a file.\n`.repeat(800));
    }
    return await action(stage);
  } finally {
    await stage.close();
  }
}

function undisturbedRun() {
  return onStage(async (stage) => {
    const worker = await stage.startVictim();
    const run = await stage.startRun();
    const endState = await endStateOf(stage, run, await run.result());
    await worker.shutDown();
    return {
      endState,
      requests: stage.model.requests,
      counts: requestCounts(stage),
      hits: readHits(stage.hitsFile),
    };
  });
}

function killedRun(at: NonNullable<Arming["at"]>): Promise<void> {
  return onStage(async (stage) => {
    const victim = await stage.startVictim(at);
    const run = await stage.startRun();
    expect(await Promise.race([victim.ended, run.result()])).toBe("SIGKILL");
    const written = await writtenTurns(stage, run);
    const asked = requestCounts(stage);
    await stage.startSuccessor();
    const result = await run.result();
    expect(await endStateOf(stage, run, result)).toEqual(reference.endState);
    for (const [turn, count] of requestCounts(stage)) {
      // What was refused or not written down when its asker died is asked for once more; nothing else is.
      const more = asked.has(turn) && !written.includes(turn) ? 1 : 0;
      expect(count, `requests for ${turn}`).toBeLessThanOrEqual((reference.counts.get(turn) ?? 0) + more);
    }
  });
}

/** The hits of a failpoint that come right after the folds have begun to be written down. */
function hitsAfterFold(name: FailpointName): readonly number[] {
  const { hits } = reference;
  return hits.flatMap((point, index) => {
    if (point !== "context.before-fold") return [];
    const next = hits.indexOf(name, index);
    return next === -1 ? [] : [hits.slice(0, next + 1).filter((hit) => hit === name).length];
  });
}

describe.concurrent("a run whose conversation outgrows its model's context", () => {
  test("is refused once, then leaves out results before it asks, and ends", () => {
    expect(reference.requests.filter(isTooLong)).toHaveLength(1);
    expect(reference.hits.filter((hit) => hit === "context.folded").length).toBeGreaterThan(1);
  });

  test.each([
    ...OF_COMPACTION,
    "log.line-written",
    "model.before-request",
    "model.answer-received",
    "model.answer-written",
  ] as const)(
    "and whose worker is killed at %s of a fold ends as if nothing had happened, nothing twice",
    async (name) => {
      const hits = hitsAfterFold(name);
      expect(hits.length).toBeGreaterThan(1);
      await Promise.all(hits.map((hit) => inTurn(() => killedRun({ name, hit, action: "kill" }))));
    },
    CASE_TIMEOUT_MS,
  );
});
