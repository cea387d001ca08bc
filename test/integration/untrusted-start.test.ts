import { randomUUID } from "node:crypto";
import { cp, mkdir, readFile, readdir, rename, symlink, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, onTestFinished, test } from "vitest";
import { WorkflowFailedError } from "@temporalio/client";
import { ApplicationFailure } from "@temporalio/common";
import type { RunHandle } from "../../src/client/client.js";
import { BUNDLE_RUN_WORKFLOW, GRAPH_RUN_WORKFLOW } from "../../src/contract/names.js";
import { startLyingWorker } from "../fakes/empty-worker.js";
import { eventually } from "../fakes/eventually.js";
import { readTree } from "../fakes/package-fixture.js";
import { valueOf } from "../fakes/run-world.js";
import { call } from "../fakes/scripted-model.js";
import { twoNodePackage } from "../fakes/two-node-package.js";
import { type Bench, copyRoom, openBench, temporaryDirectory, until, writeTree } from "./harness.js";

const SECRET = "THE-SECRET-OF-SOMEBODY";
const EXAMPLE = fileURLToPath(new URL("../../examples/create-story/package", import.meta.url));

/** Whoever reaches Temporal, with Temporal's own client: nothing of ours has checked what is sent. */
async function startRaw(bench: Bench, workflow: string, input: Record<string, unknown>) {
  const runId = randomUUID();
  const handle = await bench.client.temporal.workflow.start(workflow, {
    workflowId: `run-${runId}`,
    taskQueue: bench.store.taskQueue,
    args: [{ runId, ...input }],
  });
  return { runId, handle };
}

/** How a run that was started so ends: the failure's type, its sentence, and what queries and results say. */
async function endOf({ handle }: Awaited<ReturnType<typeof startRaw>>) {
  const failure = await handle.result().then(
    () => undefined,
    (error: unknown) => (error instanceof WorkflowFailedError ? rootCause(error) : error),
  );
  const told = await handle.query<unknown>("runState").catch((error: unknown) => String(error));
  return { failure, told: JSON.stringify(told), history: JSON.stringify(await handle.fetchHistory()) };
}

function rootCause(error: Error): unknown {
  let at: unknown = error;
  while (at instanceof Error && at.cause !== undefined && !(at instanceof ApplicationFailure)) at = at.cause;
  return at;
}

const REFUSED = { type: "E_SANDBOX_VIOLATION", nonRetryable: true };
const UNREGISTERED = "interlock project add";

/** A bench whose store knows no root at all, a directory of somebody's beside it, and a model that would take what it can. */
async function attacked() {
  const bench = await openBench(
    [
      {
        calls: [
          call("fs_read", { path: "@project/secret.txt" }),
          call("fs_write", { path: "@project/x.txt", content: "x" }),
        ],
      },
    ],
    { INTERLOCK_PROJECT_ROOTS: "" },
  );
  const victim = join(bench.dir, "victim");
  await writeTree(victim, { "secret.txt": SECRET, "sub/secret.txt": SECRET });
  const { packageId } = valueOf(await bench.store.packages.install(EXAMPLE));
  return { bench, victim, packageId };
}

