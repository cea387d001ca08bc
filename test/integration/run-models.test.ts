// @module-tag slow
import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, inject, onTestFinished, test } from "vitest";
import { type RunView, followRun } from "../../src/cli/follow/follow.js";
import { type Standing, waitingLines } from "../../src/cli/report/waiting-words.js";
import type { RunHandle } from "../../src/client/client.js";
import { loadConfig } from "../../src/config.js";
import { startWorker } from "../../src/worker.js";
import { eventually } from "../fakes/eventually.js";
import { firstWay, nestedPackage, nodesAsked } from "../fakes/nested-package.js";
import { type Script, ScriptedModel } from "../fakes/scripted-model.js";
import { twoNodePackage } from "../fakes/two-node-package.js";
import { nodeOf, straightOn, wordsIn } from "../fakes/walk.js";
import { type Bench, openBench, temporaryDirectory, until, writeTree } from "./harness.js";
import { MAIN, jsonOf, newShell, shellOf } from "./shell.js";

type AttentiveScript = Parameters<typeof ScriptedModel.start>[0];

async function endpoint(script: AttentiveScript): Promise<ScriptedModel> {
  const model = await ScriptedModel.start(script);
  onTestFinished(() => model.close());
  return model;
}

/** A further worker of the bench's store, with another configuration. */
async function anotherWorker(bench: Bench, environment: Record<string, string>) {
  const config = loadConfig({ ...bench.environment, ...environment });
  const worker = await startWorker(config, {
    connection: { address: inject("temporalAddress") },
    namespace: "default",
    store: bench.store,
    workflowBundle: { codePath: inject("workflowBundle") },
  });
  let stopped: Promise<void> | undefined;
  const stop = () => (stopped ??= worker.shutdown());
  onTestFinished(stop);
  return { stop };
}

/** A settings file of these settings, as a worker is told of it. */
async function settings(bench: Bench, value: object): Promise<Record<string, string>> {
  const path = join(bench.dir, `settings-${randomUUID()}.json`);
  await writeFile(path, JSON.stringify(value));
  return { INTERLOCK_SETTINGS: path };
}

async function reopen(
  script: Script,
  value: (model: ScriptedModel) => object,
  more: Record<string, string> = {},
) {
  const other = await endpoint(straightOn);
  const dir = await temporaryDirectory();
  await writeFile(join(dir, "settings.json"), JSON.stringify(value(other)));
  const bench = await openBench(script, { INTERLOCK_SETTINGS: join(dir, "settings.json"), ...more });
  return { bench, other };
}

const MANY = 4;
const PRICE = { inputPerMillion: 1, outputPerMillion: 1 };

