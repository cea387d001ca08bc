import { mkdirSync, renameSync, rmdirSync } from "node:fs";
import { join } from "node:path";
import { type History, historyFromJSON, historyToJSON } from "@temporalio/common/lib/proto-utils.js";
import { expect, test } from "vitest";
import type { RunHandle } from "../../src/client/client.js";
import { workflowIdOf } from "../../src/core/run/run-id.js";
import type { Usage } from "../../src/core/run/usage.js";
import { STEP_SIZES } from "../../src/core/step-size.js";
import { replayHistory } from "../../src/replay.js";
import { eventually } from "../fakes/eventually.js";
import { STRAIGHT, nodeOf, readsFirst, roundAndRound, step, straightOn } from "../fakes/walk.js";
import { call, patch } from "../fakes/scripted-model.js";
import { circlePackage, twoNodePackage } from "../fakes/two-node-package.js";
import { type Bench, openBench, until, writeTree } from "./harness.js";
import { jsonOf, shellOf } from "./shell.js";

const NODES = { steps: "nodes" } as const;
const SLOW_MS = 1_500;

const temporalOf = (bench: Bench, run: RunHandle) =>
  bench.client.temporal.workflow.getHandle(workflowIdOf(run.runId));

interface Steps {
  /** The regular activities of the history but model turns, each with what the timeline shows of it. */
  readonly steps: readonly string[];
  /** What the timeline shows of regular model turns. A busy machine makes more of them: that is what they are for. */
  readonly turns: readonly string[];
  /** How many turns were begun inside a workflow task. */
  readonly quickTurns: number;
  /** How many calls were local activities of their own. */
  readonly localCalls: number;
  /** How many boundaries were. */
  readonly localBoundaries: number;
}

/** What a run's history is made of. It replays. */
async function stepsOf(bench: Bench, run: RunHandle): Promise<Steps> {
  const history = await temporalOf(bench, run).fetchHistory();
  expect(await replayHistory(history)).toMatchObject({ ok: true });
  const events = history.events ?? [];
  const scheduled = events.flatMap(({ activityTaskScheduledEventAttributes: activity, userMetadata }) => {
    if (!activity) return [];
    const shown = Buffer.from(userMetadata?.summary?.data ?? []).toString("utf8");
    return [{ type: activity.activityType?.name, shown: JSON.parse(shown || '""') as string }];
  });
  const markers = events.flatMap(({ markerRecordedEventAttributes: marker }) =>
    Object.values(marker?.details ?? {}).flatMap(({ payloads }) => payloads ?? []),
  );
  return {
    steps: scheduled
      .filter(({ type }) => type !== "model.turn")
      .map(({ type, shown }) => `${type}: ${shown}`),
    turns: scheduled.filter(({ type }) => type === "model.turn").map(({ shown }) => shown),
    quickTurns: countOf(markers, ["model.quick-turn"]),
    localCalls: countOf(markers, ["fs.read", "fs.write", "state.persist"]),
    localBoundaries: countOf(markers, ["state.snapshot"]),
  };
}

function countOf(markers: readonly { data?: Uint8Array | null }[], activities: readonly string[]): number {
  const says = (data: Uint8Array | null | undefined) => (name: string) =>
    Buffer.from(data ?? []).includes(`"activity_type":"${name}"`);
  return markers.filter(({ data }) => activities.some(says(data))).length;
}

test("a node's work is one bar of the timeline, which says what it was", async () => {
  const bench = await openBench([
    { calls: [call("fs_write", { path: "@project/artifacts/out.md", content: "blue\n" })] },
    ...STRAIGHT,
  ]);
  const run = await bench.start(twoNodePackage(), NODES);
  const result = await run.result();
  expect(result).toMatchObject({ phase: "completed", artifacts: ["artifacts/out.md"] });
  expect(result.usage).toMatchObject({ modelTurns: 4, toolCalls: 4 });
  const { steps, quickTurns, localCalls, turns } = await stepsOf(bench, run);
  expect(quickTurns).toBeGreaterThan(0);
  // The calls of a quick turn run with it; those of one that is waited for longer do not.
  expect(localCalls).toBeLessThanOrEqual(turns.length);
  expect(steps.slice(1)).toEqual([
    "state.snapshot: boundary after ask · 2 turns, 2 calls",
    "state.snapshot: boundary after middle · 1 turn, 1 call",
    "state.snapshot: boundary after finish · 1 turn, 1 call",
    "run.phase: completed",
  ]);
  const { searchAttributes, memo } = await temporalOf(bench, run).describe();
  expect(searchAttributes).toMatchObject({ RunPhase: ["completed"], RunNode: ["finish"] });
  expect(memo).toMatchObject({ interlock: { phase: "completed", node: "finish" } });
});

