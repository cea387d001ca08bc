import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { chmod, mkdir, readFile, stat, writeFile } from "node:fs/promises";
import { delimiter, dirname, join } from "node:path";
import { promisify } from "node:util";
import { Client } from "@temporalio/client";
import { NativeConnection, Worker } from "@temporalio/worker";
import { describe, expect, inject, onTestFinished, test } from "vitest";
import type { RunState } from "../../src/core/run/run-state.js";
import { findTemporalCli } from "../../src/embedded/find-cli.js";
import { startWorker } from "../../src/worker.js";
import { twoNodePackage } from "../fakes/two-node-package.js";
import { asksFirst } from "../fakes/walk.js";
import { valueOf } from "../fakes/run-world.js";
import { eventually } from "../fakes/eventually.js";
import { type Bench, newNamespace, openBench, until, writeTree } from "./harness.js";
import { MAIN, ROOT, jsonOf, shellOf } from "./shell.js";

const run = promisify(execFile);

/** The package that the page speaks of: two nodes, with its name. */
async function installStory(bench: Bench, version = "1.0.0"): Promise<string> {
  const files: Record<string, string> = { ...twoNodePackage() };
  const manifest = JSON.parse(files["bmad.json"] ?? "{}") as object;
  files["bmad.json"] = JSON.stringify({ ...manifest, name: "create-story", version });
  const dir = join(bench.dir, `story-${randomUUID()}`);
  await writeTree(dir, files);
  return valueOf(await bench.store.packages.install(dir)).packageId;
}

/** The page's blocks of one language, for this bench's project and queue. */
async function blocksOf(language: string, bench: Bench): Promise<readonly string[]> {
  const page = await readFile(join(ROOT, "docs/starting-runs.md"), "utf8");
  return [...page.matchAll(new RegExp(`^\`\`\`${language}\\n([^]*?)^\`\`\`$`, "gm"))].map(([, text = ""]) =>
    text
      .replaceAll("/srv/shop", bench.projectRoot)
      .replaceAll("--task-queue interlock", `--task-queue ${bench.store.taskQueue}`)
      .replaceAll('taskQueue: "interlock"', `taskQueue: "${bench.store.taskQueue}"`),
  );
}

/** A shell like a reader's: the Temporal CLI and `interlock` are on its PATH. */
async function readersShell(bench: Bench): Promise<(script: string) => Promise<string>> {
  const { path } = await findTemporalCli({
    cacheDir: inject("cacheDir"),
    pathVariable: process.env["PATH"] ?? "",
  });
  const bin = join(bench.dir, "bin");
  await mkdir(bin, { recursive: true });
  await writeFile(join(bin, "interlock"), `#!/bin/sh\nexec "${process.execPath}" "${MAIN}" "$@"\n`);
  await writeFile(join(bin, "temporal"), `#!/bin/sh\nexec "${path}" "$@"\n`);
  for (const name of ["interlock", "temporal"]) await chmod(join(bin, name), 0o755);
  const environment = shellOf(bench).environment;
  const env = { ...environment, PATH: `${bin}${delimiter}${environment["PATH"] ?? ""}` };
  return async (script) => (await run("sh", ["-e", "-c", script], { env, cwd: bench.dir })).stdout;
}

/** The page's program, where its imports are found as a reader's are. */
async function programOf(name: string, text: string): Promise<string> {
  const file = join(ROOT, "dist/docs", `${name}-${randomUUID()}.ts`);
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, text);
  return file;
}

