import { execFile } from "node:child_process";
import { mkdir, readFile, readdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, inject, onTestFinished, test } from "vitest";
import { type ChatAnswer, type ChatModel, type ChatRequest, ModelError, openStore } from "../../src/index.js";
import { z } from "zod";
import { type WorkerOptions, defineTool, startWorker } from "../../src/worker.js";
import type { WatchCall } from "../../src/core/tools/watched-call.js";
import { workflowIdOf } from "../../src/core/run/run-id.js";
import { temporaryDirectory } from "../fakes/package-fixture.js";
import { openPlace } from "../fakes/place.js";
import { valueOf } from "../fakes/run-world.js";
import { twoNodePackage } from "../fakes/two-node-package.js";
import { answeringTemporal } from "../fakes/answering-temporal.js";
import { quietRuntime } from "../fakes/quiet-runtime.js";
import { until, writeTree } from "./harness.js";
import { ROOT } from "./shell.js";

/** What a program without HTTP answers: on to the next node of the two-node package. */
function straightOn({ messages }: ChatRequest): ChatAnswer {
  const brief = messages.findLast(({ content }) => content.startsWith("NODE_BRIEF"))?.content ?? "";
  const nodeId = /currentNodeId: (\S+)/.exec(brief)?.[1] ?? "";
  const next = { ask: "middle", middle: "finish" }[nodeId];
  const update = {
    stepsCompleted: { append: [nodeId] },
    ...(next === undefined ? {} : { currentNodeId: { set: next } }),
  };
  const args = { path: "@state/workflow.md", patch: { operation: "updateFrontmatter", update } };
  return {
    content: "",
    toolCalls: [{ id: "", name: "fs_apply_patch", argumentsJson: JSON.stringify(args) }],
    finishReason: "tool_calls",
    usage: { promptTokens: 7, completionTokens: 3 },
    model: "in-process",
  };
}

/** A worker with a model of the test's, and nothing configured; its endpoint answers nobody. */
async function embedded(complete: ChatModel["complete"], options: Partial<WorkerOptions> = {}) {
  quietRuntime();
  const address = inject("temporalAddress");
  const place = await openPlace(address, [], {
    OPENAI_API_KEY: "",
    OPENAI_BASE_URL: "",
    INTERLOCK_MODEL: "",
  });
  const { store, config, dir, projectRoot, client } = place;
  const worker = await startWorker(config, {
    connection: { address },
    namespace: "default",
    store,
    workflowBundle: { codePath: inject("workflowBundle") },
    model: { complete },
    ...options,
  });
  onTestFinished(async () => {
    await worker.shutdown();
    await place.close();
  });
  await writeTree(join(dir, "package"), twoNodePackage());
  const { packageId } = valueOf(await store.packages.install(join(dir, "package")));
  const start = (request: object = {}) => client.start({ projectRoot, packageId, ...request });
  return { ...place, packageId, start };
}

/** Fails as it is told, one time after the other, then goes straight on. */
function failingWith(...failures: readonly (() => unknown)[]) {
  const left = [...failures];
  const asked: ChatRequest[] = [];
  const complete: ChatModel["complete"] = async (request) => {
    asked.push(request);
    const fail = left.shift();
    return fail === undefined ? straightOn(request) : ((await fail()) as ChatAnswer); // what a program may return
  };
  return { asked, complete };
}

/** The built workflows, whose first activation stands still for longer than the SDK lets one take by itself. */
async function slowWorkflows(): Promise<{ readonly codePath: string }> {
  const code = await readFile(inject("workflowBundle"), "utf8");
  const standStill = `Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5_500)`;
  const slow = `;{
    const { api, ...entry } = __TEMPORAL__;
    let isFirst = true;
    const activate = (...args) => {
      if (isFirst) ${standStill};
      isFirst = false;
      return api.activate(...args);
    };
    globalThis.__TEMPORAL__ = { ...entry, api: { ...api, activate } };
  }
`;
  const codePath = join(await temporaryDirectory(), "workflows.cjs");
  await writeFile(codePath, code.replace("//# sourceMappingURL=", `${slow}$&`));
  return { codePath };
}

