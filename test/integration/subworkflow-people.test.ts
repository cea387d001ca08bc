import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { describe, expect, test, vi } from "vitest";
import { eventually } from "../fakes/eventually.js";
import { firstWay, nestedPackage, nodesAsked } from "../fakes/nested-package.js";
import type { Script } from "../fakes/scripted-model.js";
import { nodeOf, wordsIn } from "../fakes/walk.js";
import { openBench, until } from "./harness.js";
import { MAIN, Shell, jsonOf, newShell, shellOf, withModel } from "./shell.js";

const END = { type: "end" };
const nested = nestedPackage({
  main: { nodes: { parts: { type: "subworkflow", workflow: "middle" }, done: END } },
  middle: { nodes: { inner: { type: "subworkflow", workflow: "part" }, over: END } },
  part: { nodes: { draft: {}, ready: END } },
});
const question = "Which colour?";
const asking: Script = (request) =>
  nodeOf(request) === "draft" && !wordsIn(request).includes("Blue.")
    ? { content: question }
    : firstWay(request);

/** The run, and the one two levels below it that asks. */
async function openAsking() {
  const bench = await openBench(asking);
  const run = await bench.start(nested, { workflowRef: "main", input: "Paint it." });
  const find = async () =>
    (await bench.store.runs.listAllRuns()).find(({ workflowRef }) => workflowRef === "part");
  await eventually(async () => (await find())?.phase === "waiting-user");
  const runs = await bench.store.runs.listAllRuns();
  const idOf = (ref: string) => runs.find(({ workflowRef }) => workflowRef === ref)?.runId ?? "";
  const below = bench.client.handle(idOf("part"));
  await until(below, "waiting-user");
  return { bench, run, below, middle: bench.client.handle(idOf("middle")) };
}

describe("a question of a run below", () => {
  async function inTerminal(input: string, args: readonly string[] = []) {
    const shell = await newShell();
    for (const [path, text] of Object.entries(nested)) {
      await mkdir(dirname(join(shell.dir, "nested", path)), { recursive: true });
      await writeFile(join(shell.dir, "nested", path), text);
    }
    return withModel(asking, (_model, variables) =>
      shell
        .with({ ...shell.environment, ...variables })
        .run(["run", "nested", "--workflow", "main", "--project", "project", ...args], input),
    );
  }

  test(
    "is shown and answered where the run above is followed, with what happens there",
    { tags: "slow" },
    async () => {
      const { code, stdout, stderr } = await inTerminal("Blue.\n");
      expect(stderr).toMatch(/Run \S+ of part, below it, asks, at draft:\n.*Which colour\?/);
      expect(stderr).toContain("part/draft");
      expect(stderr).toContain("middle/");
      // What a run below did last is shown before the run above goes on.
      const ends = [
        stderr.lastIndexOf("\npart/"),
        stderr.lastIndexOf("\nmiddle/"),
        stderr.indexOf("\ndone "),
      ];
      expect(ends).toEqual(ends.toSorted((one, other) => one - other));
      expect(stdout).toContain("completed   parts, done");
      expect(code).toBe(0);
    },
  );

  test("without an answer ends the following, and says where it is asked", async () => {
    const outcome = await inTerminal("", ["--no-wait-for-answers", "--json"]);
    expect(outcome.code).toBe(3);
    expect(jsonOf(outcome)).toMatchObject({
      phase: "running",
      below: { workflowRef: "middle", asks: { workflowRef: "part", nodeId: "draft", text: question } },
    });
  });

  test(
    "is told by status and runs of the runs above, and an answer there names the run that asks",
    { tags: "slow" },
    async () => {
      const { bench, run, below, middle } = await openAsking();
      const shell = shellOf(bench);
      const status = await shell.run(["status", run.runId]);
      expect(status.stdout).toContain(`waits for   run ${middle.runId} of middle`);
      expect(status.stdout).toContain(`question    ${question}`);
      expect(status.stdout).toContain(`asked       at draft of run ${below.runId} of part`);
      expect(status.stdout).toContain(`answer with interlock answer ${below.runId} "…"`);
      const { TEMPORAL_ADDRESS: _, ...withoutTemporal } = shell.environment;
      const stored = await new Shell(shell.dir, withoutTemporal).run(["status", run.runId]);
      expect(stored.stdout).toContain(`waits for   run ${middle.runId} of middle`);
      expect(stored.stdout).toContain(`asked       at draft of run ${below.runId} of part`);
      expect(stored.stderr).toContain("interlock dev");
      const rows = jsonOf(await shell.run(["runs", "--json"]));
      const asked = { phase: "running", asksBelow: below.runId };
      expect(rows).toEqual(
        expect.arrayContaining([
          expect.objectContaining({ runId: run.runId, ...asked }),
          expect.objectContaining({ runId: middle.runId, ...asked }),
          expect.not.objectContaining({ asksBelow: expect.anything() as unknown }),
        ]),
      );
      const table = await shell.run(["runs"]);
      expect(table.stdout).toContain(`running, ${below.runId.slice(0, 8)} asks`);
      const answered = await shell.run(["answer", run.runId, "Blue."]);
      expect(answered).toMatchObject({ code: 1 });
      expect(answered.stderr).toContain(`It waits for run ${middle.runId} of middle: answer that one.`);
    },
  );
});

