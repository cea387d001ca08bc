import { randomUUID } from "node:crypto";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, inject, test } from "vitest";
import { verifyAuditLog } from "../../src/store/runs/audit-verify.js";
import { openStore } from "../../src/store/store.js";
import { gatePackage } from "../fakes/gate-package.js";
import { type Script, call, patch } from "../fakes/scripted-model.js";
import { twoNodePackage } from "../fakes/two-node-package.js";
import { STRAIGHT, intentOf, step, straightOn, wordsIn } from "../fakes/walk.js";
import { eventually } from "../fakes/eventually.js";
import { type Bench, newNamespace, openBench, until } from "./harness.js";
import { jsonOf, newShell, shellOf, strangerShell } from "./shell.js";

/** A script whose first answer is held back until it is let go. */
function heldBack(then: Script = straightOn): { readonly script: Script; readonly letGo: () => void } {
  let letGo: () => void = () => undefined;
  const gone = new Promise<void>((resolve) => {
    letGo = resolve;
  });
  const script: Script = async (request, index) => {
    if (index === 0) await gone;
    return typeof then === "function" ? then(request, index) : (then[index] ?? { status: 418 });
  };
  return { script, letGo };
}

/** A run that was paused while its first model call was under way, and has stopped after it. */
async function openPaused() {
  const { script, letGo } = heldBack();
  const bench = await openBench(script);
  const run = await bench.start(twoNodePackage());
  await eventually(() => bench.model.requests.length === 1);
  await run.pause();
  letGo();
  await eventually(async () => (await statusOf(bench, run))?.paused === true);
  return { bench, run };
}

async function statusOf(bench: Bench, run: { readonly runId: string }) {
  return (await bench.filesOf(run)).status.read();
}

describe("pause and resume", () => {
  test("a call under way is let end, the next turn is not begun; status says so with and without Temporal", async () => {
    const { bench, run } = await openPaused();
    await run.pause(); // nothing more happens
    expect(bench.model.requests).toHaveLength(1);
    expect((await bench.document(run)).frontmatter).toMatchObject({ currentNodeId: "middle" });
    expect(await run.state()).toMatchObject({ phase: "running", paused: true, currentNodeId: "middle" });

    const withTemporal = await shellOf(bench).run(["status", run.runId, "--json"]);
    expect(jsonOf(withTemporal)).toMatchObject({ phase: "running", paused: true });
    const without = await shellOf(bench, { TEMPORAL_ADDRESS: "" }).run(["status", run.runId]);
    expect(without.stdout).toContain(`Run ${run.runId}: running, paused`);
    expect(without.stdout).toContain(`interlock resume ${run.runId}`);
    expect(without.stderr).toContain(bench.store.taskQueue);

    expect(jsonOf(await shellOf(bench).run(["resume", run.runId, "--json"]))).toEqual({
      runId: run.runId,
      paused: false,
    });
    await expect(run.result()).resolves.toMatchObject({ phase: "completed" });
    const phases = (await bench.auditEvents(run)).filter(({ kind }) => kind === "run.phase");
    expect(phases.map(({ phase, paused }) => [phase, paused])).toEqual([
      ["running", true],
      ["running", undefined],
      ["completed", undefined],
    ]);
  });

  test("an answer is taken while the run is paused, and used once it goes on", async () => {
    const bench = await openBench([{ content: "Which colour?" }, ...STRAIGHT]);
    const run = await bench.start(twoNodePackage());
    await until(run, "waiting-user");
    await run.pause();
    await eventually(async () => (await statusOf(bench, run))?.paused === true);
    expect(await statusOf(bench, run)).toMatchObject({
      phase: "waiting-user",
      question: { text: "Which colour?" },
    });
    const answered = await shellOf(bench).run(["answer", run.runId, "Blue."]);
    const sentence = "Answered at ask. The run is paused. Let it go on with: interlock resume";
    expect(answered).toMatchObject({ code: 0, stdout: `${sentence} ${run.runId}\n` });
    await eventually(async () => (await run.state()).phase === "running");
    expect(await run.state()).toMatchObject({ paused: true });
    expect(bench.model.requests).toHaveLength(1);
    await run.resume();
    await run.result();
    expect(wordsIn(bench.model.requests[1])).toEqual(["Blue."]);
  });

  test("a paused run stays paused when its worker is another one", async () => {
    const { bench, run } = await openPaused();
    await bench.startAnotherWorker();
    expect(await run.state()).toMatchObject({ paused: true });
    expect(bench.model.requests).toHaveLength(1);
    await run.resume();
    await expect(run.result()).resolves.toMatchObject({ phase: "completed" });
  });

  test("a pause during the last turn keeps nothing from completing", async () => {
    const { script, letGo } = heldBack(() => ({
      calls: [patch({ variables: { set: { workflowStatus: "complete" } } })],
    }));
    const bench = await openBench(script);
    const run = await bench.start(twoNodePackage());
    await eventually(() => bench.model.requests.length === 1);
    await run.pause();
    letGo();
    await expect(run.result()).resolves.toMatchObject({ phase: "completed" });
  });

  test("a run that is over can be told nothing, and says so", async () => {
    const bench = await openBench(STRAIGHT);
    const run = await bench.start(twoNodePackage());
    await run.result();
    const refusal = { code: "E_PRECONDITION_FAILED", message: "The run is over: it is completed." };
    await expect(run.pause()).rejects.toMatchObject(refusal);
    await expect(run.resume()).rejects.toMatchObject(refusal);
    await expect(run.cancel()).rejects.toMatchObject(refusal);
    await expect(run.finish()).rejects.toMatchObject(refusal);
    await expect(run.raiseBudget({ add: { turns: 1 } })).rejects.toMatchObject(refusal);
    await expect(run.answer({ nodeId: "finish", text: "Well done." })).rejects.toMatchObject(refusal);
    await expect(bench.client.retry(run.runId)).rejects.toMatchObject({ code: "E_PRECONDITION_FAILED" });
    const outcome = await shellOf(bench).run(["pause", run.runId]);
    expect(outcome).toMatchObject({ code: 1, stdout: "" });
    expect(outcome.stderr).toContain(refusal.message);
  });
});