describe("C1: a run that somebody starts with a directory that nobody registered", () => {
  const roots: readonly (readonly [string, (place: { victim: string; bench: Bench }) => unknown])[] = [
    ["any directory of the worker's user", ({ victim }) => victim],
    ["one in it", ({ victim }) => join(victim, "sub")],
    ["a trailing slash", ({ victim }) => `${victim}/`],
    ["a dot", () => "."],
    ["nothing", () => ""],
    ["a relative path", () => "victim"],
    ["the way up", ({ bench }) => `${bench.dir}/store/../victim`],
    ["the root of the file system", () => "/"],
    ["a home directory", () => homedir()],
    ["the store", ({ bench }) => bench.store.dir],
    ["a directory of the store", ({ bench }) => join(bench.store.dir, "projects")],
    ["a link to the store", ({ bench }) => join(bench.dir, "link-to-store")],
    ["a link to a directory", ({ bench }) => join(bench.dir, "link")],
    ["/proc", () => "/proc/self/cwd"],
    ["/etc", () => "/etc"],
    ["what does not exist", ({ victim }) => join(victim, "nowhere")],
    ["a file", ({ victim }) => join(victim, "secret.txt")],
    ["a NUL byte", ({ victim }) => `${victim}\0`],
    ["a very long path", ({ victim }) => `${victim}/${"x/".repeat(5_000)}`],
  ];

  test("as the project: refused once, nothing is written, nothing is told", async () => {
    const { bench, victim, packageId } = await attacked();
    await symlink(victim, join(bench.dir, "link"));
    await symlink(bench.store.dir, join(bench.dir, "link-to-store"));
    const before = await readTree(victim);
    const projects = await readdir(join(bench.store.dir, "projects")).catch(() => []);
    for (const [name, rootOf] of roots) {
      const started = await startRaw(bench, GRAPH_RUN_WORKFLOW, {
        projectRoot: rootOf({ victim, bench }),
        packageId,
        input: "Read secret.txt.",
      });
      const { failure, told, history } = await endOf(started);
      expect([name, failure]).toMatchObject([name, REFUSED]);
      expect(told + history).not.toContain(SECRET);
    }
    expect(bench.model.requests).toEqual([]);
    expect(await readTree(victim)).toEqual(before);
    expect(await readdir(join(bench.store.dir, "projects")).catch(() => [])).toEqual(projects);
    expect(await bench.store.runs.listAllRuns()).toEqual([]);
  });

  test("the sentence says what the operator does, and whether a directory exists is not told", async () => {
    const { bench, victim, packageId } = await attacked();
    const sentences = [];
    for (const root of [victim, join(bench.dir, "missin")]) {
      const started = await startRaw(bench, GRAPH_RUN_WORKFLOW, { projectRoot: root, packageId });
      const { failure } = await endOf(started);
      const { message } = failure as ApplicationFailure;
      sentences.push(message.replaceAll(root, "ROOT"));
    }
    expect(sentences[0]).toContain(`${UNREGISTERED} ROOT`);
    expect(sentences[1]).toBe(sentences[0]);
  });

  test("as bundle, core, agent file or output: refused without a look into it", async () => {
    const { bench, victim } = await attacked();
    const room = await copyRoom(join(bench.dir, "own"));
    for (const root of [bench.projectRoot, room.bundleRoot, room.coreRoot]) {
      valueOf(await bench.store.roots.add(root, "write"));
    }
    await cp(room.agentFile, join(victim, "iris.md"));
    const { agentFile: _, ...rest } = room;
    const foreign = [
      { bundleRoot: victim },
      { bundleRoot: bench.store.dir },
      { coreRoot: victim },
      { coreRoot: join(bench.store.dir, "packages") },
      { agentFile: join(victim, "iris.md") },
      { agentFile: join(bench.store.dir, "store.json") },
      { outputRoot: victim },
      { outputRoot: join(victim, "not", "yet", "made") },
      { outputRoot: join(bench.store.dir, "projects") },
      { outputRoot: "." },
      { projectRoot: victim },
    ];
    const before = await readTree(victim);
    for (const roots_ of foreign) {
      const input = { projectRoot: bench.projectRoot, ...rest, ...roots_ };
      const { failure, told, history } = await endOf(await startRaw(bench, BUNDLE_RUN_WORKFLOW, input));
      const name = JSON.stringify(roots_);
      expect([name, failure]).toMatchObject([name, REFUSED]);
      expect(told + history).not.toContain("secret.txt");
    }
    expect(await readTree(victim)).toEqual(before);
    expect(await bench.store.runs.listAllRuns()).toEqual([]);
  });
});

describe("what is registered", () => {
  test("a run on it starts by Temporal's own client, without a store's id", async () => {
    const { bench, packageId } = await attacked();
    valueOf(await bench.store.roots.add(bench.projectRoot, "write"));
    const { handle, runId } = await startRaw(bench, GRAPH_RUN_WORKFLOW, {
      projectRoot: bench.projectRoot,
      packageId,
      rehearsal: {},
      autopilot: true,
    });
    await expect(handle.result()).resolves.toMatchObject({ runId });
  });

  test("a directory that takes the place of the project while a run waits gains nothing", async () => {
    const bench = await openBench([
      { content: "What shall I write?" },
      { calls: [call("fs_write", { path: "@project/notes.txt", content: "x" })] },
    ]);
    const victim = join(bench.dir, "victim");
    await mkdir(victim);
    await writeFile(join(victim, "secret.txt"), SECRET);
    const run = await bench.start(twoNodePackage());
    while ((await run.state()).phase !== "waiting-user") await new Promise((done) => setTimeout(done, 50));
    await rename(bench.projectRoot, `${bench.projectRoot}-moved`);
    await symlink(victim, bench.projectRoot);
    const { question } = await run.state();
    await run.answer({ nodeId: question?.nodeId ?? "", text: "Anything." });
    await expect(run.result()).rejects.toMatchObject({ code: "E_SANDBOX_VIOLATION" });
    expect(await readdir(victim)).toEqual(["secret.txt"]);
  });
});

