// @module-tag slow
import { WorkflowUpdateFailedError } from "@temporalio/client";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { workflowIdOf } from "../../src/core/run/run-id.js";
import type { RunHandle } from "../../src/client/client.js";
import { STEP_SIZES } from "../../src/core/step-size.js";
import { type EarlyServer, startEarlyServer } from "../fakes/early-server.js";
import { eventually } from "../fakes/eventually.js";
import type { Script } from "../fakes/scripted-model.js";
import { asksAndGoesOn, toldUntil } from "../fakes/told-often.js";
import { twoNodePackage } from "../fakes/two-node-package.js";
import { straightOn } from "../fakes/walk.js";
import { openBench, signedClient, until } from "./harness.js";

let early: EarlyServer;

beforeAll(async () => {
  early = await startEarlyServer(inject("cacheDir"));
});
afterAll(() => early.close());

const openBenchThere = (script: Script, environment: Record<string, string> = {}) =>
  openBench(script, { TEMPORAL_ADDRESS: early.address, ...environment });

/** Raises the budget by a little, and waits until that is written down: a run that hears of the next raise before continues later. */
async function raised(run: RunHandle): Promise<void> {
  const { audit } = await run.state();
  await run.raiseBudget({ scope: "run", add: { tokens: 1 } });
  await eventually(async () => (await run.state()).audit.lines > audit.lines);
}

describe.each(STEP_SIZES)("a run by %s that is told very much", (steps) => {
  test("while it waits for an answer goes on waiting with its question, and takes the answer", async () => {
    const bench = await openBenchThere(asksAndGoesOn());
    const run = await bench.start(twoNodePackage(), { steps });
    const { question, visit, turn } = await until(run, "waiting-user");
    await toldUntil(run, 2, async () => {
      await run.pause();
      await run.resume();
    });
    expect(await run.state()).toMatchObject({ phase: "waiting-user", question, visit, turn });
    expect(bench.model.requests).toHaveLength(1);
    const answer = { nodeId: "ask", text: "Red.", question: `${visit}.${turn}`, answerId: "a-1" };
    await run.answer(answer);
    await run.answer(answer);
    await expect(run.result()).resolves.toMatchObject({ phase: "completed" });
    const entries = await (await bench.filesOf(run)).conversation("visit-1").entries();
    expect(entries.filter(({ type }) => type === "user")).toHaveLength(1);
    expect(await run.state()).not.toHaveProperty("question");
  });

  test("while its budget is used up asks for room once, and goes on with it", async () => {
    const bench = await openBenchThere(straightOn);
    const run = await bench.start(twoNodePackage(), {
      steps,
      budget: { run: { turns: 1, tokens: 1_000_000 } },
    });
    const { question } = await until(run, "waiting-user");
    await toldUntil(run, 2, () => raised(run));
    expect((await run.state()).question).toEqual(question);
    await run.pause();
    await run.raiseBudget({ add: { turns: 50 } });
    await run.resume();
    await expect(run.result()).resolves.toMatchObject({ phase: "completed" });
  });

  test("while it is paused stays so until it is resumed", async () => {
    let asked: () => void = () => undefined;
    const isAsked = new Promise<void>((resolve) => (asked = resolve));
    let answer: () => void = () => undefined;
    const answered = new Promise<void>((resolve) => (answer = resolve));
    const bench = await openBenchThere(async (request) => {
      asked();
      await answered;
      return straightOn(request);
    });
    const run = await bench.start(twoNodePackage(), { steps, budget: { run: { tokens: 1_000_000 } } });
    await isAsked;
    await run.pause();
    answer();
    await toldUntil(run, 2, () => raised(run));
    expect(await run.state()).toMatchObject({ paused: true });
    expect(bench.model.requests).toHaveLength(1);
    await run.resume();
    await expect(run.result()).resolves.toMatchObject({ phase: "completed" });
  });
});

test("a signed run that a stranger tells very much goes on hearing its own people", async () => {
  const bench = await openBenchThere(asksAndGoesOn(), { INTERLOCK_STARTS: "signed" });
  const { client } = await signedClient(bench);
  const run = await bench.start(twoNodePackage(), {}, client);
  await until(run, "waiting-user");
  const stranger = client.temporal.workflow.getHandle(workflowIdOf(run.runId));
  await toldUntil(run, 1, () =>
    expect(stranger.executeUpdate("pause")).rejects.toThrow(WorkflowUpdateFailedError),
  );
  await run.answer({ nodeId: "ask", text: "Red." });
  await expect(run.result()).resolves.toMatchObject({ phase: "completed" });
});