test("a run that waits for a question below it says so to whoever watches it, once, with what answers it", async () => {
  const { bench, run, below } = await openAsking();
  const { environment, dir } = shellOf(bench);
  const watching = spawn(process.execPath, [MAIN, "watch", run.runId], { env: environment, cwd: dir });
  const code = new Promise((resolve) => watching.once("close", resolve));
  let told = "";
  watching.stderr.on("data", (chunk: Buffer) => (told += chunk.toString()));
  await eventually(() => Promise.resolve(told.includes("asks at draft")));
  await below.answer({ nodeId: "draft", text: "Blue." });
  expect(await code).toBe(0);
  expect(told.match(/below it, asks/g)).toHaveLength(1);
  expect(told).toContain(`Run ${below.runId} of part, below it, asks at draft: ${question}`);
  expect(told).toContain(`interlock answer ${below.runId} "…"`);
});

test("a pause that comes while a run below is being started holds it back until the run goes on", async () => {
  const bench = await openBench(firstWay);
  const runId = randomUUID();
  const { runs } = bench.store;
  const find = runs.findPlaced.bind(runs);
  const paused = new Promise<void>((resolve) => {
    vi.spyOn(runs, "findPlaced").mockImplementation(async (id) => {
      // The run below is looked for while it is made ready.
      if (id === runId) return find(id);
      vi.restoreAllMocks();
      await bench.client.handle(runId).pause();
      resolve();
      return find(id);
    });
  });
  const run = await bench.start(nested, { workflowRef: "main", runId });
  await paused;
  const since = async () => {
    const { events = [] } = await run.history();
    return (events ?? []).slice(events?.findLastIndex((event) => event.activityTaskCompletedEventAttributes));
  };
  // What the run does next stands in its history with the decision.
  await eventually(async () => (await since()).some((event) => event.workflowTaskCompletedEventAttributes));
  const begun = (await since()).some((event) => event.startChildWorkflowExecutionInitiatedEventAttributes);
  expect([begun, (await run.state()).below]).toEqual([false, undefined]);
  await run.resume();
  await expect(run.result()).resolves.toMatchObject({ stepsCompleted: ["parts", "done"] });
});

test("a pause holds the runs below as well, says which, and resuming lets them go on", async () => {
  const { bench, run, below, middle } = await openAsking();
  const shell = shellOf(bench);
  const held = [
    { runId: middle.runId, workflowRef: "middle" },
    { runId: below.runId, workflowRef: "part" },
  ];
  expect(jsonOf(await shell.run(["pause", run.runId, "--json"]))).toEqual({
    runId: run.runId,
    paused: true,
    below: held,
  });
  await below.answer({ nodeId: "draft", text: "Blue." });
  await eventually(async () => (await below.state()).phase === "running");
  const states = await Promise.all([run, middle, below].map((each) => each.state()));
  expect(states.map(({ paused }) => paused)).toEqual([true, true, true]);
  expect(nodesAsked(bench.model.requests)).toEqual(["draft"]);
  await expect(run.resume()).resolves.toEqual(held);
  await expect(run.result()).resolves.toMatchObject({ stepsCompleted: ["parts", "done"] });
});
