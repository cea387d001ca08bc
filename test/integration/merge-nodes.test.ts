import { describe, expect, test } from "vitest";
import { firstWay, nestedPackage, nodesAsked } from "../fakes/nested-package.js";
import { wordsIn } from "../fakes/walk.js";
import { openBench } from "./harness.js";
import { shellOf } from "./shell.js";

const MERGE = { type: "merge", text: "" };

describe("a merge without work", () => {
  const merging = nestedPackage({
    main: { nodes: { open: MERGE, work: {}, both: MERGE, again: MERGE, done: { type: "end" } } },
  });

  test("is passed without a model turn, and is in document, log and boundaries like any other visit", async () => {
    const bench = await openBench(firstWay);
    const run = await bench.start(merging, { workflowRef: "main", input: "Paint it." });
    await expect(run.result()).resolves.toMatchObject({
      stepsCompleted: ["open", "work", "both", "again", "done"],
      usage: { modelTurns: 2, toolCalls: 2 },
    });
    expect(nodesAsked(bench.model.requests)).toEqual(["work", "done"]);
    // The user's first words are for the first node that is worked at.
    expect(bench.model.requests.map(wordsIn)).toEqual([["Paint it."], []]);
    const passes = (await bench.auditEvents(run)).filter(({ kind }) => kind === "node.pass");
    expect(passes.map(({ nodeId, visit, next }) => [nodeId, visit, next])).toEqual([
      ["open", 1, "work"],
      ["both", 3, "again"],
      ["again", 4, "done"],
    ]);
    const boundaries = await (await bench.filesOf(run)).boundaries.all();
    expect(boundaries.map(({ visit, next }) => [visit, next])).toEqual([
      [0, "open"],
      [1, "work"],
      [2, "both"],
      [3, "again"],
      [4, "done"],
      [5, "done"],
    ]);
  });

  test("is there to fork from, and a fork passes it again", async () => {
    const bench = await openBench(firstWay);
    const run = await bench.start(merging, { workflowRef: "main" });
    await run.result();
    const fork = await bench.client.fork(run.runId, { fromNode: "both" });
    await expect(fork.result()).resolves.toMatchObject({
      stepsCompleted: ["open", "work", "both", "again", "done"],
      usage: { modelTurns: 1 },
    });
  });

  test("is told of by watch and the transcript", async () => {
    const bench = await openBench(firstWay);
    const run = await bench.start(merging, { workflowRef: "main" });
    await run.result();
    const shell = shellOf(bench);
    const watched = await shell.run(["watch", run.runId, "--events"]);
    expect(watched.stdout).toContain('"kind":"node.pass"');
    expect((await shell.run(["transcript", run.runId])).code).toBe(0);
  });

  test("in a circle without a model ends at the limit of turns", async () => {
    const bench = await openBench(firstWay);
    const circle = nestedPackage({
      main: {
        nodes: { one: MERGE, two: MERGE, done: { type: "end" } },
        edges: [
          ["one", "two"],
          ["two", "one"],
        ],
      },
    });
    const run = await bench.start(circle, { workflowRef: "main", limits: { maxTurnsPerRun: 5 } });
    await expect(run.result()).rejects.toMatchObject({
      code: "ENGINE_MAX_TURNS_EXCEEDED",
      message: "The run reached its limit of 5 node visits.",
    });
    expect(bench.model.requests).toEqual([]);
  });
});

test("a merge whose step file has text is worked like a step, as in earlier versions", async () => {
  const bench = await openBench(firstWay);
  const worked = nestedPackage({
    main: { nodes: { work: {}, both: { type: "merge", text: "Compare." }, done: { type: "end" } } },
  });
  const run = await bench.start(worked, { workflowRef: "main" });
  await expect(run.result()).resolves.toMatchObject({ usage: { modelTurns: 3 } });
  expect(nodesAsked(bench.model.requests)).toEqual(["work", "both", "done"]);
});
