import { mkdir, rename, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { createActivities } from "../../src/activities/create-activities.js";
import { loadConfig } from "../../src/config.js";
import { modelTurn } from "../../src/activities/model-turn.js";
import { openRun } from "../../src/activities/open-run.js";
import { recordPhase, recordUserInput } from "../../src/activities/run-records.js";
import { notAtItsPath, permittedProject } from "../../src/activities/run-scope.js";
import { MAX_PAYLOAD_BYTES } from "../../src/contract/names.js";
import type { OpenRunInput } from "../../src/contract/activities.js";
import type { GraphRunInput, Identified } from "../../src/contract/run.js";
import { NO_USAGE } from "../../src/core/run/usage.js";
import { createInitialState } from "../../src/core/graph-state/initial-state.js";
import { withoutHistory } from "../../src/core/graph-state/walk.js";
import { ExecutionOver } from "../../src/store/runs/executions.js";
import { RunFiles } from "../../src/store/runs/run-files.js";
import { createBundleHost } from "../../src/tools/bundle/bundle-host.js";
import { nestedPackage } from "../fakes/nested-package.js";
import { openRunWorld, valueOf } from "../fakes/run-world.js";
import { twoNodePackage } from "../fakes/two-node-package.js";
import { RUN_ID, openScene } from "./harness-world.js";

const FORK_ID = "22222222-3333-4444-8555-666666666666";
const FORK_OF_FORK_ID = "33333333-4444-4555-8666-777777777777";
const AT = "2026-01-02T03:04:05.000Z";

describe("run.open", () => {
  test("twice is once: one index entry, one beginning, the phase that the run has reached", async () => {
    const { deps, world, files, opened } = await openScene([]);
    const input = { runId: RUN_ID, projectRoot: world.projectRoot, packageId: world.packageId };
    const usage = NO_USAGE;
    await recordPhase(deps, { run: opened.run, phase: "waiting-user", change: 1, nodeId: "ask", usage });
    await openRun(deps, { kind: "graph", input });
    const runs = await world.store.runs.listAllRuns();
    expect(runs.map(({ runId, phase }) => [runId, phase])).toEqual([[RUN_ID, "waiting-user"]]);
    expect(await files.boundaries.all()).toHaveLength(1);
    expect(await files.request.read()).toMatchObject({ kind: "graph", input });
  });

  test("by nodes it tells what the run begins with, unless that is long; by turns the run asks for it", async () => {
    const { deps, world, files } = await openScene([]);
    const input = { runId: RUN_ID, projectRoot: world.projectRoot, packageId: world.packageId };
    const documentOf = async (more: Partial<GraphRunInput>) =>
      (await openRun(deps, { kind: "graph", input: { ...input, ...more } })).document;
    const { frontmatter, sha256, bytes } = valueOf(await files.state.read());
    expect(await documentOf({ steps: "nodes" })).toEqual({ frontmatter, sha256 });
    expect(await documentOf({})).toBeUndefined();
    const long = bytes.toString().replace("variables: {}", `variables: {"text": "${"x".repeat(4_096)}"}`);
    await writeFile(join(files.stateDir, "workflow.md"), long);
    expect(await documentOf({ steps: "nodes" })).toBeUndefined();
  });

  test("a worker that cannot find out which search attributes there are takes the starter's word, else sets none", async () => {
    const { deps, world } = await openScene([]);
    const input = { runId: RUN_ID, projectRoot: world.projectRoot, packageId: world.packageId };
    const attributesOf = async (found: readonly string[] | undefined, said: Partial<GraphRunInput>) => {
      const looking = { ...deps, searchAttributes: () => Promise.resolve(found) };
      return (await openRun(looking, { kind: "graph", input: { ...input, ...said } })).searchAttributes;
    };
    expect(await attributesOf(undefined, { searchAttributes: true })).toBeUndefined();
    expect(await attributesOf(undefined, {})).toEqual([]);
    expect(await attributesOf([], { searchAttributes: true })).toEqual([]);
    expect(await attributesOf(["RunPhase"], { searchAttributes: true })).toEqual(["RunPhase"]);
  });

  test("resumed: numbers go on beyond whatever any file has seen", async () => {
    const { deps, world, files, opened } = await openScene([]);
    const { run } = opened;
    await recordUserInput(world.store, {
      run,
      conversation: "visit-4",
      inputId: "input",
      nodeId: "ask",
      text: "words",
    });
    await files.status.write({
      phase: "failed",
      nodeId: "ask",
      change: 7, // its audit line was not written any more
      usage: NO_USAGE,
      budget: { run: { turns: 12 } },
    });
    const input = { runId: RUN_ID, projectRoot: world.projectRoot, packageId: world.packageId };
    const { resumed } = await openRun(deps, { kind: "graph", input: { ...input, resume: true } });
    expect(resumed).toMatchObject({ visit: 4, turn: 0, phaseChanges: 7, budget: { run: { turns: 12 } } });
    expect(resumed?.answers).toEqual([{ id: "input", answer: { nodeId: "ask", begins: "words" } }]);
    expect(resumed?.audit).toEqual(await files.audit.head());
  });

  test("resumed: a visit that had moved the run on before its end was kept gets its boundary", async () => {
    const { deps, world, files } = await openScene([]);
    const before = valueOf(await files.state.read());
    const moved = Buffer.from(before.bytes)
      .toString("utf8")
      .replace('currentNodeId: ""', 'currentNodeId: "middle"');
    await files.state.replace(before.sha256, Buffer.from(moved));
    await mkdir(join(files.dir, "conversation"), { recursive: true });
    await writeFile(join(files.dir, "conversation", "visit-1.jsonl"), "");
    const input = { runId: RUN_ID, projectRoot: world.projectRoot, packageId: world.packageId, resume: true };
    await openRun(deps, { kind: "graph", input });
    await openRun(deps, { kind: "graph", input });
    expect((await files.boundaries.all()).map(({ visit, nodeId, next }) => [visit, nodeId, next])).toEqual([
      [0, "", "ask"],
      [1, "ask", "middle"],
    ]);
  });

  test("resumed: the run keeps its workflow, whichever is named then", async () => {
    const world = await openRunWorld(
      nestedPackage({ calm: { nodes: { first: {}, last: {} } }, wild: { nodes: { other: {} } } }),
    );
    const { store } = world;
    const deps = { store, bundles: createBundleHost({ store }) };
    const input = { runId: RUN_ID, projectRoot: world.projectRoot, packageId: world.packageId };
    await openRun(deps, { kind: "graph", input: { ...input, workflowRef: "calm" } });
    const again = { ...input, workflowRef: "wild", resume: true };
    const { run, graph } = await openRun(deps, { kind: "graph", input: again });
    expect([run.workflowRef, graph.nodes.map(({ id }) => id)]).toEqual(["calm", ["first", "last"]]);
  });

  test("resumed where no endpoint for its model is: a completed run completes again without one, another one is left to other workers", async () => {
    const { deps, world } = await openScene([]);
    const { projectRoot, packageId } = world;
    const modelsAt = (endpoint: string) =>
      loadConfig({ INTERLOCK_MODEL: "m", OPENAI_BASE_URL: endpoint, OPENAI_API_KEY: "key" }).models;
    const here = { ...deps, models: modelsAt("https://here.test/v1") };
    const elsewhere = { ...deps, models: modelsAt("https://elsewhere.test/v1") };
    const input = { runId: FORK_ID, projectRoot, packageId };
    const { run, models } = await openRun(here, { kind: "graph", input });
    const again = () => openRun(elsewhere, { kind: "graph", input: { ...input, resume: true } });
    await expect(again()).rejects.toThrow("no endpoint for the model m at here.test");
    await recordPhase(deps, { run, phase: "completed", change: 1, nodeId: "finish", usage: NO_USAGE });
    expect((await again()).models).toEqual(models);
  });

  test("resumed where its project does not lie says the way on, and nothing of what is there", async () => {
    const { deps, world } = await openScene([]);
    const there = join(world.dir, "there");
    await mkdir(there);
    const saidOf = async (projectRoot: string) => {
      const input = { runId: RUN_ID, projectRoot, packageId: world.packageId, resume: true };
      const error: unknown = await openRun(deps, { kind: "graph", input }).catch((thrown: unknown) => thrown);
      return error instanceof Error ? error.message.replace(projectRoot, "…") : "it was opened";
    };
    const said = await saidOf(there);
    expect(said).toContain(`interlock fork ${RUN_ID} --at-visit <n> --project <dir>`);
    expect(await saidOf(join(world.dir, "nowhere"))).toBe(said);
    await rename(world.projectRoot, join(world.dir, "moved"));
    expect(await saidOf(world.projectRoot)).toBe(said);
    await symlink(join(world.dir, "moved"), world.projectRoot);
    expect(await saidOf(world.projectRoot)).toBe(said);
    expect(notAtItsPath(RUN_ID, "/p", "bundle").error.message).not.toContain("fork"); // which it cannot be
  });

  test("a bundle run whose project has gone while it went on is not told to be forked, which it cannot be", async () => {
    const { deps, world, opened } = await openScene([]);
    await rename(world.projectRoot, join(world.dir, "moved"));
    const saidOf = (kind: { kind?: "bundle" }) =>
      permittedProject(deps.store, { ...opened.run, ...kind }).then(() => "it lies there", String);
    expect(await saidOf({})).toContain("interlock fork");
    expect(await saidOf({ kind: "bundle" })).toContain("start another one");
  });

  test("resumed with a story: the payload stays within its bound, whatever the run folder holds", async () => {
    const files_ = twoNodePackage();
    const graph = JSON.parse(files_["workflow.graph.json"] ?? "") as { nodes: object[]; edges: object[] };
    const many = Array.from({ length: 1_200 }, (_, index) => `n${index}`);
    graph.nodes.push(...many.map((id) => ({ id, type: "step", file: "steps/ask.md" })));
    const fitting = { ...files_ };
    for (const id of many) {
      fitting[`steps/${id}.md`] = files_["steps/ask.md"]?.replace("nodeId: ask", `nodeId: ${id}`) ?? "";
    }
    graph.nodes = graph.nodes.map((node) => {
      const { id } = node as { id: string };
      return many.includes(id) ? { ...node, file: `steps/${id}.md` } : node;
    });
    fitting["workflow.graph.json"] = JSON.stringify(graph);
    const { deps, world, files } = await openScene([], fitting);
    const initial = withoutHistory(createInitialState({ epicPrefix: "wrkf", storyId: "wrkf-1" }));
    const evidence = Array.from({ length: 40 }, (_, index) => ({
      type: "log" as const,
      path: `${"\u2028".repeat(150)}${index}`,
      timestamp: AT,
    }));
    const state = { ...initial, evidenceRefs: evidence };
    for (const [index, nodeId] of many.entries()) {
      const snapshot = { visit: index + 1, nodeId, timestamp: AT, documentSha256: "" };
      if (index < 30) await files.graphState.keep({ state, change: index }, snapshot);
      const at = { visit: index + 1, nodeId, next: nodeId, timestamp: AT, calls: 0 };
      if (index % 4 === 0) await files.boundaries.keep(at, Buffer.from("x"));
    }
    const input: Identified<GraphRunInput> = {
      runId: RUN_ID,
      projectRoot: world.projectRoot,
      packageId: world.packageId,
      storyId: "wrkf-1",
      resume: true,
    };
    const opened = await openRun(deps, { kind: "graph", input });
    expect(opened.resumed?.story?.state.stateHistory.length).toBeGreaterThan(0);
    expect(Buffer.byteLength(JSON.stringify(opened))).toBeLessThan(MAX_PAYLOAD_BYTES);
  });
});

describe("run.open of a large graph", () => {
  const names = Array.from({ length: 120 }, (_, index) => `node-${index}-${"long-".repeat(20)}`);

  async function openLarge() {
    const template = twoNodePackage();
    const step = template["steps/ask.md"] ?? "";
    const nodes = names.map((id) => ({ id, type: "step", file: `steps/${id}.md` }));
    const edges = names.slice(1).map((to, index) => ({ from: names[index], to, label: "on" }));
    const steps = names.map((id) => [`steps/${id}.md`, step.replace("nodeId: ask", `nodeId: ${id}`)]);
    const graph = { schemaVersion: "1.1", entryNodeId: names[0], nodes, edges };
    return openScene([], {
      ...template,
      ...(Object.fromEntries(steps) as Record<string, string>),
      "workflow.graph.json": JSON.stringify(graph),
    });
  }

  test("gives the part around where the run stands, to who takes a part, unless the run has a story", async () => {
    const { deps, world, opened } = await openLarge();
    expect(opened.graph).toMatchObject({ nodes: { length: names.length } });
    const input = { runId: RUN_ID, projectRoot: world.projectRoot, packageId: world.packageId };
    const open = createActivities(deps)["run.open"];
    const partOf = async (asked: Pick<OpenRunInput, "partOfGraph">, more: object = {}) => {
      const result = await open({ kind: "graph", input: { ...input, ...more }, ...asked });
      expect(result).not.toHaveProperty("graph");
      expect(JSON.stringify(result).length).toBeLessThan(20_000);
      return "graphPart" in result ? result.graphPart.nodes.map(({ id }) => id) : [];
    };
    expect((await partOf({ partOfGraph: {} }))[0]).toBe(names[0]);
    const under = await partOf({ partOfGraph: { nodeId: names[60] ?? "" } });
    expect(under.slice(0, 10)).toEqual(names.slice(52, 62));
    expect((await partOf({ partOfGraph: {} }, { resume: true }))[0]).toBe(names[0]);
    const withStory = { ...input, storyId: "wrkf-1" };
    const whole = await open({ kind: "graph", input: withStory, partOfGraph: {} });
    expect(whole).toMatchObject({ graph: { nodes: { length: names.length } } });
  });

  test("is asked for more of it, around a node or for one alone", async () => {
    const { deps, opened } = await openLarge();
    const { run } = opened;
    const part = createActivities(deps)["graph.part"];
    const ahead = await part({ run, nodeId: names[100] ?? "", around: true });
    expect(ahead.nodes.map(({ id }) => id)).toContain(names[101]);
    const alone = await part({ run, nodeId: names[7] ?? "", around: false });
    expect(alone).toMatchObject({ nodes: [{ id: names[7], isBorder: true }], edges: [] });
    expect(await part({ run, nodeId: "nowhere", around: false })).toMatchObject({ nodes: [] });
    const elsewhere = { run: { ...run, storeId: "other" }, nodeId: "x", around: false };
    await expect(part(elsewhere)).rejects.toMatchObject({ type: "WrongStore" });
  });
});

describe("run.open of several executions", () => {
  const execution = (id: string, startedAt: number) => ({ execution: { id, startedAt } });

  test("a retry is the next one, and what continues as new stays the same one", async () => {
    const { deps, world, opened } = await openScene([]);
    const input = { runId: RUN_ID, projectRoot: world.projectRoot, packageId: world.packageId };
    expect(opened.run.execution).toBeUndefined();
    const retry = { kind: "graph", input: { ...input, resume: true }, ...execution("b", 200) } as const;
    expect((await openRun(deps, retry)).run.execution).toBe(2);
    expect((await openRun(deps, retry)).run.execution).toBe(2);
    const carriedOn = { kind: "graph", input, ...execution("b", 200) } as const;
    expect((await openRun(deps, carriedOn)).run.execution).toBe(2);
    expect((await openRun(deps, { kind: "graph", input })).run.execution).toBe(2);
  });

  test("one that comes late takes nothing back, and what it had opened is shut", async () => {
    const { deps, world, opened, files, turn, context, model } = await openScene([{ content: "Late." }]);
    const input = { runId: RUN_ID, projectRoot: world.projectRoot, packageId: world.packageId };
    const resume = { ...input, resume: true };
    const late = { kind: "graph", input: resume, ...execution("b", 200) } as const;
    await openRun(deps, { kind: "graph", input: resume, ...execution("c", 300) });
    await expect(openRun(deps, late)).rejects.toThrow(ExecutionOver);
    await expect(openRun(deps, { kind: "graph", input, ...execution("a", 100) })).rejects.toThrow(
      ExecutionOver,
    );
    expect(files.executions.newest()).toBe(2);
    const activities = createActivities(deps);
    const said = { conversation: "visit-1", inputId: "input", nodeId: "ask", text: "late" };
    await expect(activities["user.input"]({ run: opened.run, ...said })).rejects.toMatchObject({
      type: "ENGINE_ABORTED",
      nonRetryable: true,
    });
    await expect(activities["state.load"]({ run: opened.run })).rejects.toThrow("has taken over");
    await expect(modelTurn(deps, new RunFiles(files.dir, 1), turn(), context)).rejects.toThrow(ExecutionOver);
    expect(model.requests).toHaveLength(1); // asked before it wakes up: the answer is not kept
    expect(await files.conversation("visit-1").entries()).toEqual([]);
  });
});

describe("a forked run.open", () => {
  test("twice is of the same moment, though the source has gone on meanwhile", async () => {
    const { deps, world, files } = await openScene([]);
    const { bytes } = valueOf(await files.state.read());
    const keep = (visit: number) =>
      files.boundaries.keep({ visit, nodeId: "ask", next: "middle", timestamp: AT, calls: 0 }, bytes);
    await keep(1);
    const fork = { runId: RUN_ID, fromNode: "middle" };
    const input = { runId: FORK_ID, projectRoot: world.projectRoot, packageId: world.packageId, fork };
    const first = await openRun(deps, { kind: "graph", input });
    await keep(5);
    const second = await openRun(deps, { kind: "graph", input });
    expect([first.forkedAfter, second.forkedAfter]).toEqual([1, 1]);
    expect(await world.store.runs.findRun(FORK_ID)).toMatchObject({
      value: { forkedFrom: { runId: RUN_ID, visit: 1 } },
    });
    // Forked from its beginning, it is under way as well.
    const again = { ...input, runId: FORK_OF_FORK_ID, fork: { runId: FORK_ID, visit: 0 } };
    expect((await openRun(deps, { kind: "graph", input: again })).forkedAfter).toBe(1);
    await rm(files.dir, { recursive: true });
    expect((await openRun(deps, { kind: "graph", input })).forkedAfter).toBe(1);
  });

  test("into a workflow that has no such node is refused, and leaves nothing behind", async () => {
    const { store, ...world } = await openRunWorld(
      nestedPackage({ calm: { nodes: { first: {}, last: {} } }, wild: { nodes: { other: {} } } }),
    );
    const deps = { store, bundles: createBundleHost({ store }) };
    const input = { projectRoot: world.projectRoot, packageId: world.packageId };
    const { run } = await openRun(deps, {
      kind: "graph",
      input: { ...input, runId: RUN_ID, workflowRef: "calm" },
    });
    const files = valueOf(await store.runs.openFiles(run.projectId, RUN_ID));
    const text = Buffer.from(valueOf(await files.state.read()).bytes).toString("utf8");
    const moved = Buffer.from(text.replace('currentNodeId: ""', "currentNodeId: last"));
    await files.boundaries.keep({ visit: 1, nodeId: "first", next: "last", timestamp: AT, calls: 0 }, moved);
    const fork = { ...input, runId: FORK_ID, workflowRef: "wild", fork: { runId: RUN_ID, fromNode: "last" } };
    await expect(openRun(deps, { kind: "graph", input: fork })).rejects.toMatchObject({
      type: "E_PRECONDITION_FAILED",
      message: expect.stringContaining('"last" then, and wild of '),
    });
    expect(await store.runs.findRun(FORK_ID)).toMatchObject({ ok: false });
  });

  test("variables that no document may hold leave nothing behind", async () => {
    const { deps, world } = await openScene([]);
    const set = { big: "x".repeat(130 * 1024) };
    const input = {
      runId: FORK_ID,
      projectRoot: world.projectRoot,
      packageId: world.packageId,
      fork: { runId: RUN_ID, visit: 0, set },
    };
    await expect(openRun(deps, { kind: "graph", input })).rejects.toMatchObject({ type: "E_WRITE_LIMIT" });
    expect(await world.store.runs.findRun(FORK_ID)).toMatchObject({ ok: false });
  });
});

test("words said in visits that were cut short are said again once, in order, to their node alone", async () => {
  const { deps, world, opened, files, turn, context, model } = await openScene([
    { content: "Thanks." },
    { content: "Thanks again." },
  ]);
  const { run } = opened;
  const say = (visit: number, inputId: string, nodeId: string) =>
    recordUserInput(world.store, { run, conversation: `visit-${visit}`, inputId, nodeId, text: inputId });
  await say(1, "before", "ask");
  await files.boundaries.keep(
    { visit: 1, nodeId: "ask", next: "ask", timestamp: AT, calls: 0 },
    Buffer.from("x"),
  );
  await say(2, "first", "ask");
  await say(3, "other", "middle");
  await say(3, "second", "ask");
  const input = turn({ visit: 5, conversation: "visit-5", intent: "resume", resumes: "visit-4" });
  await modelTurn(deps, files, input, context);
  const words = model.requests[0]?.messages.filter(({ content }) => content?.startsWith("USER_INPUT"));
  expect(words?.map(({ content }) => content?.split("\n").at(-1))).toEqual(["first", "second"]);
});