describe("cancel", () => {
  test("reaches a hanging model call; a retry completes the run", async () => {
    const script: Script = (request, index) => (index === 0 ? { hang: true } : straightOn(request));
    const bench = await openBench(script);
    const run = await bench.start(twoNodePackage());
    await eventually(() => bench.model.requests.length === 1);
    const cancelled = await shellOf(bench).run(["cancel", run.runId, "--json"]);
    expect(jsonOf(cancelled)).toEqual({ runId: run.runId, outcome: "cancelled" });
    await eventually(() => bench.model.aborted === 1);
    await expect(run.result()).rejects.toMatchObject({ code: "ENGINE_ABORTED" });
    expect(await statusOf(bench, run)).toMatchObject({ phase: "failed", fault: { code: "ENGINE_ABORTED" } });
    const retried = await bench.client.retry(run.runId);
    await expect(retried.result()).resolves.toMatchObject({ phase: "completed" });
  });

  test("a paused run can be cancelled", async () => {
    const { bench, run } = await openPaused();
    await run.cancel();
    await expect(run.result()).rejects.toMatchObject({ code: "ENGINE_ABORTED" });
    // A retry is a word to go on.
    await expect((await bench.client.retry(run.runId)).result()).resolves.toMatchObject({
      phase: "completed",
    });
  });

  test("a run that waits, or that nobody works on, is cancelled and goes on by a retry", async () => {
    const bench = await openBench((request) => {
      const [words, answer] = wordsIn(request);
      return words === "ask" && answer === undefined ? { content: "Which colour?" } : straightOn(request);
    });
    const asks = await bench.start(twoNodePackage(), { input: "ask" });
    const spends = await bench.start(twoNodePackage(), { budget: { run: { turns: 1 } } });
    await Promise.all([until(asks, "waiting-user"), until(spends, "waiting-user")]);
    await asks.resume(); // it is not paused: nothing happens
    expect(await asks.state()).toMatchObject({ phase: "waiting-user", paused: false });
    await bench.stopWorker();
    const begins = await bench.start(twoNodePackage(), { input: "begin" });
    const runs = [asks, spends, begins];
    await Promise.all(runs.map((run) => run.cancel()));
    await bench.startAnotherWorker();
    for (const run of runs) {
      await expect(run.result()).rejects.toMatchObject({ code: "ENGINE_ABORTED" });
      const state = await run.state();
      expect(state).toMatchObject({ phase: "failed", failure: { code: "ENGINE_ABORTED" } });
      expect(state).not.toHaveProperty("question");
      await bench.client.retry(run.runId);
    }
    expect((await until(asks, "waiting-user")).question).toEqual({ nodeId: "ask", text: "Which colour?" });
    await asks.answer({ nodeId: "ask", text: "Blue." });
    expect((await until(spends, "waiting-user")).question).toMatchObject({ code: "BUDGET_EXCEEDED" });
    await spends.raiseBudget({ add: { turns: 5 } });
    const ends = await Promise.all(runs.map((run) => run.result()));
    expect(ends.map(({ usage }) => usage.modelTurns)).toEqual([5, 3, 3]);
    const begun = bench.model.requests.filter((request) => wordsIn(request).includes("begin"));
    expect(begun.map((request) => intentOf(request))).toEqual(["start"]);
  });
});

