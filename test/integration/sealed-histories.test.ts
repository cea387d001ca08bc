// @module-tag slow
import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { readFile, readdir } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, inject, onTestFinished, test } from "vitest";
import { InterlockClient, type RunHandle } from "../../src/client/client.js";
import { loadConfig } from "../../src/config.js";
import { findTemporalCli } from "../../src/embedded/find-cli.js";
import { parseSealKeys } from "../../src/seal/seal-keys.js";
import { startWorker } from "../../src/worker.js";
import { openPlace } from "../fakes/place.js";
import { valueOf } from "../fakes/run-world.js";
import { type EarlyServer, startEarlyServer } from "../fakes/early-server.js";
import { eventually } from "../fakes/eventually.js";
import { type ScriptedAnswer, call, patch } from "../fakes/scripted-model.js";
import { twoNodePackage } from "../fakes/two-node-package.js";
import { quietRuntime } from "../fakes/quiet-runtime.js";
import { begin } from "./begin-command.js";
import { type Bench, openBench, until, writeTree } from "./harness.js";
import { Shell, jsonOf, shellOf } from "./shell.js";

const execute = promisify(execFile);
const key = (id: string): string => `${id}:${randomBytes(32).toString("base64")}`;
const KEYS = { first: key("k1"), second: key("k2"), otherFirst: key("k1") };

let server: EarlyServer;
beforeAll(async () => {
  server = await startEarlyServer(inject("cacheDir"));
});
afterAll(() => server.close());

/** What nobody but the store and its people should read, each in another place of a run. */
const CANARIES = [
  "canary-words",
  "canary-question",
  "canary-answer",
  "canary-answerer",
  "canary-artifact",
  "canary-content",
  "canary-node",
  "canary-title",
  "canary-variable",
  "canary-failure",
  "canary-agent",
  "canary-package",
  "canary-workflow",
  "canary-refused",
];

function canaryPackage(prefix: string): Record<string, string> {
  const files = Object.entries(twoNodePackage()).map(([path, text]) => [
    path,
    text
      .replaceAll('"ask"', `"${prefix}canary-node"`)
      .replaceAll("nodeId: ask", `nodeId: ${prefix}canary-node`)
      .replaceAll(
        '"type":"step","file":"steps/ask.md"',
        `"type":"step","title":"${prefix}canary-title","file":"steps/ask.md"`,
      )
      .replaceAll('"author"', `"${prefix}canary-agent"`)
      .replaceAll('"name":"two-nodes"', `"name":"${prefix}canary-package"`)
      .replaceAll("workflowType: two-nodes", `workflowType: ${prefix}canary-workflow`),
  ]);
  return Object.fromEntries(files) as Record<string, string>;
}

/** A run with words, questions, refusals, a failed call of the model, pauses, a budget and a new execution for its length. */
async function eventfulRun(bench: Bench, prefix: string): Promise<RunHandle> {
  const run = await bench.start(canaryPackage(prefix), {
    input: `${prefix}canary-words`,
    budget: { run: { turns: 3 } },
  });
  await until(run, "waiting-user");
  await run.answer({
    nodeId: `${prefix}canary-node`,
    text: `${prefix}canary-answer`,
    by: `${prefix}canary-answerer`,
  });
  await eventually(async () => (await run.state()).question?.code === "BUDGET_EXCEEDED");
  await run.pause();
  await run.resume();
  await run.raiseBudget({ add: { turns: 40 } });
  return run;
}

/** Its last question is answered, and the model then refuses it for good. */
async function answerAgain(run: RunHandle, prefix: string): Promise<void> {
  await eventually(async () => (await run.state()).question?.text.includes("again") === true);
  await run.answer({ nodeId: `${prefix}canary-node`, text: `${prefix}canary-answer` });
  await expect(run.result()).rejects.toThrow(`${prefix}canary-failure`);
}

/** As long as it takes for the server to suggest a new execution; the failing call comes before that. */
function eventfulScript(prefix: string) {
  const look = { calls: Array.from({ length: 8 }, () => call("fs_list", { path: "@pkg" })) };
  return [
    {
      calls: [
        call("fs_write", {
          path: `@project/artifacts/${prefix}canary-artifact.md`,
          content: `${prefix}canary-content`,
        }),
      ],
    },
    { content: `${prefix}canary-question?` },
    { calls: [patch({ variables: { set: { said: `${prefix}canary-variable` } } })] },
    { status: 500, body: { error: { message: `${prefix}canary-failure` } } },
    { calls: [patch({ currentNodeId: { set: `${prefix}canary-refused` } })] },
    ...Array.from({ length: 14 }, () => look),
    { content: `${prefix}canary-question again?` },
    { status: 401, body: { error: { message: `${prefix}canary-failure` } } },
  ];
}

