import { randomUUID } from "node:crypto";
import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, inject, onTestFinished, test } from "vitest";
import { InterlockClient, type RunHandle } from "../../src/client/client.js";
import { RunDescriber } from "../../src/client/runs/describe-run.js";
import { SEARCH_ATTRIBUTES } from "../../src/contract/names.js";
import { workflowIdOf } from "../../src/core/run/run-id.js";
import { findTemporalCli } from "../../src/embedded/find-cli.js";
import { STEP_SIZES } from "../../src/core/step-size.js";
import { replayHistory } from "../../src/replay.js";
import { startWorker } from "../../src/worker.js";
import { startEmptyWorker } from "../fakes/empty-worker.js";
import { openPlace } from "../fakes/place.js";
import { valueOf } from "../fakes/run-world.js";
import { type Script, patch } from "../fakes/scripted-model.js";
import { twoNodePackage } from "../fakes/two-node-package.js";
import { STRAIGHT, straightOn } from "../fakes/walk.js";
import { eventually } from "../fakes/eventually.js";
import { quietRuntime } from "../fakes/quiet-runtime.js";
import { type Bench, openBench, until, writeTree } from "./harness.js";
import { jsonOf, shellOf } from "./shell.js";

const address = inject("temporalAddress");

/** What the query `__temporal_workflow_metadata` answers, as far as it is looked at here. */
interface WorkflowMetadata {
  readonly currentDetails?: string;
  readonly definition?: {
    readonly queryDefinitions?: readonly Described[];
    readonly updateDefinitions?: readonly Described[];
  };
}
interface Described {
  readonly name?: string;
  readonly description?: string;
}

/** The real CLI, as an operator uses it. */
async function temporal(args: readonly string[]): Promise<string> {
  const cli = await findTemporalCli({
    cacheDir: inject("cacheDir"),
    pathVariable: process.env["PATH"] ?? "",
  });
  const { stdout } = await promisify(execFile)(cli.path, [...args, "--address", address]);
  return stdout;
}

function pendingActivity(bench: Bench, run: RunHandle) {
  const { temporal: client } = bench.client;
  return client.workflow
    .getHandle(workflowIdOf(run.runId))
    .describe()
    .then(({ raw }) => raw.pendingActivities?.[0]);
}

describe("a model call that takes long", () => {
  test("is alive for Temporal every one and a half seconds", { tags: "slow" }, async () => {
    const bench = await openBench([{ hang: true }]);
    const run = await bench.start(twoNodePackage());
    await eventually(() => bench.model.requests.length === 1);
    const beats = new Set<number>();
    await eventually(async () => {
      const time = (await pendingActivity(bench, run))?.lastHeartbeatTime;
      if (time) beats.add(Number(time.seconds) * 1_000 + (time.nanos ?? 0) / 1e6);
      return beats.size === 5;
    });
    const [first = 0, ...others] = beats;
    const gaps = others.map((beat, index) => beat - ([first, ...others][index] ?? 0));
    expect(Math.min(...gaps)).toBeLessThan(3_000); // at four fifths of the heartbeat timeout it is 4,800
    await run.cancel();
    await expect(run.result()).rejects.toMatchObject({ code: "ENGINE_ABORTED" });
    await eventually(() => bench.model.aborted === 1);
  });

  test("may take what the settings allow, also more than ten minutes", async () => {
    const bench = await openBench(STRAIGHT, { INTERLOCK_MODEL_TIMEOUT_SECONDS: "900" });
    const run = await bench.start(twoNodePackage());
    await run.result();
    const { events } = await run.history();
    const turns = (events ?? []).flatMap(({ activityTaskScheduledEventAttributes: scheduled }) =>
      scheduled?.activityType?.name === "model.turn" ? [Number(scheduled.startToCloseTimeout?.seconds)] : [],
    );
    expect(turns).toEqual([960, 960, 960]);
  });
});