/** Everything that our commands do with a run, by its workflow's id and by its own. */
async function operate(bench: Bench, workflowId: string): Promise<void> {
  const shell = shellOf(bench);
  const handle = bench.client.handle(workflowId);
  await eventually(() =>
    handle.state().then(
      ({ phase }) => phase === "waiting-user",
      () => false,
    ),
  );
  const listed = jsonOf(await shell.run(["runs", "--json"])) as { runId: string; workflowId: string }[];
  const { runId = "" } = listed.find((item) => item.workflowId === workflowId) ?? {};
  for (const id of [workflowId, runId]) {
    expect(jsonOf(await shell.run(["status", id, "--json"]))).toMatchObject({
      runId,
      workflowId,
      phase: "waiting-user",
    });
    expect(await bench.client.handle(id).state()).toMatchObject({ runId, phase: "waiting-user" });
  }
  expect(await bench.client.handle(runId).identify()).toEqual({ runId, workflowId });
  expect(jsonOf(await shell.run(["cancel", workflowId, "--json"]))).toMatchObject({
    runId,
    outcome: "cancelled",
  });
  const retried = await shell.run(["retry", workflowId, "--detach", "--json"]);
  expect(jsonOf(retried)).toMatchObject({ runId, workflowId });
  await until(bench.client.handle(runId), "waiting-user");
  expect((await shell.run(["answer", workflowId, "The customer's."])).code).toBe(0);
  await expect(bench.client.handle(runId).result()).resolves.toMatchObject({ runId, phase: "completed" });
  const exported = jsonOf(await shell.run(["export", workflowId, "--json"])) as { output: string };
  expect((await stat(exported.output)).size).toBeGreaterThan(0);
  expect(exported).toMatchObject({
    runId,
    entries: expect.arrayContaining(["history-1.json", "history.json", "run.json"]) as string[],
  });
}

describe("the page on starting runs", () => {
  test("its shell commands start runs, answer them and trigger a schedule", { tags: "slow" }, async () => {
    const bench = await openBench(asksFirst);
    await installStory(bench);
    const shell = await readersShell(bench);
    const [startIt = "", answerIt = "", tellIt = "", schedule = "", ...more] = await blocksOf("sh", bench);
    expect(more).toEqual([]);
    const names = (text: string) =>
      text
        .replaceAll("shop-story-7", `story-${bench.store.storeId}`)
        .replaceAll("nightly-story", `nightly-${bench.store.storeId}`);
    const workflowId = names("shop-story-7");
    await shell(names(startIt));
    await until(bench.client.handle(workflowId), "waiting-user");
    expect(await shell(names(tellIt))).toContain("accepted");
    expect(await shell(names(answerIt))).toContain("Answered at ask.");
    await expect(bench.client.handle(workflowId).result()).resolves.toMatchObject({ phase: "completed" });
    await shell(names(schedule));
    let scheduled = "";
    await eventually(async () => {
      const runs = await bench.store.runs.listAllRuns();
      scheduled = runs.map((known) => known.workflowId ?? "").find((id) => id.startsWith("nightly-")) ?? "";
      return scheduled !== "";
    });
    await operate(bench, scheduled);
    await shell(`temporal schedule delete --schedule-id ${names("nightly-story")}`);
  });

  test(
    "its programs start a run with Temporal's client, and as a child of another workflow",
    { tags: "slow" },
    async () => {
      const bench = await openBench(asksFirst);
      await installStory(bench);
      const [withClient = "", asChild = "", ...more] = await blocksOf("ts", bench);
      expect(more).toEqual([]);
      const workflowId = `story-${randomUUID()}`;
      const address = bench.environment["TEMPORAL_ADDRESS"] ?? "";
      const program = withClient
        .replaceAll("shop-story-8", workflowId)
        .replace('process.env["TEMPORAL_ADDRESS"]', JSON.stringify(address));
      await import(await programOf("client", program));
      await operate(bench, workflowId);

      const taskQueue = `parents-${randomUUID()}`;
      const connection = await NativeConnection.connect({ address });
      const worker = await Worker.create({
        connection,
        taskQueue,
        workflowsPath: await programOf("child", asChild),
      });
      const done = worker.run();
      onTestFinished(async () => {
        worker.shutdown();
        await done;
        await connection.close();
      });
      const childId = randomUUID(); // as Temporal names children that are given no id
      const parent = await bench.client.temporal.workflow.start("tellTheStory", {
        taskQueue,
        workflowId: `parent-${childId}`,
        args: [bench.projectRoot, childId],
      });
      await until(bench.client.handle(childId), "waiting-user").catch(() => undefined);
      await operate(bench, childId);
      await expect(parent.result()).rejects.toMatchObject({ name: "WorkflowFailedError" }); // its child was cancelled
    },
  );
});