test("a run is opened at the first attempt where Temporal does not say which search attributes it has", async () => {
  const address = await answeringTemporal(
    { ListSearchAttributes: "silence" },
    undefined,
    inject("temporalAddress"),
  );
  const { start, client } = await embedded((request) => Promise.resolve(straightOn(request)), {
    connection: { address },
  });
  const run = await start();
  expect(await run.result()).toMatchObject({ runId: run.runId });
  const { events } = await client.temporal.workflow.getHandle(workflowIdOf(run.runId)).fetchHistory();
  const started = events?.find(({ activityTaskStartedEventAttributes: each }) => each);
  expect(started?.activityTaskStartedEventAttributes?.attempt).toBe(1);
});

test(
  "a worker that stands still in the middle of a workflow's code goes on with it",
  { tags: "slow" },
  async () => {
    const { start, client } = await embedded((request) => Promise.resolve(straightOn(request)), {
      workflowBundle: await slowWorkflows(),
    });
    const run = await start();
    await run.result();
    const { events } = await client.temporal.workflow.getHandle(workflowIdOf(run.runId)).fetchHistory();
    const failures = (events ?? []).flatMap(({ workflowTaskFailedEventAttributes: failed }) => failed ?? []);
    expect(failures).toEqual([]);
  },
);

describe("a chat model of a program's own", () => {
  test("walks a package without an endpoint, and what it has counted is the run's", async () => {
    const { asked, complete } = failingWith();
    const { start, model } = await embedded(complete);
    const run = await start();
    expect(await run.result()).toMatchObject({
      stepsCompleted: ["ask", "middle", "finish"],
      usage: { modelTurns: 3, promptTokens: 21, completionTokens: 9 },
    });
    expect(asked.map(({ settings }) => settings.model)).toEqual(["custom", "custom", "custom"]);
    expect(asked[0]?.tools.map((tool) => tool.function.name)).toContain("fs_read");
    expect(model.requests).toEqual([]);
  });

  test("is given the settings that the program has for its agent", async () => {
    const { asked, complete } = failingWith();
    const modelSettingsFor = (agentId: string) => ({
      model: `of-${agentId}`,
      stream: false,
      timeoutMs: 60_000,
    });
    const { start } = await embedded(complete, { modelSettingsFor });
    await (await start()).result();
    expect(asked.map(({ settings }) => settings.model)).toEqual(["of-author", "of-author", "of-closer"]);
  });

  test("is asked again after what may pass, whatever it throws or returns", { tags: "slow" }, async () => {
    const again = { code: "LLM_RATE_LIMITED", message: "Later.", retryable: true, retryAfterMs: 1 } as const;
    const { asked, complete } = failingWith(
      () => Promise.reject(new ModelError(again)),
      () => {
        throw new Error("The library is out of order.");
      },
      () => ({ text: "no answer" }),
      () => ({ ...straightOn({ messages: [] } as never), usage: { promptTokens: Number.NaN } }),
    );
    const { start } = await embedded(complete);
    expect(await (await start()).result()).toMatchObject({ phase: "completed" });
    expect(asked).toHaveLength(4 + 3);
  });

  test.each([
    [
      "what is final",
      () => Promise.reject(new ModelError({ code: "LLM_AUTH_FAILED", message: "No.", retryable: false })),
      { code: "LLM_AUTH_FAILED", message: "No." },
    ],
    [
      "no answer at all",
      () => undefined,
      { code: "LLM_BAD_RESPONSE", message: expect.stringContaining("the whole") as string },
    ],
    [
      "nothing in time, though its signal fires",
      () => new Promise(() => undefined),
      { code: "LLM_TIMEOUT", message: expect.stringContaining("did not answer within") as string },
    ],
  ])("that gives %s fails its run with the code", async (_, fail, failure) => {
    const { complete } = failingWith(fail);
    const modelSettingsFor = () => ({ model: "m", stream: false, timeoutMs: 100 });
    const { start } = await embedded(complete, { modelSettingsFor });
    const run = await start({ limits: { maxModelAttempts: 1 } });
    await expect(run.result()).rejects.toMatchObject(failure);
  });

  test("asks its user, hears the answer, and is called off with its run", async () => {
    const signals: AbortSignal[] = [];
    const { start } = await embedded(async (request) => {
      const heard = request.messages.some(({ content }) => content.startsWith("USER_INPUT"));
      if (!heard)
        return { ...straightOn(request), content: "Which colour?", toolCalls: [], finishReason: "stop" };
      signals.push(request.signal);
      return new Promise<never>(() => undefined); // heeds no signal
    });
    const run = await start();
    const { question } = await until(run, "waiting-user");
    expect(question?.text).toBe("Which colour?");
    await run.answer({ nodeId: question?.nodeId ?? "", text: "Blue." });
    await expect.poll(() => signals.length, { timeout: 60_000 }).toBe(1);
    await run.cancel();
    await expect(run.result()).rejects.toMatchObject({ code: "ENGINE_ABORTED" });
    await expect.poll(() => signals[0]?.aborted, { timeout: 60_000 }).toBe(true);
  });

  test("is not asked in a rehearsal", async () => {
    const { asked, complete } = failingWith();
    const { start } = await embedded(complete);
    expect(await (await start({ rehearsal: {} })).result()).toMatchObject({ phase: "completed" });
    expect(asked).toEqual([]);
  });
});