describe("a run's model", () => {
  test("is asked at its endpoint alone, whichever of two workers with other models takes a turn", async () => {
    const bench = await openBench(straightOn);
    const other = await endpoint(straightOn);
    await anotherWorker(bench, { OPENAI_BASE_URL: other.baseUrl, INTERLOCK_MODEL: "other" });
    const ours = { model: "scripted", baseUrl: bench.model.baseUrl };
    const theirs = { model: "other", baseUrl: other.baseUrl };
    const runs: RunHandle[] = [];
    for (let index = 0; index < MANY; index += 1) {
      runs.push(await bench.start(twoNodePackage(), { model: index % 2 === 0 ? ours : theirs }));
    }
    for (const run of runs) expect(await run.result()).toMatchObject({ phase: "completed" });
    expect(bench.model.requests.map(({ model }) => model)).toEqual(Array(6).fill("scripted"));
    expect(other.requests.map(({ model }) => model)).toEqual(Array(6).fill("other"));
  });

  test("that is nobody's choice is that of the worker which opens the run, and stays so", async () => {
    const bench = await openBench(straightOn);
    const other = await endpoint(straightOn);
    await anotherWorker(bench, { OPENAI_BASE_URL: other.baseUrl, INTERLOCK_MODEL: "other" });
    for (let index = 0; index < MANY; index += 1) {
      const before = [bench.model.requests.length, other.requests.length];
      const run = await bench.start(twoNodePackage());
      await run.result();
      const after = [
        bench.model.requests.length - (before[0] ?? 0),
        other.requests.length - (before[1] ?? 0),
      ];
      expect(after.toSorted((a, b) => a - b)).toEqual([0, 3]);
    }
  });

  test("that is nobody's choice is that of the runs below as well, whichever worker opens them", async () => {
    const bench = await openBench((request) =>
      nodeOf(request) === "plan" && !wordsIn(request).includes("Go on.")
        ? { content: "Shall it go on?" }
        : firstWay(request),
    );
    const other = await endpoint(firstWay);
    const end = { type: "end" };
    const nested = nestedPackage({
      main: { nodes: { plan: {}, parts: { type: "subworkflow", workflow: "part" }, done: end } },
      part: { nodes: { draft: {}, ready: end } },
    });
    const run = await bench.start(nested, { workflowRef: "main" });
    await until(run, "waiting-user");
    await bench.stopWorker();
    const entry = { model: "scripted", baseUrl: bench.model.baseUrl, apiKeyVariable: "FIRST_KEY" };
    await anotherWorker(bench, {
      ...(await settings(bench, { models: { first: entry } })),
      FIRST_KEY: "test-key",
      OPENAI_BASE_URL: other.baseUrl,
      INTERLOCK_MODEL: "other",
    });
    await run.answer({ nodeId: "plan", text: "Go on." });
    await run.result();
    expect(other.requests).toEqual([]);
    expect(nodesAsked(bench.model.requests)).toEqual(["plan", "plan", "draft", "ready", "done"]);
  });

  test("whose key one worker lacks is left to the one that has it", async () => {
    const guarded = await endpoint((request, _index, { apiKey }) =>
      apiKey === "the-right-key-0123" ? straightOn(request) : { status: 401 },
    );
    const bench = await openBench(straightOn);
    const fast = { model: "quick", baseUrl: guarded.baseUrl, apiKeyVariable: "FAST_KEY" };
    const named = await settings(bench, { models: { fast } });
    await bench.stopWorker();
    await anotherWorker(bench, named);
    await anotherWorker(bench, { ...named, FAST_KEY: "the-right-key-0123" });
    for (let index = 0; index < MANY; index += 1) {
      const run = await bench.start(twoNodePackage(), { model: { name: "fast" } });
      expect(await run.result()).toMatchObject({ phase: "completed" });
      expect((await run.state()).model).toMatchObject({
        chain: [{ name: "fast", model: "quick", keyed: true }],
        answeredBy: { name: "fast", model: "quick" },
      });
    }
    expect(guarded.requests).toHaveLength(3 * MANY);
    expect(bench.model.requests).toEqual([]);
    const log = JSON.stringify(
      await (await bench.start(twoNodePackage(), { model: { name: "fast" } })).history(),
    );
    expect(log).not.toContain("the-right-key-0123");
  });

  test("at a common endpoint that wants a key is left to the worker that has one", async () => {
    const guarded = await endpoint((request, _index, { apiKey }) =>
      apiKey === "the-right-key-0123" ? straightOn(request) : { status: 401 },
    );
    const bench = await openBench(straightOn);
    await bench.stopWorker();
    const common = { OPENAI_BASE_URL: guarded.baseUrl };
    const keyless = await anotherWorker(bench, { ...common, OPENAI_API_KEY: "" });
    const run = await bench.start(twoNodePackage());
    await eventually(async () => (await run.state()).model?.missing !== undefined);
    expect((await run.state()).model?.missing).toMatch(
      /leaves this to another one: it has no key for the model scripted at 127\.0\.0\.1:\d+/,
    );
    await keyless.stop(); // its refusals in a row are counted, and nobody knows how long another worker takes to come
    await anotherWorker(bench, { ...common, OPENAI_API_KEY: "the-right-key-0123" });
    expect(await run.result()).toMatchObject({ phase: "completed" });
  });

  test("that no worker has any more is waited for, visibly, and asked when one comes", async () => {
    const bench = await openBench([{ content: "Which colour?" }]);
    const slow = await endpoint(straightOn);
    const run = await bench.start(twoNodePackage());
    await until(run, "waiting-user");
    await bench.stopWorker();
    const other = await anotherWorker(bench, { OPENAI_BASE_URL: slow.baseUrl });
    await run.answer({ nodeId: "ask", text: "Blue." });
    await eventually(async () => (await run.state()).model?.missing !== undefined);
    const state = await run.state();
    expect(state).toMatchObject({ phase: "running" });
    expect(state.model?.missing).toMatch(/it has no endpoint for the model scripted at 127\.0\.0\.1/);
    const shown = await shellOf(bench, { OPENAI_BASE_URL: slow.baseUrl }).run(["status", run.runId]);
    expect(shown.stdout).toContain("waits       The worker");
    const watched = await firstWait(run, ({ missing }) => missing !== undefined);
    expect(waitingLines(watched).at(-1)).toMatch(/has the run's model: The worker/);
    const shell = shellOf(bench, { OPENAI_BASE_URL: slow.baseUrl });
    const watching = spawn(process.execPath, [MAIN, "watch", run.runId], { env: shell.environment });
    let said = "";
    watching.stderr.on("data", (chunk: Buffer) => (said += chunk.toString("utf8")));
    await eventually(() => said.includes("waiting for a worker that has the run's model: The worker"));
    watching.kill("SIGKILL");
    expect(slow.requests).toEqual([]);
    await other.stop();
    await run.cancel();
    await bench.startAnotherWorker();
    await expect(run.result()).rejects.toMatchObject({ code: "ENGINE_ABORTED" });
  });
});

/** What somebody who follows the run sees first of this kind. */
async function firstWait(run: RunHandle, isIt: (standing: Standing) => boolean): Promise<Standing> {
  let found: Standing | undefined;
  const stop = new AbortController();
  const view: RunView = {
    show: () => {},
    wait: (standing) => {
      if (isIt(standing)) found ??= standing;
    },
    ask: () => Promise.resolve(undefined),
    close: () => {},
  };
  const source = { live: () => Promise.resolve(undefined), nobody: () => Promise.resolve("nobody") };
  const following = followRun(run, view, stop.signal, { source }).catch((error: unknown) => {
    if (!stop.signal.aborted) throw error;
  });
  await eventually(() => found !== undefined);
  stop.abort();
  await following;
  if (found === undefined) throw new Error("Nothing was shown.");
  return found;
}

describe("a base URL that a run names", () => {
  test("and no worker has, gets nothing: no word, no key; and nothing is made", async () => {
    const bench = await openBench(straightOn);
    const thief = await endpoint(straightOn);
    const run = await bench.start(twoNodePackage(), {
      model: { model: "scripted", baseUrl: thief.baseUrl },
    });
    await eventually(async () => (await run.state()).progress.length > 0);
    expect((await run.state()).progress.at(-1)?.text).toMatch(/it has no endpoint for the model scripted at/);
    await expect(run.result()).rejects.toMatchObject({
      code: "LLM_AUTH_FAILED",
      message: expect.stringContaining("Nobody took it") as string,
    });
    expect(thief.requests).toEqual([]);
    expect(await bench.store.runs.findRun(run.runId)).toMatchObject({ ok: false });
    expect(existsSync(join(bench.projectRoot, "artifacts"))).toBe(false);
  });

  test("in another spelling is the worker's own, and the worker's key goes with it", async () => {
    const seen: string[] = [];
    const model = await endpoint((request, _index, { apiKey }) => {
      seen.push(apiKey);
      return straightOn(request);
    });
    const bench = await openBench(straightOn, { OPENAI_BASE_URL: `${model.baseUrl}/` });
    const baseUrl = model.baseUrl.replace("http:", "HTTP:");
    const refused = bench.start(twoNodePackage(), { model: { model: "m", baseUrl } });
    await expect(refused).rejects.toMatchObject({ code: "E_SCHEMA_VALIDATION" });
    const spelled = `${model.baseUrl}/x/../`;
    const run = await bench.start(twoNodePackage(), { model: { model: "m", baseUrl: spelled } });
    await run.result();
    expect(seen).toEqual(Array(3).fill("test-key"));
  });

  test.each([
    "http://user:secret@127.0.0.1:1/v1",
    "http://127.0.0.1:1/v1?key=secret",
    "http://127.0.0.1:1/v1#x",
    "http:\\\\127.0.0.1\\v1",
    "file:///etc/passwd",
    "http://",
  ])("as %s is refused before anything is started", async (baseUrl) => {
    const bench = await openBench([]);
    await expect(bench.start(twoNodePackage(), { model: { baseUrl } })).rejects.toMatchObject({
      code: "E_SCHEMA_VALIDATION",
      message: expect.stringContaining("model.baseUrl") as string,
    });
  });
});

describe("fallbacks", () => {
  test("the next model answers where the first has failed for good: for the visit, at its price, in every record", async () => {
    const { bench, other } = await reopen(
      [{ status: 401 }, { status: 404 }, { status: 429, body: QUOTA }],
      (model) => ({
        models: { spare: { model: "spare-1", baseUrl: model.baseUrl } },
        prices: { scripted: { inputPerMillion: 9, outputPerMillion: 9 }, spare: PRICE },
      }),
    );
    const run = await bench.start(twoNodePackage(), {
      model: { fallbacks: ["spare"] },
      budget: { run: { cost: 100 } },
    });
    const { usage } = await run.result();
    expect(bench.model.requests).toHaveLength(3); // each visit begins with the first
    expect(other.requests).toHaveLength(3);
    expect(usage).toMatchObject({ modelTurns: 3, promptTokens: 300, completionTokens: 30 });
    expect(usage.cost).toBeCloseTo(330 / 1_000_000, 12);
    const answeredBy = { name: "spare", model: "spare-1" };
    const state = await run.state();
    expect(state.model).toMatchObject({ chain: [{ model: "scripted" }, { name: "spare" }], answeredBy });
    expect(state.progress.map(({ text }) => text).join("\n")).toMatch(
      /scripted at .* failed, LLM_AUTH_FAILED: .*\nasking spare \(spare-1 at .*\) instead/,
    );
    const turns = (await bench.auditEvents(run)).filter(({ kind }) => kind === "model.turn");
    expect(turns).toMatchObject([{ answeredBy }, { answeredBy }, { answeredBy }]);
    const [, entry] = await (await bench.filesOf(run)).conversation("visit-1").entries();
    expect(entry).toMatchObject({ type: "assistant", answeredBy });
    expect((await run.history()).events?.flatMap(turnSummary)).toEqual([
      "model turn 1 · ask · scripted",
      "model turn 1 · ask · spare-1",
      "model turn 1 · middle · scripted",
      "model turn 1 · middle · spare-1",
      "model turn 1 · finish · scripted",
      "model turn 1 · finish · spare-1",
    ]);
    const shown = await shellOf(bench).run(["status", run.runId]);
    expect(shown.stdout).toContain("answered by spare (spare-1)");
    expect(jsonOf(await shellOf(bench).run(["status", run.runId, "--json"]))).toMatchObject({
      model: { answeredBy },
    });
  });

  test("a model that fails in passing is asked as often as the limit says, and not again in the visit", async () => {
    const { bench, other } = await reopen(
      () => ({ status: 500 }),
      (model) => ({ models: { spare: { model: "spare-1", baseUrl: model.baseUrl } } }),
    );
    const run = await bench.start(twoNodePackage(), {
      model: { fallbacks: ["spare"] },
      limits: { maxAttemptsBeforeFallback: 2 },
    });
    await run.result();
    expect(bench.model.requests).toHaveLength(6);
    expect(other.requests).toHaveLength(3);
  });

  test("a model that asks to wait long is not waited for where another can be asked", async () => {
    const { bench, other } = await reopen(
      () => ({ status: 429, headers: { "retry-after": "600" } }),
      (model) => ({ models: { spare: { model: "spare-1", baseUrl: model.baseUrl } } }),
    );
    await (await bench.start(twoNodePackage(), { model: { fallbacks: ["spare"] } })).result();
    expect(other.requests).toHaveLength(3);
  });

  test("where the last one fails as well the run fails with that one's error", async () => {
    const { bench, other } = await reopen([{ status: 401 }], (model) => ({
      models: { spare: { model: "spare-1", baseUrl: model.baseUrl } },
    }));
    other.requests.length = 0;
    const dead = await endpoint([{ status: 404 }]);
    const named = await settings(bench, { models: { spare: { model: "spare-1", baseUrl: dead.baseUrl } } });
    await bench.stopWorker();
    await anotherWorker(bench, named);
    const run = await bench.start(twoNodePackage(), { model: { fallbacks: ["spare"] } });
    await expect(run.result()).rejects.toMatchObject({ code: "LLM_HTTP_ERROR" });
  });

  test("an agent has its own, and its own model wins over the run's", async () => {
    const { bench, other } = await reopen(
      () => ({ status: 404 }),
      (model) => ({
        models: { spare: { model: "spare-1", baseUrl: model.baseUrl } },
        agents: { author: { model: "written-for", fallbacks: ["spare"] }, closer: { model: "spare" } },
      }),
    );
    const run = await bench.start(twoNodePackage(), { model: { model: "run-s-own" } });
    await run.result();
    expect(new Set(bench.model.requests.map(({ model }) => model))).toEqual(new Set(["written-for"]));
    expect(other.requests).toHaveLength(3);
  });
});

const QUOTA = { error: { code: "insufficient_quota", message: "You exceeded your current quota." } };

function turnSummary(event: {
  readonly activityTaskScheduledEventAttributes?: {
    readonly activityType?: { readonly name?: string | null } | null;
  } | null;
  readonly userMetadata?: { readonly summary?: { readonly data?: Uint8Array | null } | null } | null;
}): readonly string[] {
  if (event.activityTaskScheduledEventAttributes?.activityType?.name !== "model.turn") return [];
  return [JSON.parse(Buffer.from(event.userMetadata?.summary?.data ?? []).toString("utf8")) as string];
}

describe("a cost budget", () => {
  test("with a model, a fallback or an agent's own model without a price is refused before anything is made", async () => {
    const { bench } = await reopen(straightOn, (model) => ({
      models: { spare: { model: "spare-1", baseUrl: model.baseUrl } },
      agents: { closer: { model: "close-1" }, nobody: { model: "not-used" } },
      prices: { scripted: PRICE },
    }));
    const budget = { node: { cost: 1 } };
    const run = await bench.start(twoNodePackage(), { model: { fallbacks: ["spare"] }, budget });
    await expect(run.result()).rejects.toMatchObject({
      code: "E_PRECONDITION_FAILED",
      message:
        'The run has a cost budget, but the models spare, close-1 have no price. Name them under "prices" in the settings file; a worker that runs reads it when it is started again.',
    });
    expect(await bench.store.runs.findRun(run.runId)).toMatchObject({ ok: false });
    expect(bench.model.requests).toEqual([]);
  });
});

describe("a run that goes on", () => {
  test("keeps its model through a retry and in a fork, whatever the default is by then, unless another is named", async () => {
    const bench = await openBench([{ status: 404 }, { status: 404 }, { status: 404 }]);
    const run = await bench.start(twoNodePackage());
    await expect(run.result()).rejects.toMatchObject({ code: "LLM_HTTP_ERROR" });
    await bench.stopWorker();
    await anotherWorker(bench, { INTERLOCK_MODEL: "later" });
    const retried = await bench.client.retry(run);
    await expect(retried.result()).rejects.toMatchObject({ code: "LLM_HTTP_ERROR" });
    const fork = await bench.client.fork(run.runId, { visit: 0 });
    await expect(fork.result()).rejects.toMatchObject({ code: "LLM_HTTP_ERROR" });
    const named = await bench.client.retry(run, { model: { model: "named" } });
    await expect(named.result()).rejects.toMatchObject({ code: "LLM_HTTP_ERROR" });
    const again = await bench.client.retry(run);
    await expect(again.result()).rejects.toMatchObject({ code: "LLM_HTTP_ERROR" });
    const asked = bench.model.requests.map(({ model }) => model);
    expect(asked).toEqual(["scripted", "scripted", "scripted", "named", "named"]);
    const shell = shellOf(bench, { INTERLOCK_MODEL: "later" });
    await shell.run(["retry", run.runId, "--model", "typed", "--no-wait-for-answers"]);
    expect(bench.model.requests.at(-1)?.model).toBe("typed");
  });

  test("a rehearsal asks none of it", async () => {
    const bench = await openBench([]);
    await mkdir(join(bench.projectRoot, "artifacts"), { recursive: true });
    const run = await bench.start(twoNodePackage(), { rehearsal: {}, model: { name: "none-of-ours" } });
    expect(await run.result()).toMatchObject({ phase: "completed" });
    expect((await run.state()).model).toBeUndefined();
    expect(bench.model.requests).toEqual([]);
  });
});

describe("interlock run beside a running dev with another model", () => {
  test("asks its own shell's model in every turn, or the one that is typed, with a key that was given for it", async () => {
    const shell = await newShell();
    await writeTree(join(shell.dir, "package"), twoNodePackage());
    const seen: string[] = [];
    const ours = await endpoint((request, _index, { apiKey }) => {
      seen.push(`${request.model} ${apiKey}`);
      return straightOn(request);
    });
    const theirs = await endpoint(straightOn);
    const typed = await endpoint((request, _index, { apiKey }) => {
      seen.push(`${request.model} ${apiKey}`);
      return straightOn(request);
    });
    const { environment, dir } = shell.with({ OPENAI_BASE_URL: theirs.baseUrl, INTERLOCK_MODEL: "theirs" });
    const dev = spawn(process.execPath, [MAIN, "dev"], { env: environment, cwd: dir });
    const devEnded = new Promise((resolve) => dev.once("exit", resolve));
    onTestFinished(async () => {
      dev.kill("SIGINT");
      await devEnded;
    });
    let said = "";
    for (const stream of [dev.stdout, dev.stderr]) stream.on("data", (chunk) => (said += String(chunk)));
    await eventually(() => /polls|Ctrl-C/u.test(said));
    const own = shell.with({
      OPENAI_BASE_URL: ours.baseUrl,
      INTERLOCK_MODEL: "ours",
      OPENAI_API_KEY: "ours-only",
    });
    const start = ["run", "package", "--project", "project", "--json"];
    for (let index = 0; index < 2; index += 1) {
      expect(jsonOf(await own.run(start))).toMatchObject({
        phase: "completed",
        model: { answeredBy: { model: "ours" } },
      });
    }
    const other = [...start, "--model", "typed", "--base-url", typed.baseUrl];
    expect(jsonOf(await own.run(other))).toMatchObject({
      phase: "completed",
      model: { chain: [{ model: "typed", endpoint: typed.baseUrl }], answeredBy: { model: "typed" } },
    });
    expect(seen).toEqual([...Array<string>(6).fill("ours ours-only"), ...Array<string>(3).fill("typed ")]);
    expect(theirs.requests).toEqual([]);
    const wrong = await own.run([...start, "--base-url", "http://u:p@127.0.0.1/v1"]);
    expect(wrong).toMatchObject({ code: 2, stderr: expect.stringContaining("--base-url takes") as string });
    const unknown = await own.run([...start, "--fallback", "nobody"]);
    expect(unknown).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('no model "nobody"') as string,
    });
  });
});