describe("what the Web UI shows of a run", () => {
  const metadataOf = async (bench: Bench, run: RunHandle) => {
    const handle = bench.client.temporal.workflow.getHandle(run.workflowId);
    return handle.query<WorkflowMetadata>("__temporal_workflow_metadata");
  };

  test("is package and project in the list, the graph and what it asks in the details", async () => {
    const bench = await openBench([{ content: "Which colour?" }]);
    const run = await bench.start(twoNodePackage());
    await until(run, "waiting-user");
    const { raw } = await bench.client.temporal.workflow.getHandle(run.workflowId).describe();
    const { summary } = raw.executionConfig?.userMetadata ?? {};
    const { packageId } = await run.state();
    expect(new TextDecoder().decode(summary?.data ?? undefined)).toBe(
      JSON.stringify(`${packageId} on ${basename(bench.projectRoot)}`),
    );
    const { currentDetails = "" } = await metadataOf(bench, run);
    expect(currentDetails).toMatch(/^\| `ask` \|.*▶ waits/m);
    expect(currentDetails).toContain(`interlock answer ${run.runId}`);
    await run.cancel();
    await expect(run.result()).rejects.toMatchObject({ code: "ENGINE_ABORTED" });
    const over = (await metadataOf(bench, run)).currentDetails ?? "";
    expect(over).toContain("**Failed: `ENGINE_ABORTED`**");
    expect(over).toContain(`interlock retry ${run.runId}`);
    expect(over).not.toContain("interlock answer");
  });

  test("is what it can be asked and told, each with an example", async () => {
    const bench = await openBench([{ content: "Which colour?" }]);
    const run = await bench.start(twoNodePackage());
    await until(run, "waiting-user");
    const { definition } = await metadataOf(bench, run);
    const { queryDefinitions = [], updateDefinitions = [] } = definition ?? {};
    const own = [...queryDefinitions, ...updateDefinitions].filter(({ name = "" }) => !name.startsWith("__"));
    expect(new Set(own.map(({ name }) => name))).toEqual(
      new Set(["answer", "budget", "finish", "graphState", "pause", "resume", "runState"]),
    );
    for (const { description = "" } of own) expect(description).toMatch(/^[A-Z].*(Argument: \{|No argument)/);
    await run.cancel();
    await expect(run.result()).rejects.toMatchObject({ code: "ENGINE_ABORTED" });
  });
});

test("status says what runs where, who began it and when, what each node took, and how a failed run goes on", async () => {
  const step = (nodeId: string, next: string) =>
    patch({ stepsCompleted: { append: [nodeId] }, currentNodeId: { set: next } });
  const bench = await openBench([{ calls: [step("ask", "middle")] }, { status: 401 }]);
  const run = await bench.start(twoNodePackage());
  await expect(run.result()).rejects.toMatchObject({ code: "LLM_AUTH_FAILED" });
  const shell = shellOf(bench);
  const { packageId, projectId } = await run.state();
  const told = jsonOf(await shell.run(["status", run.runId, "--json"]));
  expect(told).toMatchObject({
    packageId,
    projectId,
    startedBy: expect.stringMatching(/^\d+@/) as string,
    startedAt: expect.stringMatching(/^20.*Z$/) as string,
    endedAt: expect.stringMatching(/^20.*Z$/) as string,
    usageByNode: [{ nodeId: "ask", usage: { modelTurns: 1, promptTokens: 100, completionTokens: 10 } }],
  });
  const { stdout } = await shell.run(["status", run.runId]);
  expect(stdout).toContain(`  package     ${packageId}\n`);
  expect(stdout).toContain(`  project     ${bench.projectRoot}\n`);
  expect(stdout).toMatch(/ {2}started {5}20\S+Z by \d+@/);
  expect(stdout).toContain(`  go on with interlock retry ${run.runId}\n`);
  const withoutTemporal = await shellOf(bench, { TEMPORAL_ADDRESS: "" }).run(["status", run.runId]);
  expect(withoutTemporal.stdout).toMatch(/ {2}started {5}20\S+Z\n {2}ended {7}20/);
});

test("a failure that cannot be recorded stays the failure that it is, and says that it was not recorded", async () => {
  let bench: Bench | undefined;
  let run: RunHandle | undefined;
  const script: Script = async () => {
    await eventually(() => run !== undefined);
    if (bench === undefined || run === undefined) throw new Error("no run");
    const { dir } = await bench.filesOf(run);
    await writeFile(join(dir, "execution.2"), "{}"); // a newer execution: this one records nothing more
    return { status: 401 };
  };
  bench = await openBench(script);
  run = await bench.start(twoNodePackage());
  await expect(run.result()).rejects.toMatchObject({ code: "LLM_AUTH_FAILED" });
  expect((await run.state()).failure).toMatchObject({
    code: "LLM_AUTH_FAILED",
    details: { unrecorded: { code: "ENGINE_ABORTED" } },
  });
});

test(
  "a run sets the search attributes that its namespace has, and later ones that are added meanwhile",
  { tags: "slow" },
  async () => {
    quietRuntime();
    const namespace = `some-${randomUUID()}`;
    await temporal(["operator", "namespace", "create", "--namespace", namespace, "--retention", "24h"]);
    const create = (names: readonly string[], type = "Keyword") =>
      temporal([
        "operator",
        "search-attribute",
        "create",
        "--namespace",
        namespace,
        ...names.flatMap((name) => ["--name", name, "--type", type]),
      ]);
    await create(["RunPhase", "RunNode"]);
    await create(["RunAgent"], "Int");
    const place = await openPlace(address, straightOn);
    const { store, config, projectRoot } = place;
    const client = await InterlockClient.connect({
      connection: { address },
      taskQueue: store.taskQueue,
      namespace,
    });
    await eventually(async () => (await client.missingSearchAttributes()).length === 4);
    const worker = await startWorker(config, { connection: { address }, namespace, store });
    try {
      await writeTree(join(place.dir, "package"), twoNodePackage());
      const { packageId } = valueOf(await store.packages.install(join(place.dir, "package")));
      const attributesOf = async (run: RunHandle) => {
        await run.result();
        const { raw } = await client.temporal.workflow.getHandle(run.workflowId).describe();
        const fields = raw.workflowExecutionInfo?.searchAttributes?.indexedFields ?? {};
        return Object.keys(SEARCH_ATTRIBUTES).filter((name) => name in fields);
      };
      expect(await attributesOf(await client.start({ projectRoot, packageId }))).toEqual([
        "RunPhase",
        "RunNode",
      ]);
      await create(["RunWorkflow"]);
      await eventually(async () => (await client.missingSearchAttributes()).length === 3);
      expect(await attributesOf(await client.start({ projectRoot, packageId }))).toEqual([
        "RunPhase",
        "RunNode",
        "RunWorkflow",
      ]);
      const own = { workflowId: `order-${randomUUID()}`, taskQueue: store.taskQueue };
      await client.temporal.workflow.start("graphRun", { ...own, args: [{ projectRoot, packageId }] });
      expect(await attributesOf(client.handle(own.workflowId))).toEqual([
        "RunPhase",
        "RunNode",
        "RunWorkflow",
      ]);
    } finally {
      await worker.shutdown();
      await client.close();
      await place.close();
    }
  },
);

describe("a run that is reset in the Web UI", () => {
  const reset = (run: RunHandle, to: readonly string[]) =>
    temporal(["workflow", "reset", "--workflow-id", workflowIdOf(run.runId), "--reason", "test", ...to]);
  const FIRST = ["--type", "FirstWorkflowTask"];

  /** The events of the newest execution that an operator can reset it to. */
  async function tasksOf(run: RunHandle) {
    const { events } = await run.history();
    const tasks = (events ?? []).filter((event) => event.workflowTaskCompletedEventAttributes);
    return tasks.map(({ eventId }) => String(eventId));
  }

  async function phasesOf(bench: Bench, run: RunHandle) {
    const events = await bench.auditEvents(run);
    return events.filter(({ kind }) => kind === "run.phase").map(({ phase }) => phase);
  }

  test("when it was completed stays completed, with what it has used", async () => {
    const bench = await openBench(straightOn);
    const run = await bench.start(twoNodePackage());
    const result = await run.result();
    await reset(run, FIRST);
    expect(await bench.client.handle(run.runId).result()).toEqual(result);
    expect(bench.model.requests).toHaveLength(3);
    expect(await phasesOf(bench, run)).toEqual(["completed", "running", "completed"]);
    expect((await (await bench.filesOf(run)).status.read())?.phase).toBe("completed");
  });

  test("when it was started by another client, under an id of its own, stays the run that it is", async () => {
    const bench = await openBench(straightOn);
    const first = await bench.start(twoNodePackage());
    await first.result();
    const { packageId } = await first.state();
    const own = { workflowId: `order-${randomUUID()}`, taskQueue: bench.store.taskQueue };
    const args = [{ projectRoot: bench.projectRoot, packageId }];
    const started = await bench.client.temporal.workflow.start("graphRun", { ...own, args });
    const result: unknown = await started.result();
    await temporal(["workflow", "reset", "--workflow-id", own.workflowId, "--reason", "test", ...FIRST]);
    expect(await bench.client.handle(own.workflowId).result()).toEqual(result);
    expect(bench.model.requests).toHaveLength(6);
    expect(result).toMatchObject({ runId: started.firstExecutionRunId });
  });

  test("when it had failed goes on where it failed, as after a retry", async () => {
    let isDown = true;
    const bench = await openBench((request, index) =>
      index === 1 && isDown ? { status: 401 } : straightOn(request),
    );
    const run = await bench.start(twoNodePackage());
    await expect(run.result()).rejects.toMatchObject({ code: "LLM_AUTH_FAILED" });
    isDown = false;
    await reset(run, FIRST);
    const result = await bench.client.handle(run.runId).result();
    expect(result).toMatchObject({ stepsCompleted: ["ask", "middle", "finish"], usage: { modelTurns: 3 } });
    expect(await phasesOf(bench, run)).toEqual(["failed", "running", "completed"]);
  });

  test("while it waits for an answer goes on from there, and the one before changes nothing more", async () => {
    const bench = await openBench((request, index) =>
      index === 1 ? { content: "Which colour?" } : straightOn(request),
    );
    const run = await bench.start(twoNodePackage());
    await until(run, "waiting-user");
    await reset(run, FIRST);
    const again = bench.client.handle(run.runId);
    const result = await again.result();
    expect(result).toMatchObject({ stepsCompleted: ["ask", "middle", "finish"], usage: { modelTurns: 4 } });
    expect((await bench.filesOf(run)).executions.newest()).toBe(2);
  });

  test("to a question that it has had an answer to takes another one, and goes on where it stood", async () => {
    const bench = await openBench((request, index) =>
      index === 0 ? { content: "Which colour?" } : straightOn(request),
    );
    const run = await bench.start(twoNodePackage());
    await until(run, "waiting-user");
    const asked = (await tasksOf(run)).at(-1) ?? "";
    await run.answer({ nodeId: "ask", text: "Red.", answerId: "a" });
    await run.result();
    await reset(run, ["--event-id", asked, "--reapply-exclude", "All"]);
    const again = bench.client.handle(run.runId);
    await until(again, "waiting-user");
    await again.answer({ nodeId: "ask", text: "Blue.", answerId: "b" });
    expect(await again.result()).toMatchObject({ stepsCompleted: ["ask", "middle", "finish"] });
  });

  test.each(["completed", "failed"])("to a moment in its middle, when it was %s", async (phase) => {
    let isDown = phase === "failed";
    const bench = await openBench((request, index) =>
      index === 2 && isDown ? { status: 401 } : straightOn(request),
    );
    const run = await bench.start(twoNodePackage());
    await run.result().catch(() => undefined);
    isDown = false;
    const tasks = await tasksOf(run);
    await reset(run, ["--event-id", tasks[Math.floor(tasks.length / 2)] ?? ""]);
    const result = await bench.client.handle(run.runId).result();
    expect(result).toMatchObject({ stepsCompleted: ["ask", "middle", "finish"], usage: { modelTurns: 3 } });
    expect((await (await bench.filesOf(run)).status.read())?.phase).toBe("completed");
    expect((await phasesOf(bench, run)).at(-1)).toBe("completed");
    const calls = (await bench.auditEvents(run)).filter(({ kind }) => kind === "tool.exec");
    expect(calls).toHaveLength(3);
  });

  test(
    "of an execution that a newer one has followed, to its opening, goes on where the run stands",
    { tags: "slow" },
    async () => {
      const bench = await openBench((request, index) =>
        index === 0 ? { status: 401 } : straightOn(request),
      );
      const run = await bench.start(twoNodePackage());
      await run.result().catch(() => undefined);
      const [, opened = ""] = await tasksOf(run);
      const first = await bench.client.temporal.workflow.getHandle(workflowIdOf(run.runId)).describe();
      await bench.client.retry(run.runId);
      await bench.client.handle(run.runId).result();
      await reset(run, ["--run-id", first.runId, "--event-id", opened]);
      const again = bench.client.handle(run.runId);
      const result = await again.result();
      expect(result).toMatchObject({ stepsCompleted: ["ask", "middle", "finish"], usage: { modelTurns: 3 } });
      expect((await phasesOf(bench, run)).at(-1)).toBe("completed");
      await eventually(async () => (await again.histories()).length === 4);
      for (const history of await again.histories()) {
        expect(await replayHistory(history)).toMatchObject({ ok: true });
      }
    },
  );

  test.each(STEP_SIZES)("leaves histories that replay, by %s", async (steps) => {
    const bench = await openBench(straightOn);
    const run = await bench.start(twoNodePackage(), { steps });
    await run.result();
    const tasks = await tasksOf(run);
    await reset(run, ["--event-id", tasks[steps === "turns" ? 3 : 1] ?? ""]);
    const again = bench.client.handle(run.runId);
    await again.result();
    // The first, the one that was reset and what goes on: lists of Temporal's are a moment behind.
    await eventually(async () => (await again.histories()).length === 3);
    for (const history of await again.histories()) {
      expect(await replayHistory(history)).toMatchObject({ ok: true });
    }
  });
});

test(
  "a run whose workflow task is lost with its worker, and then fails in each other one, says that it stands still",
  { tags: "slow" },
  async () => {
    const bench = await openBench([{ content: "Which colour?" }]);
    const run = await bench.start(twoNodePackage());
    await until(run, "waiting-user");
    await bench.stopWorker();
    const { connection, workflow, workflowService } = bench.client.temporal;
    await workflow.getHandle(workflowIdOf(run.runId)).signal("look");
    const poll = {
      namespace: "default",
      taskQueue: { name: bench.store.taskQueue },
      identity: "dies with it",
    };
    const { attempt } = await connection.withDeadline(Date.now() + 60_000, () =>
      workflowService.pollWorkflowTaskQueue(poll),
    );
    expect(attempt).toBe(1);
    const stopEmptyWorker = await startEmptyWorker(address, bench.store.taskQueue);
    onTestFinished(stopEmptyWorker);
    await eventually(async () => (await run.pendingWork()).taskFailure !== undefined);
    const { taskFailure } = await run.pendingWork();
    expect(taskFailure?.attempt).toBeGreaterThan(2);
    expect(taskFailure?.message).toContain("their logs do");
  },
);

test(
  "a run whose workflow task fails in each worker says why, takes nothing, and goes on from its files",
  { tags: "slow" },
  async () => {
    const bench = await openBench([{ content: "Which colour?" }, ...STRAIGHT]);
    const run = await bench.start(twoNodePackage());
    await until(run, "waiting-user");
    await bench.stopWorker();
    const stopEmptyWorker = await startEmptyWorker(address, bench.store.taskQueue);
    await bench.client.temporal.workflow.getHandle(workflowIdOf(run.runId)).signal("look");
    await eventually(async () => (await run.pendingWork()).taskFailure !== undefined);

    const shell = shellOf(bench);
    const why = /its workflow task fails, attempt \d+: .*graphRun.*interlock retry/s;
    const status = await shell.run(["status", run.runId]);
    expect(status.code).toBe(0);
    expect(status.stderr).toMatch(why);
    const told = jsonOf(await shell.run(["status", run.runId, "--json"]));
    expect(told).toMatchObject({ taskFailure: { message: expect.stringContaining("graphRun") as string } });
    const described = await new RunDescriber(bench.client, run).describe();
    expect(described.pending.taskFailure?.message).toContain("graphRun");
    const paused = await shell.run(["pause", run.runId]);
    expect(paused.code).toBe(1);
    expect(paused.stderr).toMatch(why);
    expect(paused.stderr).toContain("can be told nothing");

    await temporal(["workflow", "terminate", "--workflow-id", workflowIdOf(run.runId)]);
    const terminated = jsonOf(await shell.run(["status", run.runId, "--json"]));
    expect(terminated).toMatchObject({ phase: "failed", failure: { code: "ENGINE_ABORTED" } });
    await stopEmptyWorker();
    await bench.startAnotherWorker();
    const retried = await bench.client.retry(run.runId);
    await expect(retried.result()).resolves.toMatchObject({ phase: "completed" });
  },
);