test("nodes that are passed quickly are one task of the workflow, up to a bound, and each has a bar that comes to its end", async () => {
  const bench = await openBench(roundAndRound);
  const visits = 40;
  const run = await bench.start(circlePackage(), { ...NODES, limits: { maxTurnsPerRun: visits } });
  await expect(run.result()).rejects.toMatchObject({ code: "ENGINE_MAX_TURNS_EXCEEDED" });
  const { events } = await temporalOf(bench, run).fetchHistory();
  const countOfType = (name: "activityTaskScheduled" | "activityTaskCompleted" | "workflowTaskCompleted") =>
    (events ?? []).filter((event) => event[`${name}EventAttributes`]).length;
  const { steps, turns, localBoundaries } = await stepsOf(bench, run);
  expect(steps.filter((text) => text.startsWith("state.snapshot: boundary after "))).toHaveLength(visits);
  // A quick turn that leads on keeps the boundary as well.
  expect(localBoundaries).toBeLessThanOrEqual(turns.length);
  expect(countOfType("activityTaskCompleted")).toBe(countOfType("activityTaskScheduled"));
  const tasks = countOfType("workflowTaskCompleted");
  expect(tasks).toBeGreaterThan(2); // the opening, 16 visits, 16 visits and the rest
  expect(tasks - turns.length).toBeLessThan(visits);
  const files = await bench.filesOf(run);
  expect((await files.boundaries.all()).map(({ visit }) => visit)).toEqual(
    Array.from({ length: visits + 1 }, (_, visit) => visit),
  );
});

test("a visit whose changes of the document come to more than Temporal takes from one task is done in several", async () => {
  const changes = 31;
  const value = (bytes: number) => patch({ variables: { set: { long: "x".repeat(bytes) } } });
  const bench = await openBench((request, index) =>
    index < changes ? { calls: [value(119 * 1_024), value(23 * 1_024)] } : straightOn(request),
  );
  const run = await bench.start(twoNodePackage(), NODES);
  expect(await run.result()).toMatchObject({ phase: "completed", usage: { toolCalls: 2 * changes + 3 } });
  await stepsOf(bench, run);
});

test("the bar of a node that is passed quickly is called as its boundary is, whatever the node's name", async () => {
  const [, ...others] = STRAIGHT;
  const bench = await openBench([{ calls: [step("www.ask", "middle")] }, ...others]);
  const files = twoNodePackage();
  const graph = files["workflow.graph.json"]?.replaceAll('"ask"', '"www.ask"') ?? "";
  const run = await bench.start(
    {
      ...files,
      "workflow.graph.json": graph,
      "steps/ask.md": (files["steps/ask.md"] ?? "").replaceAll(/\bask\b/g, "www.ask"),
    },
    NODES,
  );
  await run.result();
  expect((await stepsOf(bench, run)).steps[1]).toBe(
    "state.snapshot: `boundary after www.ask · 1 turn, 1 call`",
  );
});

test("messages to a run are heard while it passes node after node", async () => {
  const bench = await openBench(roundAndRound);
  const limits = { maxTurnsPerNode: 100_000, maxTurnsPerRun: 100_000 };
  const run = await bench.start(circlePackage(), { ...NODES, limits });
  await eventually(() => bench.model.requests.length > 20);
  await run.pause();
  expect((await run.state()).paused).toBe(true);
  await run.resume();
  const asked = bench.model.requests.length;
  await eventually(() => bench.model.requests.length > asked + 20);
  await run.cancel();
  await expect(run.result()).rejects.toMatchObject({ code: "ENGINE_ABORTED" });
  await stepsOf(bench, run);
});

