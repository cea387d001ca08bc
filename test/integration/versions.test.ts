// @module-tag slow
import { beforeAll, expect, inject, onTestFinished, test } from "vitest";
import type { RunHandle } from "../../src/client/client.js";
import { workflowIdOf } from "../../src/core/run/run-id.js";
import { verifyAuditLog } from "../../src/store/runs/audit-verify.js";
import { type RunningWorker, startWorker } from "../../src/worker.js";
import { turnOf } from "../crash/crash-script.js";
import { call, patch, type ScriptedAnswer } from "../fakes/scripted-model.js";
import { twoNodePackage } from "../fakes/two-node-package.js";
import { buildNext } from "../versions/next-build.js";
import { eventually } from "../fakes/eventually.js";
import { type Bench, openBench, until } from "./harness.js";
import { shellOf } from "./shell.js";

/* Runs that meet two builds of the workflow code: the one at hand, and a later one with a timer before each model turn. */

type Build = Awaited<ReturnType<typeof buildNext>>;

let patchedBuild: Build;
let unguardedBuild: Build;
beforeAll(async () => {
  patchedBuild = await buildNext("patched");
  unguardedBuild = await buildNext("unguarded");
});

const move = (from: string, to: string) =>
  patch({ stepsCompleted: { append: [from] }, currentNodeId: { set: to } });
/** What the model says in each turn of each node; it asks twice. */
const TURNS: Readonly<Record<string, ScriptedAnswer>> = {
  "ask 1": { calls: [call("fs_write", { path: "@project/artifacts/out.md", content: "text\n" })] },
  "ask 2": { content: "Which?" },
  "ask 3": { calls: [move("ask", "middle")] },
  "middle 1": { content: "And then?" },
  "middle 2": { calls: [move("middle", "finish")] },
  "finish 1": { calls: [patch({ stepsCompleted: { append: ["finish"] } })] },
};
const openStage = () => openBench((request) => TURNS[turnOf(request)] ?? { status: 418 });

/** A worker of the later build on a bench's queue. */
async function startNext(bench: Bench, workflowBundle: Build): Promise<RunningWorker["shutdown"]> {
  const worker = await startWorker(bench.config, {
    connection: { address: inject("temporalAddress") },
    namespace: "default",
    store: bench.store,
    workflowBundle,
  });
  onTestFinished(() => worker.shutdown());
  return () => worker.shutdown();
}

/** The event types of a run's history, a patch's marker as its id, what a worker refused as the reason it gave. */
async function historyOf(bench: Bench, run: RunHandle): Promise<readonly string[]> {
  const handle = bench.client.temporal.workflow.getHandle(workflowIdOf(run.runId));
  const { events } = await handle.fetchHistory();
  return (events ?? []).map((event) => {
    if (event.markerRecordedEventAttributes) return event.markerRecordedEventAttributes.markerName ?? "";
    if (event.workflowTaskFailedEventAttributes)
      return event.workflowTaskFailedEventAttributes.failure?.message ?? "";
    return event.timerStartedEventAttributes ? "timer" : "";
  });
}

const asks = async (run: RunHandle, nodeId: string) => (await run.state()).question?.nodeId === nodeId;

const PATCH = "core_patch";
const isDeparture = (text: string) => /nondeterminism/i.test(text);

const answer = (run: RunHandle, nodeId: string, answerId: string) =>
  run.answer({ nodeId, text: "That one.", answerId });

/** Nothing is lost and nothing is there twice: what the model was asked, and what the log says. */
async function expectWhole(bench: Bench, run: RunHandle): Promise<void> {
  expect(await run.result()).toMatchObject({ phase: "completed" });
  const writes = (await bench.auditEvents(run)).filter((event) => event["toolName"] === "fs.write");
  expect(writes).toHaveLength(1);
  expect((await bench.document(run)).frontmatter["stepsCompleted"]).toEqual(["ask", "middle", "finish"]);
  expect((await verifyAuditLog((await bench.filesOf(run)).logFile)).findings).toEqual([]);
}

test("a run that waits goes on with a later build, and has its change from there", async () => {
  const bench = await openStage();
  const run = await bench.start(twoNodePackage());
  await until(run, "waiting-user");
  await bench.stopWorker();
  await startNext(bench, patchedBuild);
  await answer(run, "ask", "1");
  await until(run, "waiting-user");
  await answer(run, "middle", "2");
  await expectWhole(bench, run);
  const history = await historyOf(bench, run);
  expect(history.filter((text) => text === PATCH)).toHaveLength(1);
  expect(history.filter(isDeparture)).toEqual([]);
});