describe("retry", () => {
  test("an answer that was taken before is not taken for the next question", async () => {
    const bench = await openBench((request) => {
      const words = wordsIn(request).join(" ");
      if (words === "ask") return { content: "Which colour?" };
      return words === "ask Blue." ? { content: "Which size?" } : straightOn(request);
    });
    const run = await bench.start(twoNodePackage(), { input: "ask" });
    await until(run, "waiting-user");
    const colour = { nodeId: "ask", text: "Blue.", answerId: "colour" };
    await run.answer(colour);
    while ((await until(run, "waiting-user")).question?.text !== "Which size?");
    await run.cancel();
    await expect(run.result()).rejects.toMatchObject({ code: "ENGINE_ABORTED" });
    await bench.client.retry(run.runId);
    await until(run, "waiting-user");
    await run.answer(colour); // sent again by a client that heard nothing
    await expect(run.answer({ ...colour, text: "Large." })).rejects.toMatchObject({
      code: "E_PRECONDITION_FAILED",
      message: expect.stringContaining('"colour" is that of an earlier answer') as string,
    });
    expect(await run.state()).toMatchObject({ phase: "waiting-user", question: { text: "Which size?" } });
    await run.answer({ ...colour, text: "Large.", answerId: "size" });
    await run.result();
    const said = bench.model.requests.map((request) => wordsIn(request).join(" "));
    expect(said).toContain("ask Blue. Large.");
    expect((await bench.auditEvents(run)).filter(({ kind }) => kind === "user.input")).toHaveLength(3);
  });

  test("a model that refused twice, then works: one run, one chain, the first words said once", async () => {
    const bench = await openBench([{ status: 401 }, { status: 401 }, ...STRAIGHT]);
    const run = await bench.start(twoNodePackage(), { input: "Paint it." });
    await expect(run.result()).rejects.toMatchObject({ code: "LLM_AUTH_FAILED" });
    const again = await bench.client.retry(run.runId);
    await expect(again.result()).rejects.toMatchObject({ code: "LLM_AUTH_FAILED" });
    const outcome = await shellOf(bench).run(["retry", run.runId, "--json"]);
    expect(outcome.stderr).toContain("Failed at ask: LLM_AUTH_FAILED:");
    expect(outcome.code).toBe(0);
    expect(jsonOf(outcome)).toMatchObject({
      runId: run.runId,
      workflowId: `run-${run.runId}`,
      phase: "completed",
      usage: { modelTurns: 3, toolCalls: 3, promptTokens: 300 },
      failedBefore: { nodeId: "ask", code: "LLM_AUTH_FAILED" },
    });
    expect(bench.model.requests.map((request) => wordsIn(request))).toEqual([
      ["Paint it."],
      ["Paint it."],
      ["Paint it."],
      [],
      [],
    ]);
    expect(intentOf(bench.model.requests[2])).toBe("resume");
    expect(intentOf(bench.model.requests[3])).toBe("continue");
    const events = await bench.auditEvents(run);
    expect(events.filter(({ kind }) => kind === "user.input")).toHaveLength(1);
    expect(events.filter(({ kind }) => kind === "run.phase").map(({ id, phase }) => [id, phase])).toEqual([
      ["1", "failed"],
      ["2", "running"],
      ["3", "failed"],
      ["4", "running"],
      ["5", "completed"],
    ]);
    expect(events.filter(({ kind }) => kind === "model.turn").map(({ id }) => id)).toEqual([
      "3.1",
      "4.1",
      "5.1",
    ]);
    const { logFile, boundaries } = await bench.filesOf(run);
    expect((await verifyAuditLog(logFile, await again.auditHead())).findings).toEqual([]);
    expect((await boundaries.all()).map(({ visit, nodeId, next }) => [visit, nodeId, next])).toEqual([
      [0, "", "ask"],
      [3, "ask", "middle"],
      [4, "middle", "finish"],
      [5, "finish", "finish"],
    ]);
  });

  test("what the user said in the visit that was cut short is said again, after any number of failures", async () => {
    const bench = await openBench([
      { content: "Which colour?" },
      { status: 401 },
      { status: 401 },
      { content: "Are you sure?" },
      { status: 401 },
      ...STRAIGHT,
    ]);
    const run = await bench.start(twoNodePackage(), { input: "Paint it." });
    await until(run, "waiting-user");
    await run.answer({ nodeId: "ask", text: "Blue." });
    await expect(run.result()).rejects.toMatchObject({ code: "LLM_AUTH_FAILED" });
    await expect((await bench.client.retry(run.runId)).result()).rejects.toMatchObject({
      code: "LLM_AUTH_FAILED",
    });
    const third = await bench.client.retry(run.runId);
    await until(third, "waiting-user");
    await third.answer({ nodeId: "ask", text: "Yes." });
    await expect(third.result()).rejects.toMatchObject({ code: "LLM_AUTH_FAILED" });
    await (await bench.client.retry(run.runId)).result();
    expect(bench.model.requests.slice(0, 6).map((request) => wordsIn(request))).toEqual([
      ["Paint it."],
      ["Paint it.", "Blue."],
      ["Paint it.", "Blue."],
      ["Paint it.", "Blue."],
      ["Paint it.", "Blue.", "Yes."],
      ["Paint it.", "Blue.", "Yes."],
    ]);
    expect(wordsIn(bench.model.requests[6])).toEqual([]);
    const inputs = (await bench.auditEvents(run)).filter(({ kind }) => kind === "user.input");
    expect(inputs).toHaveLength(3);
  });

  test("a run that reached its limits goes on with larger ones, and keeps counting", async () => {
    const look = { calls: [call("fs_list", { path: "@pkg" })] };
    const bench = await openBench([look, look, look, look, ...STRAIGHT]);
    const run = await bench.start(twoNodePackage(), { limits: { maxTurnsPerRun: 2, maxTurnsPerNode: 2 } });
    await expect(run.result()).rejects.toMatchObject({ code: "ENGINE_MAX_TURNS_EXCEEDED" });
    const same = await bench.client.retry(run.runId);
    await expect(same.result()).rejects.toMatchObject({ code: "ENGINE_MAX_TURNS_EXCEEDED" });
    expect(bench.model.requests).toHaveLength(2);
    const outcome = await shellOf(bench).run([
      "retry",
      run.runId,
      "--max-turns-per-run",
      "9",
      "--max-turns-per-node",
      "9",
      "--json",
    ]);
    expect(jsonOf(outcome)).toMatchObject({ phase: "completed", usage: { modelTurns: 7, toolCalls: 7 } });
  });

  test("the graph state of a story goes on, and so do its snapshots", async () => {
    const bench = await openBench([
      { calls: [step("build", "qa")] },
      { status: 401 },
      { calls: [call("state_record", { gateDecisions: { qaGate: "PASS" } }), step("qa", "finish")] },
      { calls: [patch({ stepsCompleted: { append: ["finish"] } })] },
    ]);
    const run = await bench.start(gatePackage(), { storyId: "wrkf-7", evaluateConditions: true });
    await expect(run.result()).rejects.toMatchObject({ code: "LLM_AUTH_FAILED" });
    await (await bench.client.retry(run.runId)).result();
    const { graphState } = await bench.filesOf(run);
    expect((await graphState.snapshots()).map(({ visit, nodeId }) => [visit, nodeId])).toEqual([
      [1, "build"],
      [3, "qa"],
      [4, "finish"],
    ]);
    expect(await run.graphState()).toMatchObject({
      storyId: "wrkf-7",
      gateDecisions: { qaGate: "PASS" },
      errors: [{ code: "LLM_AUTH_FAILED", recoverable: false }],
    });
    expect((await run.graphState())?.stateHistory).toHaveLength(3);
  });

  test("an open run and an unknown one are refused", async () => {
    const bench = await openBench([{ content: "Well?" }]);
    const run = await bench.start(twoNodePackage());
    await until(run, "waiting-user");
    await expect(bench.client.retry(run.runId)).rejects.toMatchObject({
      code: "E_PRECONDITION_FAILED",
      message: expect.stringContaining("is running") as string,
    });
    await expect(bench.client.retry(randomUUID())).rejects.toMatchObject({ code: "E_RUN_NOT_FOUND" });
    await run.cancel();
  });
});