test.each(STEP_SIZES)(
  "a run whose worker has ended in its middle says what it has used until then, by %s",
  { tags: "slow" },
  async (steps) => {
    const bench = await openBench(roundAndRound);
    const limits = { maxTurnsPerNode: 100_000, maxTurnsPerRun: 100_000 };
    const run = await bench.start(circlePackage(), { steps, limits });
    await eventually(() => bench.model.requests.length > 20);
    await bench.stopWorker();
    const { usage, usageByNode } = jsonOf(await shellOf(bench).run(["status", run.runId, "--json"])) as {
      usage: Usage;
      usageByNode: { usage: Usage }[];
    };
    expect(usage.modelTurns).toBeGreaterThan(19);
    expect(usage.modelTurns).toBe(
      usageByNode.reduce((sum, { usage: { modelTurns } }) => sum + modelTurns, 0),
    );
  },
);

test("who starts a run by nodes sees each turn that it took, however quickly it passes them", async () => {
  const turns = 120;
  const bench = await openBench((request, index) =>
    index % 3 < 2 ? { calls: [call("fs_list", { path: "@pkg" })] } : roundAndRound(request),
  );
  const source = join(bench.dir, "circle");
  await writeTree(source, circlePackage());
  const args = ["--project", bench.projectRoot, "--steps", "nodes", "--max-turns", String(turns)];
  const { stderr } = await shellOf(bench).run(["run", source, ...args]);
  const lines = stderr.split("\n");
  expect(lines.filter((line) => line.includes(" model turn "))).toHaveLength(turns);
  expect(lines.filter((line) => line.includes(" fs.list "))).toHaveLength((turns * 2) / 3);
});

test("a boundary that cannot be kept is tried again where Temporal shows it, and the run goes on from there", async () => {
  let spoil: (() => void) | undefined;
  const bench = await openBench((request, index) => {
    if (index === 0) return { content: "Which colour?" };
    if (nodeOf(request) === "middle") spoil?.();
    return straightOn(request);
  });
  const run = await bench.start(twoNodePackage(), NODES);
  await until(run, "waiting-user");
  const { dir } = await bench.filesOf(run);
  const [log, aside] = [join(dir, "boundaries.jsonl"), join(dir, "boundaries.aside")];
  spoil = () => {
    renameSync(log, aside);
    mkdirSync(log);
    spoil = undefined;
  };
  await run.answer({ nodeId: "ask", text: "Blue." });
  const handle = temporalOf(bench, run);
  await eventually(async () => {
    const { raw } = await handle.describe();
    return (raw.pendingActivities ?? []).some(
      ({ activityType, attempt }) => activityType?.name === "state.snapshot" && Number(attempt) > 1,
    );
  });
  rmdirSync(log);
  renameSync(aside, log);
  expect(await run.result()).toMatchObject({ phase: "completed" });
  const files = await bench.filesOf(run);
  expect((await files.boundaries.all()).map(({ nodeId }) => nodeId)).toEqual(["", "ask", "middle", "finish"]);
});

test("quick turns that follow one another are taken together, and each is counted and told", async () => {
  const reads = 12;
  const bench = await openBench(readsFirst(reads, "ask"));
  const run = await bench.start(twoNodePackage(), NODES);
  const { usage } = await run.result();
  expect(usage).toMatchObject({ modelTurns: reads + 3, toolCalls: reads + 3, promptTokens: 1_500 });
  expect(bench.model.requests).toHaveLength(reads + 3);
  const { progress } = await run.state();
  const told = progress.filter(({ nodeId, text }) => nodeId === "ask" && text.startsWith("model turn "));
  expect(told.map(({ text }) => text)).toEqual(
    Array.from({ length: reads + 1 }, (_, index) => `model turn ${index + 1}`),
  );
  const { quickTurns, turns } = await stepsOf(bench, run);
  expect(quickTurns + turns.length).toBeLessThan(reads + 3);
});

interface EventText {
  eventTime: string;
  markerRecordedEventAttributes?: { details?: { data?: { payloads: { data: string }[] } } };
}
type MarkerTime = { seconds: number; nanos: number };

