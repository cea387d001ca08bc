import { describe, expect, test } from "vitest";
import type { RunHandle } from "../../src/client/client.js";
import { eventually } from "../fakes/eventually.js";
import { firstWay, nestedPackage, nodesAsked } from "../fakes/nested-package.js";
import { type Script, call } from "../fakes/scripted-model.js";
import { nodeOf, wordsIn } from "../fakes/walk.js";
import { type Bench, openBench, until } from "./harness.js";
import { shellOf } from "./shell.js";

const END = { type: "end" };
const nested = nestedPackage({
  main: { nodes: { plan: {}, parts: { type: "subworkflow", workflow: "part" }, done: END } },
  part: { nodes: { draft: {}, ready: END } },
});

/** Asks at `ready` until it was answered. */
const asking: Script = (request) =>
  nodeOf(request) === "ready" && wordsIn(request).length === 0 ? { content: "Go on?" } : firstWay(request);

async function started(bench: Bench): Promise<{ readonly run: RunHandle; readonly below: RunHandle }> {
  const run = await bench.start(nested, { workflowRef: "main" });
  let found: string | undefined;
  await eventually(async () => {
    found = (await run.state()).below?.runId;
    return found !== undefined;
  });
  return { run, below: bench.client.handle(found ?? "") };
}

const runsOf = async (bench: Bench) =>
  (await bench.store.runs.listAllRuns()).map(({ workflowRef, phase }) => [workflowRef, phase]);

const ABORTED = { code: "ENGINE_ABORTED" };

describe("the run of a subworkflow", () => {
  test("is cancelled with the run above, which ends after it, and a retry lets both go on", async () => {
    const bench = await openBench(asking);
    const { run, below } = await started(bench);
    await until(below, "waiting-user");
    await run.cancel();
    await expect(run.result()).rejects.toMatchObject(ABORTED);
    await expect(below.result()).rejects.toMatchObject(ABORTED);
    expect(await runsOf(bench)).toEqual([
      ["main", "failed"],
      ["part", "failed"],
    ]);
    const again = await bench.client.retry(run.runId);
    const goesOn = bench.client.handle(below.runId);
    await eventually(async () => (await goesOn.state()).phase === "waiting-user");
    await goesOn.answer({ nodeId: "ready", text: "Yes." });
    await expect(again.result()).resolves.toMatchObject({ stepsCompleted: ["plan", "parts", "done"] });
    expect(nodesAsked(bench.model.requests)).toEqual(["plan", "draft", "ready", "ready", "ready", "done"]);
    expect(await runsOf(bench)).toEqual([
      ["main", "completed"],
      ["part", "completed"],
    ]);
  });

  test("that is cancelled by itself fails the run above, which says which run it was", async () => {
    const bench = await openBench(asking);
    const { run, below } = await started(bench);
    await until(below, "waiting-user");
    await below.cancel();
    await expect(run.result()).rejects.toMatchObject({
      code: "ENGINE_ABORTED",
      message: `The subworkflow at parts, run ${below.runId}, has not completed: The run was cancelled. Once that is mended, let this run go on, and with it that one: interlock retry ${run.runId}`,
    });
  });

  test("that is terminated fails the run above", async () => {
    const bench = await openBench(asking);
    const { run, below } = await started(bench);
    await until(below, "waiting-user");
    await bench.client.temporal.workflow.getHandle(`run-${below.runId}`).terminate("enough");
    await expect(run.result()).rejects.toMatchObject({
      code: "E_INTERNAL",
      message: expect.stringContaining(`run ${below.runId}, has not completed`) as string,
    });
  });

  test("ends when the run above is terminated", async () => {
    const bench = await openBench(asking);
    const { run, below } = await started(bench);
    await until(below, "waiting-user");
    await bench.client.temporal.workflow.getHandle(`run-${run.runId}`).terminate("enough");
    await expect(below.result()).rejects.toMatchObject(ABORTED);
  });
});