/** All bytes that the server has written down: its database with what is not yet in it, and its log. */
async function serverBytes(): Promise<Buffer> {
  const names = (await readdir(server.dir)).filter((name) => /^temporal(?:\.db|-server\.log)/.test(name));
  return Buffer.concat(await Promise.all(names.map((name) => readFile(join(server.dir, name)))));
}

const sealed = (keys: string) => ({ TEMPORAL_ADDRESS: server.address, INTERLOCK_SEAL_KEYS: keys });

test("the server's database holds nothing of what a sealed run says, and all of what an open one says", async () => {
  const found = async (prefix: string) => {
    const bytes = await serverBytes();
    return CANARIES.filter((canary) => bytes.includes(`${prefix}${canary}`));
  };
  const open = await openBench(eventfulScript("open-"), { TEMPORAL_ADDRESS: server.address });
  const plain = await eventfulRun(open, "open-");
  await answerAgain(plain, "open-");

  const bench = await openBench(eventfulScript("shut-"), sealed(KEYS.first));
  const run = await eventfulRun(bench, "shut-");
  await eventually(async () => (await run.state()).question?.text.includes("again") === true);
  expect(await run.histories()).not.toHaveLength(1); // it has continued as new
  const shell = shellOf(bench);
  for (const args of [
    ["status", run.runId],
    ["transcript", run.runId],
    ["artifacts", run.runId],
    ["runs"],
    ["inbox"],
    ["stores"],
  ]) {
    expect([args, await shell.run(args)]).toMatchObject([args, { code: 0 }]);
  }
  for (const command of ["transcript", "retry"]) {
    const told = await shell.run([command, "nosuch"]); // its store is asked, and refuses
    expect([command, told.stderr]).toEqual([
      command,
      expect.stringContaining('no run "nosuch" in this store'),
    ]);
  }
  await answerAgain(run, "shut-");
  const unseen = ["canary-content"]; // no file's content is in a history
  expect(await found("open-")).toEqual(CANARIES.filter((canary) => !unseen.includes(canary)));
  expect(await found("shut-")).toEqual([]);
});

/** A model that asks again and again. */
const ASKING = (_: unknown, index: number): ScriptedAnswer => ({
  content: `Which way, for the ${index + 1}th time?`,
});

async function clientOf(bench: Pick<Bench, "store">, keys?: string): Promise<InterlockClient> {
  const client = await InterlockClient.connect({
    connection: { address: server.address },
    taskQueue: bench.store.taskQueue,
    ...(keys === undefined ? {} : { sealKeys: parseSealKeys(keys) }),
  });
  onTestFinished(() => client.close());
  return client;
}

test("sealing begins while runs wait, keys are exchanged, and each run goes on, is replayed, exported, forked and restored", async () => {
  const place = await openPlace(server.address, ASKING);
  onTestFinished(() => place.close());
  const worker = (keys: string) => {
    const config = loadConfig({ ...place.environment, INTERLOCK_SEAL_KEYS: keys });
    const workflowBundle = { codePath: inject("workflowBundle") };
    return startWorker(config, {
      connection: { address: server.address },
      namespace: "default",
      store: place.store,
      workflowBundle,
    });
  };
  quietRuntime();
  const packageDir = join(place.dir, "package");
  await writeTree(packageDir, twoNodePackage());
  const { packageId } = valueOf(await place.store.packages.install(packageDir));

  let running = await worker("");
  const run = await place.client.start({ projectRoot: place.projectRoot, packageId });
  await until(run, "waiting-user");
  for (const [keys, phase] of [
    [`plain,${KEYS.first}`, "reads"],
    [KEYS.first, "seals"],
    [`${KEYS.second},${KEYS.first}`, "exchanged"],
  ] as const) {
    await running.shutdown();
    running = await worker(keys);
    const handle = (await clientOf(place, keys)).handle(run.runId);
    if (phase !== "reads") {
      const asked = (await handle.state()).question?.text;
      await handle.answer({ nodeId: "ask", text: `It ${phase}.` });
      await eventually(async () => {
        const { question, lastAnswer } = await handle.state();
        return lastAnswer !== undefined && question !== undefined && question.text !== asked;
      });
    }
  }
  const keys = `${KEYS.second},${KEYS.first}`;
  const shell = new Shell(place.dir, { ...place.environment, INTERLOCK_SEAL_KEYS: keys });
  for (const args of [
    ["replay", run.runId],
    ["audit", "verify", run.runId],
    ["export", run.runId, "--output", "run.zip"],
    ["fork", run.runId, "--at-visit", "0", "--detach"],
    ["cancel", run.runId],
    ["retry", run.runId, "--detach"],
  ]) {
    expect([args, await shell.run(args)]).toMatchObject([args, { code: 0 }]);
  }
  const { workflowService, options } = place.client.temporal;
  const workflowId = `run-${run.runId}`;
  await until((await clientOf(place, keys)).handle(run.runId), "waiting-user");
  for await (const { runId } of (await clientOf(place, keys)).temporal.workflow.list({
    query: `WorkflowId = "${workflowId}"`,
  })) {
    const workflowExecution = { workflowId, runId };
    await workflowService.deleteWorkflowExecution({ namespace: options.namespace, workflowExecution });
  }
  await eventually(async () => !(await place.client.knowsOf([`run-${run.runId}`])).has(`run-${run.runId}`));
  const keyless = new Shell(place.dir, { ...place.environment, INTERLOCK_SEAL_KEYS: "" });
  for (const again of [["restore"], ["fork", "--at-visit", "0"]]) {
    const told = await keyless.run([...again, run.runId, "--detach"]);
    expect(told).toMatchObject({ code: 1, stderr: expect.stringContaining("there is no key here") });
  }
  await expect(shell.run(["restore", run.runId, "--detach"])).resolves.toMatchObject({ code: 0 });
  await running.shutdown();
});