/** A history as if all of it had taken so many times as long by every clock. */
function stretched(history: History, times: number): History {
  const text = JSON.parse(historyToJSON(history)) as { events: EventText[] };
  const beganAt = Date.parse(text.events[0]?.eventTime ?? "");
  const stretch = (at: number): number => beganAt + (at - beganAt) * times;
  for (const event of text.events) {
    event.eventTime = new Date(stretch(Date.parse(event.eventTime))).toISOString();
    const [marker] = event.markerRecordedEventAttributes?.details?.data?.payloads ?? [];
    if (marker === undefined) continue;
    const said = JSON.parse(Buffer.from(marker.data, "base64").toString("utf8")) as Record<
      string,
      MarkerTime
    >;
    for (const name of ["complete_time", "original_schedule_time"]) {
      const { seconds = 0, nanos = 0 } = said[name] ?? {};
      const at = stretch(seconds * 1_000 + nanos / 1e6);
      said[name] = { seconds: Math.floor(at / 1_000), nanos: Math.floor(at % 1_000) * 1e6 };
    }
    marker.data = Buffer.from(JSON.stringify(said)).toString("base64");
  }
  return historyFromJSON(text);
}

test("what turns took decides what comes next, not the clock, which may stand elsewhere in a replay", async () => {
  const bench = await openBench(readsFirst(12, "ask"));
  const run = await bench.start(twoNodePackage(), NODES);
  await run.result();
  const history = await temporalOf(bench, run).fetchHistory();
  for (const times of [1, 0, 1_000]) {
    expect(await replayHistory(stretched(history, times))).toMatchObject({ ok: true });
  }
});

test.each(["turns", "nodes"] as const)(
  "a change after calls that have failed is judged by what they have changed, by %s",
  async (steps) => {
    const files = twoNodePackage();
    const graph = JSON.parse(files["workflow.graph.json"] ?? "{}") as object;
    const edges = [
      { from: "ask", to: "middle", label: "ok", isDefault: true },
      { from: "ask", to: "finish", label: "free", conditionExpr: { "!": { var: "routingFlags.blocked" } } },
      { from: "middle", to: "finish", label: "done" },
    ];
    const stale = { path: "@project/artifacts/out.md", content: "x", ifMatchSha256: "0".repeat(64) };
    const bench = await openBench((request, index) => {
      if (index > 0) return straightOn(request);
      const on = { stepsCompleted: { append: ["ask"] }, currentNodeId: { set: "finish" } };
      return { calls: [call("fs_write", stale), call("fs_write", stale), patch(on)] };
    });
    const run = await bench.start(
      { ...files, "workflow.graph.json": JSON.stringify({ ...graph, edges }) },
      { steps, storyId: "abc-1", evaluateConditions: true },
    );
    expect(await run.result()).toMatchObject({
      phase: "completed",
      stepsCompleted: ["ask", "middle", "finish"],
    });
  },
);

test("no turn is taken along where a budget may end the run before it", async () => {
  const read = { calls: [call("fs_read", { path: "@pkg/steps/ask.md" })] };
  const bench = await openBench([read, read, read]);
  const run = await bench.start(twoNodePackage(), { ...NODES, budget: { run: { turns: 2 } } });
  await until(run, "waiting-user");
  expect(bench.model.requests).toHaveLength(2);
});

test("the package says it, and whoever starts a run says otherwise", async () => {
  const bench = await openBench(straightOn);
  const manifest = JSON.parse(twoNodePackage()["bmad.json"] ?? "{}") as object;
  const files = twoNodePackage({ "bmad.json": JSON.stringify({ ...manifest, runtime: NODES }) });
  const asThePackage = await bench.start(files);
  await asThePackage.result();
  expect((await stepsOf(bench, asThePackage)).quickTurns).toBeGreaterThan(0);
  const otherwise = await bench.start(files, { steps: "turns" });
  await otherwise.result();
  expect(await stepsOf(bench, otherwise)).toMatchObject({
    turns: { length: 3 },
    quickTurns: 0,
  });
});

test("an answer that takes long is asked for once, and waited for in an activity; those after it too, until one is quick", async () => {
  const read = { calls: [call("fs_read", { path: "@pkg/steps/ask.md" })] };
  const bench = await openBench([
    read,
    { ...read, afterMs: SLOW_MS },
    { ...read, afterMs: SLOW_MS },
    read,
    ...STRAIGHT,
  ]);
  const run = await bench.start(twoNodePackage(), NODES);
  await run.result();
  expect(bench.model.requests).toHaveLength(7);
  expect(bench.model.aborted).toBe(0);
  expect((await stepsOf(bench, run)).turns).toEqual(
    expect.arrayContaining([
      "model turn 2 · ask · scripted",
      "model turn 3 · ask · scripted",
      "model turn 4 · ask · scripted",
    ]),
  );
});

