import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { InterlockError } from "../../src/client/client.js";
import { type ScriptedAnswer, call } from "../fakes/scripted-model.js";
import { twoNodePackage } from "../fakes/two-node-package.js";
import { STRAIGHT } from "../fakes/walk.js";
import { eventually } from "../fakes/eventually.js";
import { openBench, temporaryDirectory, until, untilAsked, writeTree } from "./harness.js";
import { jsonOf, shellOf } from "./shell.js";

const LOOK: ScriptedAnswer = { calls: [call("fs_list", { path: "@pkg" })] };

/** A settings file in which a thousand tokens in cost 1 and a thousand out cost 10: a turn costs 0.2. */
async function withPrices(more: object = {}): Promise<Record<string, string>> {
  const dir = await temporaryDirectory();
  onTestFinished(() => rm(dir, { recursive: true, force: true }));
  const path = join(dir, "settings.json");
  await writeFile(
    path,
    JSON.stringify({ prices: { scripted: { inputPerMillion: 1_000, outputPerMillion: 10_000, ...more } } }),
  );
  return { INTERLOCK_SETTINGS: path };
}

interface Report {
  readonly phase: string;
  readonly runId: string;
}

describe("a budget", () => {
  test("of turns per run: the run waits for a decision, and goes on when there is room", async () => {
    const bench = await openBench(STRAIGHT);
    const run = await bench.start(twoNodePackage(), { budget: { run: { turns: 1 } } });
    const waiting = await until(run, "waiting-user");
    expect(waiting.question).toEqual({
      nodeId: "middle",
      text: "The budget of this run is used up: 1 of 1 model turns. Raise it with --add-turns to let the run go on, or cancel it.",
      code: "BUDGET_EXCEEDED",
      reached: { scope: "run", unit: "turns", limit: 1 },
    });
    await expect(run.answer({ nodeId: "middle", text: "More!" })).rejects.toThrow(
      "waits for its budget to be raised, not for an answer",
    );
    const shell = shellOf(bench);
    const [answered, tokens, status] = await Promise.all([
      shell.run(["answer", run.runId, "More!"]),
      shell.run(["budget", run.runId, "--add-tokens", "10", "--json"]),
      shell.run(["status", run.runId]),
    ]);
    expect(answered.code).toBe(1);
    expect(answered.stderr).toContain(`raise it with interlock budget ${run.runId} --add-turns`);
    expect(tokens.code).toBe(1);
    expect(tokens.stderr).toContain("There is no limit on tokens per run that could be raised.");
    expect(jsonOf(tokens)).toMatchObject({ ok: false, error: { message: tokens.stderr.trim() } });
    expect(status.stdout).toContain(`raise it with interlock budget ${run.runId} --add-turns`);

    const raised = await shell.run(["budget", run.runId, "--add-turns", "1", "--json"]);
    expect(jsonOf(raised)).toEqual({ runId: run.runId, budget: { run: { turns: 2 } } });
    await eventually(async () => {
      const { phase, usage } = await run.state();
      return phase === "waiting-user" && usage.modelTurns === 2;
    });
    expect(await run.raiseBudget({ scope: "run", add: { turns: 5 } })).toEqual({ run: { turns: 7 } });
    await expect(run.result()).resolves.toMatchObject({ usage: { modelTurns: 3 } });
    const budgets = (await bench.auditEvents(run))
      .filter(({ kind }) => kind === "run.phase")
      .map(({ phase, budget }) => [phase, budget]);
    expect(budgets).toEqual([
      ["waiting-user", { run: { turns: 1 } }],
      ["running", { run: { turns: 2 } }],
      ["waiting-user", { run: { turns: 2 } }],
      ["running", { run: { turns: 7 } }],
      ["completed", { run: { turns: 7 } }],
    ]);
  });

  test("per run and per node: where room in one shows that the other is used up, the question says so", async () => {
    const bench = await openBench([LOOK, ...STRAIGHT]);
    const budget = { run: { turns: 1 }, node: { turns: 1 } };
    const run = await bench.start(twoNodePackage(), { budget });
    expect((await until(run, "waiting-user")).question?.text).toContain("of this run is used up: 1 of 1 ");
    await run.raiseBudget({ scope: "run", add: { turns: 9 } });
    await eventually(async () =>
      ((await run.state()).question?.text ?? "").includes("of this node visit is used up: 1 of 1 "),
    );
    await run.raiseBudget({ add: { turns: 9 } });
    await expect(run.result()).resolves.toMatchObject({ phase: "completed" });
  });

  test("of tokens per node: each visit has its own", async () => {
    const bench = await openBench([LOOK, ...STRAIGHT]);
    const run = await bench.start(twoNodePackage(), { budget: { node: { tokens: 110 } } });
    const waiting = await until(run, "waiting-user");
    expect(waiting.question?.text).toContain("The budget of this node visit is used up: 110 of 110 tokens.");
    await expect(run.raiseBudget({ scope: "run", add: { tokens: 1 } })).rejects.toThrow(
      "There is no limit on tokens per run",
    );
    expect(await run.raiseBudget({ add: { tokens: 1 } })).toEqual({ node: { tokens: 111 } });
    await expect(run.result()).resolves.toMatchObject({
      usage: { modelTurns: 4, promptTokens: 400, completionTokens: 40 },
    });
  });

  test("of cost, by the prices in the settings file; usage.cost is in every report", async () => {
    const bench = await openBench(STRAIGHT, await withPrices());
    const run = await bench.start(twoNodePackage(), { budget: { run: { cost: 0.4 } } });
    const waiting = await until(run, "waiting-user");
    expect(waiting.question?.text).toContain("used up: 0.4000 of 0.4 cost");
    expect(waiting.usage.cost).toBeCloseTo(0.4);
    await untilAsked(bench, run);
    const status = await shellOf(bench, { TEMPORAL_ADDRESS: "" }).run(["status", run.runId, "--json"]);
    expect(jsonOf(status)).toMatchObject({
      phase: "waiting-user",
      question: { code: "BUDGET_EXCEEDED" },
      budget: { run: { cost: 0.4 } },
    });
    const inbox = () => shellOf(bench).run(["inbox", "--project", bench.projectRoot]);
    await eventually(async () => (await inbox()).stdout !== ""); // Temporal lists it a moment later
    expect((await inbox()).stderr).toBe(
      "Raise a budget with: interlock budget <run> --add-turns|--add-tokens|--add-cost <n>\n",
    );
    const raised = await shellOf(bench).run(["budget", run.runId, "--add-cost", "0.25"]);
    expect(raised).toMatchObject({ code: 0, stdout: "The budget is raised.\n" });
    const { usage } = await run.result();
    expect(usage.cost).toBeCloseTo(0.6);
    const shown = await shellOf(bench).run(["status", run.runId]);
    expect(shown.stdout).toContain("300+30 tokens, cost 0.6000");
  });

  test("binds where the server counts no tokens, and reports show that they are estimated", async () => {
    const uncounted = [LOOK, ...STRAIGHT].map((answer) => ({ ...answer, usage: null }));
    const bench = await openBench(uncounted, { ...(await withPrices()), INTERLOCK_MODEL_STREAM: "true" });
    const tokens = await bench.start(twoNodePackage(), { budget: { run: { tokens: 500, cost: 1_000 } } });
    const waiting = await until(tokens, "waiting-user");
    expect(waiting.question?.text).toMatch(/used up: \d{3,5} of 500 tokens\./);
    expect(waiting.usage).toMatchObject({ modelTurns: 1, estimated: true });
    const shown = await shellOf(bench).run(["status", tokens.runId]);
    expect(shown.stdout).toMatch(/ ~\d{3,5}\+\d+ tokens, cost ~\d+\.\d{4}\n/);
    const { promptTokens, completionTokens, cost } = waiting.usage;
    expect(cost).toBeCloseTo((promptTokens * 1_000 + completionTokens * 10_000) / 1_000_000);
    await tokens.raiseBudget({ add: { tokens: 100_000 } });
    await expect(tokens.result()).resolves.toMatchObject({ usage: { modelTurns: 4, estimated: true } });
    const status = await shellOf(bench, { TEMPORAL_ADDRESS: "" }).run(["status", tokens.runId, "--json"]);
    expect(jsonOf(status)).toMatchObject({ usage: { estimated: true } });
    const turns = (await bench.auditEvents(tokens)).filter(({ kind }) => kind === "model.turn");
    expect(turns.map(({ estimated }) => estimated)).toEqual([true, true, true, true]);
  });

  test("counts what came from a provider's cache, and prices it on its own", async () => {
    const usage = { prompt_tokens: 100, completion_tokens: 10, prompt_tokens_details: { cached_tokens: 60 } };
    const cached = STRAIGHT.map((answer) => ({ ...answer, usage }));
    const bench = await openBench(cached, await withPrices({ cachedInputPerMillion: 100 }));
    const run = await bench.start(twoNodePackage());
    const { usage: used } = await run.result();
    expect(used).toMatchObject({ promptTokens: 300, cachedPromptTokens: 180 });
    expect(used.cost).toBeCloseTo(3 * (0.04 + 0.006 + 0.1));
    const shown = await shellOf(bench).run(["status", run.runId]);
    expect(shown.stdout).toContain("300+30 tokens (180 cached), cost 0.4380");
  });

  test("of cost for a model without a price fails with what is missing", async () => {
    const bench = await openBench(STRAIGHT);
    const run = await bench.start(twoNodePackage(), { budget: { node: { cost: 1 } } });
    await expect(run.result()).rejects.toMatchObject({
      code: "E_PRECONDITION_FAILED",
      message: expect.stringMatching(
        /the model scripted has no price\. Name it under "prices" .*a worker that runs reads it when it is started again/,
      ) as string,
    });
    expect(bench.model.requests).toHaveLength(0);
  });

  test("once raised stays raised: through a pause, a failure and a retry, and no raise counts twice", async () => {
    const bench = await openBench([LOOK, LOOK, { status: 401 }, { content: "Go on?" }, ...STRAIGHT]);
    const run = await bench.start(twoNodePackage(), { budget: { run: { turns: 1 } } });
    await until(run, "waiting-user");
    await run.pause();
    const files = await bench.filesOf(run);
    await eventually(async () => (await files.status.read())?.paused === true);
    expect(await files.status.read()).toMatchObject({ question: { code: "BUDGET_EXCEEDED" } });
    const raise = { raiseId: "raise-1", add: { turns: 9 } };
    await run.raiseBudget(raise);
    await eventually(async () => (await run.state()).phase === "running");
    expect(bench.model.requests).toHaveLength(1);
    await run.resume();
    await expect(run.result()).rejects.toMatchObject({ code: "LLM_AUTH_FAILED" });
    await bench.stopWorker();
    const retried = await bench.client.retry(run.runId);
    const beforeItIsOpen = retried.raiseBudget({ add: { turns: 1 } });
    await bench.startAnotherWorker();
    expect(await beforeItIsOpen).toEqual({ run: { turns: 11 } });
    const { question } = await until(retried, "waiting-user");
    expect(await retried.raiseBudget(raise)).toEqual({ run: { turns: 11 } });
    await retried.answer({ nodeId: question?.nodeId ?? "", text: "Yes." });
    await expect(retried.result()).resolves.toMatchObject({ usage: { modelTurns: 6 } });
    expect(await retried.state()).toMatchObject({ budget: { run: { turns: 11 } } });
  });

  test("on the command line: exit code 3 with the question, nothing is read as an answer", async () => {
    const bench = await openBench([LOOK, ...STRAIGHT]);
    const shell = shellOf(bench);
    await writeTree(join(shell.dir, "package"), twoNodePackage());
    const outcome = await shell.run(
      ["run", "package", "--project", bench.projectRoot, "--max-node-turns", "1", "--json"],
      "More, please.\n",
    );
    expect(outcome.code).toBe(3);
    const report = jsonOf(outcome) as Report;
    expect(report).toMatchObject({ phase: "waiting-user", question: { code: "BUDGET_EXCEEDED" } });
    const wrong = await Promise.all([
      shell.run(["budget", report.runId]),
      shell.run(["budget", report.runId, "--add-turns", "0"]),
      shell.run(["budget", report.runId, "--add-cost", "-1"]),
      shell.run(["budget", report.runId, "--add-turns", "1", "--scope", "all"]),
    ]);
    expect(wrong.map(({ code }) => code)).toEqual([2, 2, 2, 2]);
    await bench.client.handle(report.runId).raiseBudget({ add: { turns: 1 } });
    await expect(bench.client.handle(report.runId).result()).resolves.toMatchObject({ phase: "completed" });
  });

  test("that is none is refused before anything is started", async () => {
    const bench = await openBench([]);
    for (const limits of [{ turns: 0 }, { turns: 1.5 }, { tokens: Number.NaN }, { cost: -1 }, { hours: 1 }]) {
      await expect(bench.start(twoNodePackage(), { budget: { run: limits } })).rejects.toThrow(
        InterlockError,
      );
    }
    expect(await bench.store.runs.listAllRuns()).toEqual([]);
  });
});