test("who has no key, another key or not this one is told so, and breaks nothing", async () => {
  const bench = await openBench(ASKING, sealed(KEYS.first));
  const run = await bench.start(twoNodePackage());
  await until(run, "waiting-user");
  const doctor = async (keys: string) => {
    const findings = jsonOf(
      await shellOf(bench, { INTERLOCK_SEAL_KEYS: keys }).run(["doctor", "--no-models", "--json"]),
    ) as { name: string; status: string; found: string }[];
    return findings.find(({ name }) => name === "sealed histories");
  };
  for (const [keys, reason] of [
    ["", "no key"],
    [KEYS.second, "unknown key"],
    [KEYS.otherFirst, "wrong key"],
  ] as const) {
    const told = await shellOf(bench, { INTERLOCK_SEAL_KEYS: keys }).run(["answer", run.runId, "Blue."]);
    expect([reason, told.code, told.stderr]).toEqual([
      reason,
      1,
      expect.stringContaining('sealed with the key "k1"'),
    ]);
    const status = await shellOf(bench, { INTERLOCK_SEAL_KEYS: keys }).run(["status", run.runId]);
    expect(status).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/waiting-user[^]*node +ask/),
      stderr: expect.stringMatching(
        /^E_PRECONDITION_FAILED: It is sealed with the key "k1".*what the run's files say\.$/m,
      ),
    });
    await expect(doctor(keys)).resolves.toMatchObject({
      status: "failed",
      found: expect.stringContaining(`${reason}:`),
    });
  }
  await expect(doctor(KEYS.first)).resolves.toMatchObject({ status: "ok" });

  // A worker without the key leaves the run as it is, for one that has it.
  await bench.stopWorker();
  const keyless = await startWorker(loadConfig({ ...bench.environment, INTERLOCK_SEAL_KEYS: "" }), {
    connection: { address: server.address },
    namespace: "default",
    store: bench.store,
    workflowBundle: { codePath: inject("workflowBundle") },
  });
  const mute = bench.client.handle(run.runId);
  await expect(mute.state()).rejects.toThrow("sealed with the key");
  await keyless.shutdown();
  await bench.startAnotherWorker();
  await expect(run.state()).resolves.toMatchObject({ phase: "waiting-user" });
  await run.answer({ nodeId: "ask", text: "Blue." });
  await eventually(async () => (await run.state()).question?.text.includes("2th") === true);

  // What somebody sends sealed with a key that is not here is refused, and the run goes on.
  const stranger = (await clientOf(bench, `${KEYS.second},${KEYS.first}`)).temporal.workflow.getHandle(
    `run-${run.runId}`,
  );
  await expect(
    stranger.executeUpdate("answer", { args: [{ nodeId: "ask", text: "Red." }] }),
  ).rejects.toMatchObject({ cause: { message: expect.stringContaining("cannot read") } });
  await expect(run.state()).resolves.toMatchObject({ phase: "waiting-user" });

  // Who has no key starts nothing again: what the store says of the run would stand in its history in plain.
  await run.cancel();
  await run.result().catch(() => undefined);
  const known = (await bench.client.runs({}, 1_000)).length;
  for (const again of [
    ["retry", run.runId, "--detach"],
    ["fork", run.runId, "--at-visit", "0", "--detach"],
  ]) {
    const told = await shellOf(bench, { INTERLOCK_SEAL_KEYS: "" }).run(again);
    expect(told).toMatchObject({ code: 1, stderr: expect.stringContaining('sealed with the key "k1"') });
  }
  // What Temporal has of a run is no secret: the others are pruned, whoever has lost the key of one.
  const stranded = shellOf(bench, { INTERLOCK_SEAL_KEYS: KEYS.second });
  const prune = ["runs", "prune", "--keep", "0", "--json"];
  const kept = (reason: string) => ({ pruned: [], kept: [{ runId: run.runId, reason }] });
  expect(jsonOf(await stranded.run(prune))).toMatchObject(kept("history"));
  expect(await run.histories()).toHaveLength(1);
  expect(await bench.client.runs({}, 1_000)).toHaveLength(known);

  // A fork that no worker has opened yet, and whose beginning cannot be read here, may be one of any run.
  await bench.stopWorker();
  await bench.client.fork(run.runId, { visit: 0 });
  await eventually(async () => (await bench.client.runs({}, 1_000)).length > known);
  expect(jsonOf(await stranded.run([...prune, "--with-history"]))).toMatchObject(kept("fork"));
});