describe("a package by its name", () => {
  test("is the newest version, and stays it through retry, restore and fork", async () => {
    const bench = await openBench(asksFirst);
    const old = await installStory(bench, "1.9.0");
    const newest = await installStory(bench, "1.10.0");
    await installStory(bench, "1.10.0-rc.1");
    const request = { projectRoot: bench.projectRoot, limits: { maxModelAttempts: 1 } };
    const exact = await bench.client.start({ ...request, packageId: "create-story@1.9.0" });
    expect((await until(exact, "waiting-user")).packageId).toBe(old);
    const named = await bench.client.start({ ...request, packageId: "create-story" });
    expect((await until(named, "waiting-user")).packageId).toBe(newest);
    await installStory(bench, "2.0.0");
    await named.cancel();
    await named.result().catch(() => undefined);
    expect((await until(await bench.client.retry(named.runId), "waiting-user")).packageId).toBe(newest);
    const fork = await bench.client.fork(named.runId, { visit: 0 });
    expect((await until(fork, "waiting-user")).packageId).toBe(newest);
    const kept = await (await bench.filesOf(named)).request.read();
    expect(kept).toMatchObject({ workflowId: `run-${named.runId}`, input: { packageId: newest } });
    const unknown = await bench.client.start({ ...request, packageId: "create-story@3.0.0" });
    await expect(unknown.result()).rejects.toMatchObject({ code: "E_PACKAGE_NOT_FOUND" });
  });
});

test("a workflow id with slashes names its run to each command, replay too", async () => {
  const bench = await openBench(asksFirst);
  const packageId = await installStory(bench);
  const workflowId = `team/story/${randomUUID()}`;
  await bench.client.temporal.workflow.start("graphRun", {
    taskQueue: bench.store.taskQueue,
    workflowId,
    args: [{ projectRoot: bench.projectRoot, packageId }],
  });
  await until(bench.client.handle(workflowId), "waiting-user");
  const shell = shellOf(bench);
  const replayed = await shell.run(["replay", workflowId]);
  expect(replayed).toMatchObject({ code: 0, stdout: expect.stringContaining("The code at hand follows") });
  expect((await shell.run(["status", workflowId])).code).toBe(0);
  const none = await shell.run(["replay", "team/none"]);
  expect([none.code, none.stderr]).toEqual([2, expect.stringContaining("neither a file with a history nor")]);
  await bench.client.handle(workflowId).cancel();
});

describe("a workflow id that is used again", () => {
  test("is another run, and a run id whose run has ended is not begun anew", async () => {
    const bench = await openBench(asksFirst);
    const packageId = await installStory(bench);
    const input = { projectRoot: bench.projectRoot, packageId };
    const begin = (workflowId: string) =>
      bench.client.temporal.workflow.start("graphRun", {
        taskQueue: bench.store.taskQueue,
        workflowId,
        args: [input],
      });
    const again = `again-${randomUUID()}`;
    for (const count of [1, 2]) {
      await begin(again);
      await until(bench.client.handle(again), "waiting-user");
      await bench.client.handle(again).cancel();
      await bench.client
        .handle(again)
        .result()
        .catch(() => undefined);
      expect(await bench.store.runs.listAllRuns()).toHaveLength(count);
    }
    const runId = randomUUID();
    const first = bench.client.handle((await begin(`run-${runId}`)).workflowId);
    expect((await until(first, "waiting-user")).runId).toBe(runId);
    await first.cancel();
    await first.result().catch(() => undefined);
    await begin(`run-${runId}`);
    await expect(first.result()).rejects.toMatchObject({
      code: "E_PRECONDITION_FAILED",
      message: expect.stringContaining(`interlock retry ${runId}`) as string,
    });
  });

  test("a run that failed before it was made is begun anew by a retry", async () => {
    const bench = await openBench(asksFirst);
    const workflowId = `early-${randomUUID()}`;
    await bench.client.temporal.workflow.start("graphRun", {
      taskQueue: bench.store.taskQueue,
      workflowId,
      args: [{ projectRoot: bench.projectRoot, packageId: "create-story" }],
    });
    const handle = bench.client.handle(workflowId);
    await expect(handle.result()).rejects.toMatchObject({ code: "E_PACKAGE_NOT_FOUND" });
    expect(await bench.store.runs.listAllRuns()).toEqual([]);
    await installStory(bench);
    const retried = await shellOf(bench).run(["retry", workflowId, "--detach", "--json"]);
    const { runId } = jsonOf(retried) as { runId: string };
    expect((await until(handle, "waiting-user")).runId).toBe(runId);
    await handle.cancel();
    await handle.result().catch(() => undefined);
    expect((await until(await bench.client.retry(handle), "waiting-user")).runId).toBe(runId);
  });

  test("a run that Temporal has lost is restored under its own workflow id", async () => {
    const bench = await openBench(asksFirst);
    await installStory(bench);
    const workflowId = `lost-${randomUUID()}`;
    await bench.client.temporal.workflow.start("graphRun", {
      taskQueue: bench.store.taskQueue,
      workflowId,
      args: [{ projectRoot: bench.projectRoot, packageId: "create-story" }],
    });
    const { runId } = await until(bench.client.handle(workflowId), "waiting-user");
    const { workflowService } = bench.client.temporal;
    const execution = { workflowId };
    await workflowService.deleteWorkflowExecution({ namespace: "default", workflowExecution: execution });
    await eventually(() =>
      bench.client
        .handle(workflowId)
        .executionStatus()
        .then(
          () => false,
          () => true,
        ),
    );
    const restored = jsonOf(await shellOf(bench).run(["restore", workflowId, "--detach", "--json"]));
    expect(restored).toMatchObject({ runId, workflowId });
    expect((await until(bench.client.handle(workflowId), "waiting-user")).runId).toBe(runId);
  });
});

