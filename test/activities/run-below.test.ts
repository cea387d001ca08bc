import { rm } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { openRun } from "../../src/activities/open-run.js";
import { runBelow } from "../../src/activities/run-below.js";
import type { OpenedRun } from "../../src/core/run/opened-run.js";
import { isRunId } from "../../src/core/run/run-id.js";
import { createBundleHost } from "../../src/tools/bundle/bundle-host.js";
import { nestedPackage } from "../fakes/nested-package.js";
import { type RunWorld, openRunWorld, valueOf } from "../fakes/run-world.js";

const RUN_ID = "11111111-2222-4333-8444-555555555555";
const END = { type: "end" };

let world: RunWorld;
let opened: OpenedRun;

const open = (input: object) => {
  const { store, projectRoot, packageId } = world;
  const deps = { store, bundles: createBundleHost({ store }) };
  const named = { runId: RUN_ID, projectRoot, packageId, workflowRef: "main" };
  return openRun(deps, { kind: "graph", input: { ...named, ...input } });
};
const asked = (nodeId = "parts", more: object = {}) =>
  runBelow({ store: world.store }, { run: opened.run, nodeId, agentId: "closer", ...more });
const filesOf = async () => valueOf(await world.store.runs.openFiles(opened.run.projectId, RUN_ID));

beforeEach(async () => {
  world = await openRunWorld(
    nestedPackage({
      main: { nodes: { parts: { type: "subworkflow", workflow: "part" }, done: END } },
      part: { nodes: { ready: END } },
    }),
  );
  opened = await open({
    input: "Paint it.",
    autopilot: true,
    limits: { maxTurnsPerNode: 7 },
    storyId: "a-1",
  });
});

test("a run below is started with what holds for the run above, and with nothing that is that one's alone", async () => {
  const { workflowId, input } = await asked("parts", { budget: { run: { turns: 3 } } });
  expect(workflowId).toBe(`run-${input.runId}`);
  expect(isRunId(input.runId)).toBe(true);
  const { runId: _, ...told } = input;
  expect(told).toEqual({
    projectRoot: world.projectRoot,
    packageId: world.packageId,
    workflowRef: "part",
    activeAgentId: "closer",
    input: "Paint it.",
    autopilot: true,
    limits: { maxTurnsPerNode: 7 },
    budget: { run: { turns: 3 } },
    parent: { runId: RUN_ID, depth: 1, variables: {}, returns: [] },
  });
});

test("it is the same run while the run above stands there, and another one when it comes back", async () => {
  const first = await asked();
  expect(await asked()).toEqual(first);
  const at = { nodeId: "parts", next: "parts", timestamp: "2026-01-01T00:00:00.000Z", calls: 0 };
  await (await filesOf()).boundaries.keep({ visit: 1, ...at }, Buffer.from(""));
  const second = await asked();
  expect(second.input.runId).not.toBe(first.input.runId);
  expect({ ...second.input, runId: "" }).toEqual({ ...first.input, runId: "" });
});

test("it goes on where it was made before", async () => {
  const { input } = await asked();
  await open(input);
  await expect(asked()).resolves.toMatchObject({ input: { ...input, resume: true } });
  expect(valueOf(await world.store.runs.findRun(input.runId)).parentRunId).toBe(RUN_ID);
});

test("a node that runs no workflow starts nothing", async () => {
  await expect(asked("done")).rejects.toMatchObject({
    type: "E_PRECONDITION_FAILED",
    nonRetryable: true,
    message: "done runs no workflow.",
  });
});

test("a run whose request is lost starts nothing: what is signed comes from there", async () => {
  await rm(join((await filesOf()).dir, "run.json"));
  await expect(asked()).rejects.toMatchObject({
    type: "E_PRECONDITION_FAILED",
    message: expect.stringContaining("has lost its run.json") as string,
  });
});