describe("commands about a run that nobody knows", () => {
  const COMMANDS = [
    ["status"],
    ["state"],
    ["answer", "x"],
    ["audit", "verify"],
    ["pause"],
    ["resume"],
    ["cancel"],
    ["finish"],
    ["budget", "--add-turns", "1"],
    ["retry"],
    ["restore"],
    ["fork", "--from-node", "ask"],
    ["export"],
    ["replay"],
  ];

  test("each ends with exit code 2 and where to look, and starts no server", async () => {
    const shell = await newShell();
    await openStore(join(shell.dir, "store"));
    const unknown = randomUUID();
    const all = COMMANDS.map(([command = "", ...rest]) =>
      command === "answer" ? ["answer", unknown, ...rest] : [command, ...rest, unknown],
    );
    const outcomes = await shell.runEach(all);
    const sentence = `There is no run "${unknown}" in this store. See: interlock runs\n`;
    expect(outcomes.map((outcome, index) => [all[index]?.[0], outcome])).toEqual(
      all.map(([command]) => [command, { code: 2, stdout: "", stderr: sentence }]),
    );
    const made = await readdir(join(shell.dir, "store"));
    expect(made.filter((name) => name.startsWith("temporal"))).toEqual([]);
  });

  test("with a Temporal of one's own as well", async () => {
    const bench = await openBench([]);
    const unknown = randomUUID();
    const all = [["status"], ["pause"], ["retry"], ["replay"]];
    const there = { TEMPORAL_NAMESPACE: await newNamespace(bench) };
    const outcomes = await shellOf(bench, there).runEach(all.map(([command = ""]) => [command, unknown]));
    for (const outcome of outcomes) {
      expect(outcome).toMatchObject({ code: 2, stdout: "" });
      expect(outcome.stderr).toContain(`There is no run "${unknown}" in this store.`);
    }
    const stranger = await strangerShell(bench);
    const elsewhere = stranger.with({ ...stranger.environment, ...there });
    for (const command of all) {
      const { code, stderr } = await elsewhere.run([...command, unknown]);
      expect([code, stderr]).toEqual([
        2,
        `There is no run "${unknown}" in the namespace "${there.TEMPORAL_NAMESPACE}" of the Temporal at ${inject("temporalAddress")}. See: interlock runs\n`,
      ]);
    }
  });
});