test("a tool in code is offered beside the engine's own, called, and in audit and conversation like them", async () => {
  const seen: unknown[] = [];
  const find = defineTool({
    name: "tickets.find",
    description: "Finds a ticket.",
    input: z.strictObject({ id: z.int() }),
    effect: "none",
    agents: ["author"],
    run({ id }, scope) {
      seen.push({ id, ...scope, signal: undefined });
      return { id, title: "Paint it" };
    },
  });
  const { asked, complete } = failingWith(() => ({
    ...straightOn({ messages: [] } as never), // of no node: its own call is replaced
    toolCalls: [{ id: "t", name: "tickets_find", argumentsJson: '{"id":7}' }],
  }));
  const { start, store, projectRoot } = await embedded(complete, { tools: [find] });
  const run = await start();
  await run.result();
  const offered = asked.map(({ tools }) => tools.some((tool) => tool.function.name === "tickets_find"));
  expect(offered).toEqual([true, true, true, false]);
  expect(seen).toEqual([
    {
      id: 7,
      runId: run.runId,
      nodeId: "ask",
      agentId: "author",
      callId: "t",
      projectRoot,
      signal: undefined,
    },
  ]);
  expect(asked[1]?.messages.at(-1)?.content).toBe(
    '{"ok":true,"bytes":27,"content":"{\\"id\\":7,\\"title\\":\\"Paint it\\"}"}',
  );
  const found = valueOf(await store.runs.findRun(run.runId));
  const files = valueOf(await store.runs.openFiles(found.projectId, run.runId));
  expect(await readFile(files.logFile, "utf8")).toContain('"toolName":"tickets.find"');
});