test("one that a later build has only looked at goes on with the build it came from", async () => {
  const bench = await openStage();
  const run = await bench.start(twoNodePackage());
  await until(run, "waiting-user");
  await bench.stopWorker();
  const stopNext = await startNext(bench, patchedBuild);
  expect(await run.state()).toMatchObject({ phase: "waiting-user" });
  await stopNext();
  await bench.startAnotherWorker();
  await answer(run, "ask", "1");
  await until(run, "waiting-user");
  await answer(run, "middle", "2");
  await expectWhole(bench, run);
  expect((await historyOf(bench, run)).filter((text) => text === PATCH || isDeparture(text))).toEqual([]);
});

test("one that has a later build's change waits, whole, when an earlier build takes over, and goes on with the later", async () => {
  const bench = await openStage();
  const run = await bench.start(twoNodePackage());
  await until(run, "waiting-user");
  await bench.stopWorker();
  const stopNext = await startNext(bench, patchedBuild);
  await answer(run, "ask", "1");
  await until(run, "waiting-user");
  await stopNext();
  await bench.startAnotherWorker();
  const answered = answer(run, "middle", "2");
  await eventually(async () => (await historyOf(bench, run)).some(isDeparture));
  expect((await bench.document(run)).frontmatter["stepsCompleted"]).toEqual(["ask"]);
  await bench.stopWorker();
  await startNext(bench, patchedBuild);
  await answered;
  await expectWhole(bench, run);
});

test("one that has a later build's change is not read by an earlier build: that is said, and keeps no other run from the inbox", async () => {
  const bench = await openStage();
  const run = await bench.start(twoNodePackage());
  await until(run, "waiting-user");
  await bench.stopWorker();
  const stopNext = await startNext(bench, patchedBuild);
  await answer(run, "ask", "1");
  await eventually(() => asks(run, "middle"));
  await stopNext();
  await bench.startAnotherWorker();
  await expect(run.state()).rejects.toMatchObject({
    code: "E_PRECONDITION_FAILED",
    message: expect.stringContaining("a worker of another version of Interlock"),
  });
  const other = await bench.start(twoNodePackage());
  await until(other, "waiting-user");
  const asked = new Map<string, object>();
  await eventually(async () => {
    asked.clear();
    for await (const question of bench.client.questions()) asked.set(question.runId, question);
    return asked.has(run.runId) && asked.has(other.runId);
  });
  expect(asked.get(run.runId)).toMatchObject({ text: "And then?", isWhole: false });
  expect(asked.get(other.runId)).toMatchObject({ text: "Which?", isWhole: true });
  const { code, stdout, stderr } = await shellOf(bench).run(["status", run.runId]);
  expect({ code, stdout }).toMatchObject({ code: 0, stdout: expect.stringContaining("waiting-user") });
  expect(stderr).toContain("a worker of another version of Interlock");
});

test("runs complete while workers of both builds take their tasks", { timeout: 300_000 }, async () => {
  const bench = await openStage();
  await startNext(bench, patchedBuild);
  const runs = await Promise.all(Array.from({ length: 2 }, () => bench.start(twoNodePackage())));
  await Promise.all(
    runs.map(async (run) => {
      await eventually(() => asks(run, "ask"));
      await answer(run, "ask", "1");
      await eventually(() => asks(run, "middle"));
      await answer(run, "middle", "2");
      expect(await run.result()).toMatchObject({ phase: "completed" });
      expect((await verifyAuditLog((await bench.filesOf(run)).logFile)).findings).toEqual([]);
    }),
  );
});

test("a change that is not guarded is refused, the run waits, whole, and goes on with the build it came from", async () => {
  const bench = await openStage();
  const run = await bench.start(twoNodePackage());
  await until(run, "waiting-user");
  await bench.stopWorker();
  const stopNext = await startNext(bench, unguardedBuild);
  const answered = answer(run, "ask", "1");
  await eventually(async () => (await historyOf(bench, run)).some(isDeparture));
  expect(bench.model.requests).toHaveLength(2);
  await stopNext();
  await bench.startAnotherWorker();
  await answered;
  await until(run, "waiting-user");
  await answer(run, "middle", "2");
  await expectWhole(bench, run);
});