describe("a queue that nobody polls", () => {
  test("is named by status, and the run goes on when a worker is back", { tags: "slow" }, async () => {
    const bench = await openBench([{ content: "Well?" }, ...STRAIGHT]);
    const run = await bench.start(twoNodePackage());
    await until(run, "waiting-user");
    await bench.stopWorker();
    const status = await shellOf(bench).run(["status", run.runId, "--json"]);
    expect(status.stderr).toContain(`No worker polls the task queue "${bench.store.taskQueue}"`);
    expect(jsonOf(status)).toMatchObject({ phase: "waiting-user", question: { text: "Well?" } });
    await bench.startAnotherWorker();
    await run.answer({ nodeId: "ask", text: "Go." });
    await expect(run.result()).resolves.toMatchObject({ phase: "completed" });
  });

  test("two stores on one server keep apart", async () => {
    const [one, other] = await Promise.all([openBench(straightOn), openBench(straightOn)]);
    const runs = await Promise.all([one.start(twoNodePackage()), other.start(twoNodePackage())]);
    await Promise.all(runs.map((run) => run.result()));
    expect(one.model.requests).toHaveLength(3);
    expect(other.model.requests).toHaveLength(3);
    expect(await one.store.runs.findRun(runs[1].runId)).toMatchObject({ ok: false });
  });
});