test(
  "M1: a run in a namespace without search attributes does without them, whoever starts it, and whatever they say",
  { tags: "slow" },
  async () => {
    const bench = await openBench(asksFirst);
    await installStory(bench);
    const namespace = await newNamespace(bench);
    const { connection } = bench.client.temporal;
    const client = new Client({ connection, namespace });
    const address = bench.environment["TEMPORAL_ADDRESS"] ?? "";
    const { config, store } = bench;
    const worker = await startWorker(config, { connection: { address }, namespace, store });
    onTestFinished(() => worker.shutdown());
    const start = (input: object) =>
      client.workflow.start("graphRun", {
        taskQueue: store.taskQueue,
        workflowId: `story-${randomUUID()}`,
        args: [{ projectRoot: bench.projectRoot, packageId: "create-story", ...input }],
        workflowExecutionTimeout: "60 seconds",
      });
    for (const said of [{}, { searchAttributes: true }]) {
      const handle = await start(said);
      await eventually(async () => (await handle.query<RunState>("runState")).phase === "waiting-user");
      await handle.executeUpdate("answer", { args: [{ nodeId: "ask", text: "The customer's." }] });
      await expect(handle.result()).resolves.toMatchObject({ phase: "completed" });
      const { events } = await handle.fetchHistory();
      expect(events?.filter((event) => event.workflowTaskFailedEventAttributes)).toEqual([]);
    }
    const refused = await start({ packageId: "none", searchAttributes: true });
    await expect(refused.result()).rejects.toMatchObject({ cause: { type: "E_PACKAGE_NOT_FOUND" } });
  },
);

test("an activity that no workflow asks for is refused", async () => {
  const bench = await openBench(asksFirst);
  const packageId = await installStory(bench);
  const { runId } = await bench.client.start({ projectRoot: bench.projectRoot, packageId });
  const state = await until(bench.client.handle(runId), "waiting-user");
  const { activity } = bench.client.temporal;
  const alone = activity.execute("state.load", {
    id: randomUUID(),
    taskQueue: bench.store.taskQueue,
    args: [{ run: { ...state, storeId: bench.store.storeId } }],
    startToCloseTimeout: "10 seconds",
  });
  await expect(alone).rejects.toMatchObject({
    cause: { message: expect.stringContaining("for its workflows only") as string },
  });
});

test("a run that was started with a delay says so, and that nobody has begun it", async () => {
  const bench = await openBench(asksFirst);
  const own = { workflowId: `later-${randomUUID()}`, taskQueue: bench.store.taskQueue };
  const args = [{ projectRoot: bench.projectRoot, packageId: await installStory(bench) }];
  const later = await bench.client.temporal.workflow.start("graphRun", {
    ...own,
    args,
    startDelay: "1 hour",
  });
  onTestFinished(async () => {
    await later.terminate();
  });
  expect(await shellOf(bench).run(["status", own.workflowId])).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("The run has not begun: it was started with a delay") as string,
  });
});