describe("a subworkflow that fails", () => {
  /** Fails at `ready` while `isBroken`. */
  function breaking() {
    const state = { isBroken: true };
    const write = call("fs_write", { path: "@project/artifacts/part.md", content: "part\n" });
    const script: Script = (request) => {
      if (nodeOf(request) === "ready" && state.isBroken) return { status: 401 };
      const isFirst = nodeOf(request) === "draft" && request.messages.at(-1)?.role !== "tool";
      return isFirst ? { calls: [write] } : firstWay(request);
    };
    return { state, script };
  }

  async function failed() {
    const { state, script } = breaking();
    const bench = await openBench(script);
    const { run, below } = await started(bench);
    await expect(run.result()).rejects.toMatchObject({
      code: "LLM_AUTH_FAILED",
      message: expect.stringContaining(`The subworkflow at parts, run ${below.runId}, has not`) as string,
    });
    expect(await runsOf(bench)).toEqual([
      ["main", "failed"],
      ["part", "failed"],
    ]);
    return { bench, run, below, state };
  }

  test("fails the run above, and its retry goes on in the same run below, where that stood", async () => {
    const { bench, run, below, state } = await failed();
    const status = await shellOf(bench).run(["status", run.runId]);
    expect(status.stdout).toContain(below.runId);
    state.isBroken = false;
    const again = await bench.client.retry(run.runId);
    await expect(again.result()).resolves.toMatchObject({
      artifacts: ["artifacts/part.md"],
      usage: { modelTurns: 5 },
    });
    expect(nodesAsked(bench.model.requests)).toEqual(["plan", "draft", "draft", "ready", "ready", "done"]);
    const runs = await bench.store.runs.listAllRuns();
    expect(runs.map(({ runId }) => runId)).toEqual([run.runId, below.runId]);
  });

  test("and was let go on by itself is not done again", async () => {
    const { bench, run, below, state } = await failed();
    state.isBroken = false;
    const alone = await bench.client.retry(below.runId);
    await alone.result();
    const asked = bench.model.requests.length;
    const again = await bench.client.retry(run.runId);
    await expect(again.result()).resolves.toMatchObject({ stepsCompleted: ["plan", "parts", "done"] });
    expect(nodesAsked(bench.model.requests.slice(asked))).toEqual(["done"]);
  });

  test("and goes on by itself is waited for by the run above", async () => {
    const { bench, run, below, state } = await failed();
    state.isBroken = false;
    const alone = await bench.client.retry(below.runId);
    await alone.pause();
    const again = await bench.client.retry(run.runId);
    await eventually(async () => {
      const { progress } = await again.state();
      return progress.some(({ text }) => text.includes("goes on by itself"));
    });
    await alone.resume();
    await expect(again.result()).resolves.toMatchObject({ stepsCompleted: ["plan", "parts", "done"] });
  });
});

test("a run below that somebody has let go on by itself is cancelled with the run above that waits for it", async () => {
  const bench = await openBench(asking);
  const { run, below } = await started(bench);
  await until(below, "waiting-user");
  await below.cancel();
  await expect(run.result()).rejects.toMatchObject(ABORTED);
  const alone = await bench.client.retry(below.runId);
  const again = await bench.client.retry(run.runId);
  await eventually(async () => {
    const { progress } = await again.state();
    return progress.some(({ text }) => text.includes("goes on by itself"));
  });
  await again.cancel();
  await expect(again.result()).rejects.toMatchObject(ABORTED);
  await expect(alone.result()).rejects.toMatchObject(ABORTED);
});

describe("a run that is reset while it waits for a subworkflow", () => {
  /** To the first or the last workflow task that was completed. */
  async function reset(bench: Bench, { runId }: RunHandle, which: "first" | "last"): Promise<void> {
    const { temporal } = bench.client;
    const workflowId = `run-${runId}`;
    const { events = [] } = await temporal.workflow.getHandle(workflowId).fetchHistory();
    const tasks = (events ?? []).filter((event) => event.workflowTaskCompletedEventAttributes);
    const task = which === "first" ? tasks[0] : tasks.at(-1);
    await temporal.workflowService.resetWorkflowExecution({
      namespace: "default",
      workflowExecution: { workflowId },
      workflowTaskFinishEventId: task?.eventId ?? null,
      requestId: `${workflowId} ${which}`,
    });
  }

  test.each(["first", "last"] as const)("to its %s step waits for the same run below", async (which) => {
    const bench = await openBench(asking);
    const { run, below } = await started(bench);
    await until(below, "waiting-user");
    await reset(bench, run, which);
    const again = bench.client.handle(run.runId);
    await eventually(async () => {
      const { phase, below: waited } = await again.state();
      return phase === "running" && waited?.runId === below.runId;
    });
    await below.answer({ nodeId: "ready", text: "Yes." });
    await expect(again.result()).resolves.toMatchObject({ stepsCompleted: ["plan", "parts", "done"] });
    const runs = await bench.store.runs.listAllRuns();
    expect(runs.map(({ runId }) => runId)).toEqual([run.runId, below.runId]);
  });
});