test("a worker that has the key of a history's beginning alone leaves the run as it is, and status says what helps", async () => {
  const bench = await openBench(ASKING, sealed(`${KEYS.second},${KEYS.first}`));
  const starter = await clientOf(bench, `${KEYS.first},${KEYS.second}`);
  const run = await bench.start(twoNodePackage(), {}, starter);
  await until(run, "waiting-user");
  // Whoever has taken the older key away too early is told so, though all that the run has said since is sealed with the newer one.
  const [withoutOlder, withBoth] = await Promise.all(
    [KEYS.second, `${KEYS.second},${KEYS.first}`].map((keys) =>
      shellOf(bench, { INTERLOCK_SEAL_KEYS: keys }).run(["doctor", "--no-models"]),
    ),
  );
  expect(withoutOlder?.stdout).toMatch(/^failed +sealed histories +unknown key: .*"k1"/m);
  expect(withBoth?.stdout).toMatch(/^ok +sealed histories/m);
  await bench.stopWorker();
  const behind = await startWorker(loadConfig({ ...bench.environment, INTERLOCK_SEAL_KEYS: KEYS.first }), {
    connection: { address: server.address },
    namespace: "default",
    store: bench.store,
    workflowBundle: { codePath: inject("workflowBundle") },
  });
  const told = await shellOf(bench).run(["status", run.runId]);
  expect(told).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/waiting-user[^]*node +ask/),
    stderr: expect.stringMatching(/cannot tell where run .* stands, and has sealed why.*lacks a key/),
  });
  await behind.shutdown();
  await bench.startAnotherWorker();
  await run.answer({ nodeId: "ask", text: "Blue." });
  await eventually(async () => (await run.state()).question?.text.includes("2th") === true);
});

test("what the codec server prints reads a sealed history, and other users do not see its token in the list of processes", async () => {
  const bench = await openBench(ASKING, sealed(KEYS.first));
  const run = await bench.start(twoNodePackage());
  await until(run, "waiting-user");
  const { said } = begin(shellOf(bench, { INTERLOCK_SEAL_KEYS: KEYS.first }), [
    "codec-server",
    "--port",
    "0",
  ]);
  await eventually(() => Promise.resolve(said.out.includes("…")));
  const [, token = ""] = /^codec server +\S+\/(\S+)$/m.exec(said.out) ?? [];
  const [, command = ""] = /^temporal +(.+)$/m.exec(said.out) ?? [];
  const words = command.replace("…", run.workflowId).split(" ");
  const isVariable = (word: string): boolean => /^[A-Z_]+=/.test(word);
  const [program, ...args] = words.filter((word) => !isVariable(word));
  expect([program, args.join(" ").includes(token)]).toEqual(["temporal", false]);
  const { path } = await findTemporalCli({
    cacheDir: inject("cacheDir"),
    pathVariable: process.env["PATH"] ?? "",
  });
  const named = Object.fromEntries(words.filter(isVariable).map((word) => word.split(/=(.*)/s, 2)));
  const env = { HOME: bench.dir, TEMPORAL_ADDRESS: server.address };
  const show = async (more: Readonly<Record<string, string>>) =>
    (await execute(path, [...args, "--output", "json"], { env: { ...env, ...more } })).stdout;
  const encoding = Buffer.from("binary/encrypted").toString("base64");
  expect(await show({})).toContain(encoding);
  const opened = await show(named);
  expect(opened).not.toContain(encoding);
  expect(opened).toContain(run.runId);
});
