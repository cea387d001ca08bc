import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { type ScriptedAnswer, call } from "../fakes/scripted-model.js";
import { twoNodePackage } from "../fakes/two-node-package.js";
import { intentOf, straightOn, wordsIn } from "../fakes/walk.js";
import { type EarlyServer, startEarlyServer } from "../fakes/early-server.js";
import { eventually } from "../fakes/eventually.js";
import { openBench, until } from "./harness.js";

let server: EarlyServer;

beforeAll(async () => {
  server = await startEarlyServer(inject("cacheDir"));
});
afterAll(() => server.close());

const LOOK: ScriptedAnswer = {
  calls: Array.from({ length: 8 }, () => call("fs_list", { path: "@pkg" })),
};
/** Enough turns of one visit for the server to suggest continue-as-new, and a failure. */
const LONG: readonly ScriptedAnswer[] = [...Array.from({ length: 12 }, () => LOOK), { status: 401 }];
const FAILS = { code: "LLM_AUTH_FAILED" };

describe("a run that has continued as new", () => {
  test("is retried and forked with what its first execution was started with", { tags: "slow" }, async () => {
    let next: ScriptedAnswer[] = [...LONG, ...LONG];
    const bench = await openBench((request) => next.shift() ?? straightOn(request), {
      TEMPORAL_ADDRESS: server.address,
    });
    const run = await bench.start(twoNodePackage(), {
      input: "Paint it.",
      budget: { run: { turns: 1 } },
      limits: { maxModelAttempts: 1 },
    });
    await until(run, "waiting-user");
    await run.raiseBudget({ add: { turns: 60 } });
    await expect(run.result()).rejects.toMatchObject(FAILS);
    const { input } = await run.startedWith();
    expect(input).toMatchObject({ input: "Paint it.", budget: { run: { turns: 1 } } });
    expect(input).not.toHaveProperty("carried");

    const retried = await bench.client.retry(run.runId, { limits: { maxTurnsPerRun: 70 } });
    await expect(retried.result()).rejects.toMatchObject(FAILS);
    expect(await retried.executionRunId()).not.toBe(retried.firstExecutionRunId);
    const limits = { maxModelAttempts: 1, maxTurnsPerRun: 70 };
    expect((await run.startedWith()).input).toMatchObject({ input: "Paint it.", resume: true, limits });
    await (await bench.client.retry(run.runId)).result();
    // What a restore would start it with.
    expect((await (await bench.filesOf(run)).request.read())?.input).toMatchObject({
      input: "Paint it.",
      limits,
    });
    const { usage, budget } = await run.state();
    expect([usage.modelTurns, budget]).toEqual([27, { run: { turns: 61 } }]);
    const inputs = (await bench.auditEvents(run)).filter(({ kind }) => kind === "user.input");
    expect(inputs).toHaveLength(1);

    const asked = bench.model.requests.length;
    const anew = await bench.client.fork(run.runId, { visit: 0 });
    await until(anew, "waiting-user");
    const begun = bench.model.requests[asked];
    expect([intentOf(begun), wordsIn(begun)]).toEqual(["start", ["Paint it."]]);
    await anew.cancel();

    next = [LOOK, ...LONG];
    const fork = await bench.client.fork(run.runId, { fromNode: "middle" });
    await until(fork, "waiting-user");
    await fork.raiseBudget({ add: { turns: 60 } });
    await expect(fork.result()).rejects.toMatchObject(FAILS);
    await expect((await bench.client.retry(fork.runId)).result()).resolves.toMatchObject({
      stepsCompleted: ["ask", "middle", "finish"],
      usage: { modelTurns: 15 },
    });
    expect(bench.model.requests.slice(asked + 1).flatMap((request) => wordsIn(request))).toEqual([]);
  });
});

describe("an answer's id", () => {
  test("belongs to one answer of a run; what is accepted is heard", async () => {
    const answers: ScriptedAnswer[] = [
      { content: "Which colour?" },
      { content: "Are you sure?" },
      { status: 401 },
      { content: "Which one then?" },
    ];
    const bench = await openBench((request) => answers.shift() ?? straightOn(request), {
      TEMPORAL_ADDRESS: server.address,
    });
    const run = await bench.start(twoNodePackage(), { input: "Blue." });
    const ask = (text: string, answerId: string) => run.answer({ nodeId: "ask", text, answerId });
    await until(run, "waiting-user");
    await expect(ask("Blue.", "input")).rejects.toMatchObject({
      code: "E_PRECONDITION_FAILED",
      message: expect.stringContaining("Give the answer another id.") as string,
    });
    await ask("Blue.", "mine");
    await eventually(async () => (await run.state()).question?.text === "Are you sure?");
    await ask("Blue.", "mine"); // the same answer again: nothing happens
    await expect(ask("Yes.", "mine")).rejects.toMatchObject({
      code: "E_PRECONDITION_FAILED",
      message: expect.stringContaining('"mine" is that of an earlier answer, at ask') as string,
    });
    const other = { nodeId: "ask", text: "Yes.", question: "1.1", answerId: "mine" };
    await expect(run.answer(other)).rejects.toMatchObject({
      message: "The question 1.1 has another answer already: this one was not taken.",
    });
    await ask("Yes.", "other");
    await expect(run.result()).rejects.toMatchObject(FAILS);

    // Temporal knows the ids of an execution only; the run knows its newest ones.
    await bench.client.retry(run.runId);
    await until(run, "waiting-user");
    await expect(ask("Green.", "mine")).rejects.toMatchObject({ code: "E_PRECONDITION_FAILED" });
    await ask("Green.", "third");
    await run.result();
    expect(wordsIn(bench.model.requests[4])).toEqual(["Blue.", "Blue.", "Yes.", "Green."]);
    const inputs = (await bench.auditEvents(run)).filter(({ kind }) => kind === "user.input");
    expect(inputs.map(({ id }) => id)).toEqual(["input", "mine", "other", "third"]);
  });
});