test.each(["turns", "nodes"] as const)(
  "whoever watches a worker sees each call of a tool, where steps are %s: files, tools in code, the state document",
  async (steps) => {
    const bell = defineTool({
      name: "house.bell",
      description: "Rings.",
      input: z.strictObject({}),
      effect: "none",
      agents: ["author"],
      run: () => "Rung.",
    });
    const calling = (name: string, args: object) => () => ({
      ...straightOn({ messages: [] } as never), // of no node: its own call is replaced
      toolCalls: [{ id: name, name, argumentsJson: JSON.stringify(args) }],
    });
    const { complete } = failingWith(
      calling("fs_read", { path: "@state/workflow.md" }),
      calling("house_bell", {}),
      calling("no_such_tool", {}),
    );
    const seen: unknown[] = [];
    const watchCall: WatchCall = async ({ tool, nodeId, runId }, make) => {
      const outcome = await make();
      seen.push([tool, nodeId, runId, outcome]);
      return outcome;
    };
    const { start } = await embedded(complete, { tools: [bell], instruments: [{ watchCall }] });
    const run = await start({ steps });
    await run.result();
    const made = expect.objectContaining({ ok: true }) as unknown;
    expect(seen).toEqual([
      ["fs.read", "ask", run.runId, made],
      ["house.bell", "ask", run.runId, made],
      ["fs.apply_patch", "ask", run.runId, made],
      ["fs.apply_patch", "middle", run.runId, made],
      ["fs.apply_patch", "finish", run.runId, made],
    ]);
  },
);

/** A reader's project: it has the package, and the types of Node. */
async function readersProject(dir: string): Promise<string> {
  const project = join(dir, "reader");
  await mkdir(join(project, "node_modules"), { recursive: true });
  await symlink(ROOT, join(project, "node_modules/interlock-temporal"));
  await symlink(join(ROOT, "node_modules/zod"), join(project, "node_modules/zod"));
  await symlink(join(ROOT, "node_modules/@types"), join(project, "node_modules/@types"));
  await symlink(join(ROOT, "node_modules/@temporalio"), join(project, "node_modules/@temporalio"));
  await writeFile(join(project, "package.json"), '{ "type": "module" }');
  const compilerOptions = {
    strict: true,
    exactOptionalPropertyTypes: true,
    module: "nodenext",
    types: ["node"],
  };
  const config = { compilerOptions: { ...compilerOptions, target: "es2022", lib: ["es2022"] } };
  await writeFile(join(project, "tsconfig.json"), JSON.stringify(config));
  return project;
}

test(
  "the pages' programs compile as a reader's do, and the first one of that on embedding runs a package",
  { tags: "slow" },
  async () => {
    const { dir, store, projectRoot, environment, packageId } = await embedded(() =>
      Promise.reject(new Error()),
    );
    const docs = (await readdir(join(ROOT, "docs"))).filter((name) => name.endsWith(".md"));
    const pages = ["docs/embedding.md", "README.md", ...docs.map((name) => `docs/${name}`)];
    const texts = await Promise.all([...new Set(pages)].map((page) => readFile(join(ROOT, page), "utf8")));
    const blocks = texts.flatMap((page) =>
      [...page.matchAll(/^```ts\n([^]*?)^```$/gm)].map(([, text = ""]) => text),
    );
    expect(blocks.length).toBeGreaterThanOrEqual(8);
    const project = await readersProject(dir);
    for (const [index, text] of blocks.entries()) {
      const own = text.replaceAll("/srv/shop", projectRoot).replaceAll("create-story", packageId);
      await writeFile(join(project, `block-${index}.ts`), own);
    }
    const run = promisify(execFile);
    const { stdout: said } = await run(process.execPath, [COMPILER, "-p", project]).catch(
      (error: { stdout: string }) => error,
    );
    // The declarations of libraries have faults of their own.
    const faults = said.split("\n").filter((line) => /^(?!node_modules\/@)\S/.test(line));
    expect(faults).toEqual([]);
    // A store of its own: this process' worker would take its runs.
    const taskQueue = `own-${store.storeId}`;
    const own = await openStore(join(dir, "own"), taskQueue);
    valueOf(await own.packages.install(join(dir, "package")));
    const env = { ...environment, INTERLOCK_STORE: own.dir, INTERLOCK_TASK_QUEUE: taskQueue };
    const { stdout } = await run(process.execPath, [join(project, "block-0.js")], { env });
    expect(stdout).toBe("ask → middle → finish\n");
  },
);

const COMPILER = join(ROOT, "node_modules/typescript/bin/tsc");