test("a failing model is asked as often as ever, and Temporal shows what is waited for", async () => {
  const bench = await openBench((request, index) =>
    index < 2
      ? { status: 503, headers: index === 0 ? { "retry-after-ms": "10" } : { "retry-after": "3600" } }
      : straightOn(request),
  );
  const run = await bench.start(twoNodePackage(), { ...NODES, limits: { maxModelAttempts: 3 } });
  const handle = temporalOf(bench, run);
  await eventually(async () => {
    const { raw } = await handle.describe();
    return (raw.pendingActivities ?? []).some(
      ({ attempt, lastFailure }) =>
        attempt === 3 && lastFailure?.message?.includes("(attempt 2 of 3)") === true,
    );
  });
  expect(bench.model.requests).toHaveLength(2);
  await run.cancel();
});

test("a model that fails for good is asked once", async () => {
  const bench = await openBench(() => ({ status: 404 }));
  const failing = await bench.start(twoNodePackage(), NODES);
  await expect(failing.result()).rejects.toMatchObject({ code: expect.stringMatching(/^LLM_/) as string });
  expect(bench.model.requests).toHaveLength(1);
});

test("a cancelled run ends while a model is silent, and while quick turns follow one another", async () => {
  const bench = await openBench((request) =>
    JSON.stringify(request.messages).includes("Be silent")
      ? { hang: true }
      : { calls: [call("fs_read", { path: "@pkg/steps/ask.md", startLine: request.messages.length })] },
  );
  const silent = await bench.start(twoNodePackage(), { ...NODES, input: "Be silent." });
  await eventually(() => bench.model.requests.length > 0);
  const limits = { maxModelAttempts: 1, maxTurnsPerNode: 100_000, maxTurnsPerRun: 100_000 };
  const busy = await bench.start(twoNodePackage(), { ...NODES, limits });
  await eventually(() => bench.model.requests.length > 6);
  for (const run of [silent, busy]) {
    await run.cancel();
    await expect(run.result()).rejects.toMatchObject({ code: "ENGINE_ABORTED" });
    const { status } = await temporalOf(bench, run).describe();
    expect(status.name).toBe("CANCELLED");
    await stepsOf(bench, run);
  }
  await eventually(() => bench.model.aborted === 1);
});

test("a run that is asked for an answer waits, is answered and goes on by nodes", async () => {
  const bench = await openBench([{ content: "Which colour?" }, ...STRAIGHT]);
  const run = await bench.start(twoNodePackage(), NODES);
  await until(run, "waiting-user");
  await run.answer({ nodeId: "ask", text: "Blue." });
  await run.result();
  expect((await stepsOf(bench, run)).quickTurns).toBeGreaterThan(0);
});

test("a bundle's long visit is a turn of its own now and then", async () => {
  const files = ["{bundle-root}/config.yaml", "{bundle-root}/workflows/intake/workflow.yaml"];
  const read = (index: number) => ({ calls: [call("read_file", { file_path: files[index % 2] })] });
  const bench = await openBench((_request, index) => (index < 40 ? read(index) : { status: 404 }));
  const run = await bench.startBundle({ ...NODES, limits: { maxModelAttempts: 1 } });
  await expect(run.result()).rejects.toMatchObject({ code: "LLM_HTTP_ERROR" });
  expect((await stepsOf(bench, run)).turns).toEqual(
    expect.arrayContaining([
      expect.stringContaining("model turn 32"),
      expect.stringContaining("model turn 41"),
    ]),
  );
});

test("a change that the guard refuses is told to the model, and noted, where it was run along with the answer", async () => {
  const refused = { calls: [patch({ currentNodeId: { set: "finish" } })] }; // no such edge
  const bench = await openBench([refused, ...STRAIGHT]);
  const run = await bench.start(twoNodePackage(), NODES);
  await expect(run.result()).resolves.toMatchObject({ phase: "completed", usage: { toolCalls: 4 } });
  expect(JSON.stringify(bench.model.requests[1]?.messages)).toContain("E_INVALID_TRANSITION");
  const { progress } = await run.state();
  expect(progress.map(({ text }) => text)).toEqual(
    expect.arrayContaining([expect.stringMatching(/^refused with E_INVALID_TRANSITION/)]),
  );
  await stepsOf(bench, run);
});