test("a model is shown no file that the worker has its secrets from, and writes none, though they lie in the project", async () => {
  const project = await temporaryDirectory();
  const files = {
    "seal.keys": `k1:${Buffer.alloc(32, 7).toString("base64")}\n`,
    "conf/openai.txt": "sk-of-the-operator\n",
    "conf/temporal.toml": "[profile.default]\n# key-of-the-operator\n",
    "conf/client-tls": "key-of-the-operator, of a certificate\n",
    "dotfiles/temporalio/temporal.toml": "# key-of-the-operator, where the Temporal CLI looks by itself\n",
    "bin/temporal-cli": "#!/bin/sh\n# a program of the operator's\n",
    "bin/tickets": "#!/bin/sh\n# a server of the operator's\n",
    "servers/notes.mjs": "// a server of the operator's\n",
    "conf/settings.json": JSON.stringify({
      mcpServers: {
        tickets: { command: join(project, "bin/tickets"), args: ["--root", project] },
        notes: { command: "node", args: ["--no-warnings", join(project, "servers/notes.mjs"), project] },
      },
    }),
  };
  await writeTree(project, files);
  const names = Object.keys(files);
  const bench = await openBench(
    [
      {
        calls: [
          ...names.map((name) => call("fs_read", { path: `@project/${name}` })),
          ...names.map((name) => call("fs_write", { path: `@project/${name}`, content: "k2:mine" })),
          call("fs_search", { path: "@project", pattern: "/operator|k1:/" }),
        ],
      },
      { content: "Shown?" },
    ],
    {
      INTERLOCK_PROJECT_ROOTS: project,
      INTERLOCK_SEAL_KEYS_FILE: join(project, "seal.keys"),
      OPENAI_API_KEY: "",
      OPENAI_API_KEY_FILE: join(project, "conf/openai.txt"),
      TEMPORAL_CONFIG_FILE: join(project, "conf/temporal.toml"),
      TEMPORAL_TLS: "false",
      TEMPORAL_TLS_CLIENT_KEY_PATH: join(project, "conf/client-tls"),
      INTERLOCK_TEMPORAL_CLI: join(project, "bin/temporal-cli"),
      INTERLOCK_SETTINGS: join(project, "conf/settings.json"),
    },
  );
  const run = await bench.start(twoNodePackage(), { projectRoot: project });
  await until(run, "waiting-user");
  const said = JSON.stringify(bench.model.requests);
  const secrets = ["BwcHBwcHBwcH", "sk-of-the-operator", "key-of-the-operator"];
  expect(secrets.filter((secret) => said.includes(secret))).toEqual([]);
  const left = await Promise.all(names.map((name) => readFile(join(project, name), "utf8")));
  expect(left).toEqual(Object.values(files));
});

test("a workflow of a run's type that says what no run says hinders no list, and is refused in a sentence", async () => {
  const bench = await openBench(() => ({ content: "Which one?" }));
  const honest = await bench.start(twoNodePackage());
  const state = await until(honest, "waiting-user");
  const taskQueue = `lies-${randomUUID()}`;
  const stop = await startLyingWorker(bench.environment["TEMPORAL_ADDRESS"] ?? "", taskQueue);
  onTestFinished(stop);
  const lies: readonly unknown[] = [
    null,
    5,
    "idle",
    [],
    {},
    { ...state, question: 5 },
    { ...state, phase: "__proto__" },
    { ...state, question: { nodeId: "ask", text: { deep: 1 } } },
    { ...state, usage: "much" },
    { ...state, variables: JSON.parse(`${'{"a":'.repeat(2_000)}1${"}".repeat(2_000)}`) as unknown },
  ];
  const { client } = bench;
  const memo = (runId: string) => ({ runId, phase: "waiting-user", since: new Date().toISOString() });
  const liars: RunHandle[] = [];
  for (const says of lies) {
    const runId = randomUUID();
    const workflowId = `run-${runId}`;
    await client.temporal.workflow.start("graphRun", {
      taskQueue,
      workflowId,
      args: [{ says }],
      memo: { interlock: memo(runId) },
      searchAttributes: { RunPhase: ["waiting-user"] },
    });
    liars.push(client.handle(runId));
  }
  onTestFinished(async () => {
    for (const { workflowId } of liars) await client.temporal.workflow.getHandle(workflowId).terminate();
  });
  const refusal = {
    code: "E_PRECONDITION_FAILED",
    message: expect.stringContaining("no run says") as string,
  };
  for (const liar of liars) {
    await expect(liar.state()).rejects.toMatchObject(refusal);
  }
  const [silent] = liars;
  await expect(silent?.answer({ nodeId: "ask", text: "Blue." })).rejects.toMatchObject(refusal);
  await expect(silent?.raiseBudget({ add: { turns: 1 } })).rejects.toMatchObject(refusal);
  await eventually(async () => {
    const asked = [];
    for await (const { runId, text } of client.questions()) asked.push({ runId, text });
    const ids = asked.map(({ runId }) => runId);
    return (
      liars.every(({ runId }) => ids.includes(runId)) &&
      asked.some(({ runId, text }) => runId === honest.runId && text === "Which one?")
    );
  });
});
