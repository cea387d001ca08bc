import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { asyncLocalStorage } from "@temporalio/activity";
import { beforeEach, describe, expect, test } from "vitest";
import { createActivities } from "../../src/activities/create-activities.js";
import { openRun } from "../../src/activities/open-run.js";
import { keepPassedNode, recordPhase, recordUserInput } from "../../src/activities/run-records.js";
import { spentBefore } from "../../src/activities/spent-tokens.js";
import { runTool } from "../../src/activities/run-tool.js";
import type { PhaseInput, ToolCallInput } from "../../src/contract/activities.js";
import type { ModelCall } from "../../src/core/tools/model-call.js";
import { jsonLines, namesIn, openRunWorld, valueOf } from "../fakes/run-world.js";
import { twoNodePackage } from "../fakes/two-node-package.js";
import { createBundleHost } from "../../src/tools/bundle/bundle-host.js";
import { type ActivityScene, RUN_ID, openScene } from "./harness-world.js";

let scene: ActivityScene;
beforeEach(async () => {
  scene = await openScene([]);
});
const usage = { modelTurns: 1, toolCalls: 0, promptTokens: 0, completionTokens: 0, cost: 0 };
const indexed = async () => valueOf(await scene.world.store.runs.findRun(RUN_ID));

describe("opening a run", () => {
  const open = (changes: object = {}) => {
    const { store, projectRoot, packageId } = scene.world;
    const deps = { store, bundles: createBundleHost({ store }) };
    return openRun(deps, {
      kind: "graph",
      input: { runId: RUN_ID, projectRoot, packageId, ...changes },
    });
  };

  test("makes it once, gives its graph, and takes the first agent where none is named", async () => {
    expect(scene.opened.run).toEqual({
      runId: RUN_ID,
      storeId: scene.world.store.storeId,
      projectId: expect.any(String),
      packageId: scene.world.packageId,
      workflowRef: "two-nodes",
      activeAgentId: "author",
    });
    expect(scene.opened.graph.nodes.map(({ id }) => id)).toEqual(["ask", "middle", "finish"]);
    expect(await open()).toEqual(scene.opened);
    expect(await scene.world.store.runs.listAllRuns()).toHaveLength(1);
    expect((await indexed()).phase).toBe("running");
  });

  test("again, as a run that goes on does, keeps what was done", async () => {
    await scene.files.audit.record({ kind: "run.phase", id: "1" }, new Date());
    await open();
    expect(await jsonLines(scene.files.logFile)).toHaveLength(1);
  });

  test.each([
    ["packageId", "none-1.0.0-000000000000", "E_PACKAGE_NOT_FOUND"],
    ["workflowRef", "none", "E_WORKFLOW_NOT_FOUND"],
    ["activeAgentId", "none", "E_AGENT_NOT_FOUND"],
    ["projectRoot", "/nowhere/at/all", "E_SANDBOX_VIOLATION"],
  ])("with a wrong %s fails for good", async (key, value, type) => {
    await expect(open({ runId: "99999999-2222-4333-8444-555555555555", [key]: value })).rejects.toMatchObject(
      { type, nonRetryable: true },
    );
    expect(await scene.world.store.runs.listAllRuns()).toHaveLength(1);
  });

  test("of another store is refused with a sentence, and may be tried by another worker", async () => {
    await expect(open({ storeId: "other" })).rejects.toMatchObject({
      type: "WrongStore",
      nonRetryable: false,
      message: expect.stringContaining(
        `This worker has store ${scene.world.store.storeId}, but the run lives in store other.`,
      ),
    });
  });

  test("with a graph that no history could carry fails before anything is made", async () => {
    const files = twoNodePackage();
    const world = await openRunWorld({
      ...files,
      "workflow.graph.json": JSON.stringify({
        schemaVersion: "1.1",
        entryNodeId: "ask",
        nodes: [{ id: "ask", type: "step", file: "steps/ask.md", title: "x".repeat(258_000) }],
        edges: [],
      }),
    });
    const { store, projectRoot, packageId } = world;
    const deps = { store, bundles: createBundleHost({ store }) };
    const input = { runId: RUN_ID, projectRoot, packageId };
    await expect(openRun(deps, { kind: "graph", input })).rejects.toMatchObject({
      type: "E_PACKAGE_INVALID",
      message: "The graph is too large to run: shorten its texts.",
    });
    expect(await store.runs.listAllRuns()).toEqual([]);
    expect(await namesIn(projectRoot)).toEqual([]);
  });
});

describe("the end of a run", () => {
  test("counts what was used for answers that were none, once, however often it is recorded and taken up again", async () => {
    const { opened, files, deps } = scene;
    const lost = { promptTokens: 200, completionTokens: 20, cost: 0.4 };
    await files.spent.write({ conversation: "visit-1", visit: 1, turn: 2, usage: lost });
    const end: PhaseInput = { run: opened.run, phase: "failed", change: 2, nodeId: "ask", usage };
    await recordPhase(deps, { ...end, phase: "waiting-user", change: 1 });
    const first = await recordPhase(deps, end);
    expect(first).toMatchObject({ spent: lost });
    expect(await recordPhase(deps, end)).toEqual(first);
    expect(await jsonLines(files.logFile)).toMatchObject([
      { phase: "waiting-user" },
      { kind: "run.phase", phase: "failed", ...lost },
    ]);
    expect(await files.status.read()).toMatchObject({ usage: { ...usage, ...lost } });
    expect((await files.audit.totals()).usage).toMatchObject(lost);

    expect(await recordPhase(deps, { ...end, change: 4 })).not.toHaveProperty("spent");
    const context = scene.turn({ turn: 2 });
    expect(await spentBefore(files, context)).toBeUndefined();
    expect(files.spent.read()).toBeUndefined();
  });
});

describe("the user's words", () => {
  test("are written once into conversation and log, there without their contents", async () => {
    const input = {
      run: scene.opened.run,
      conversation: "visit-1",
      inputId: "i",
      nodeId: "ask",
      text: `My words ${"x".repeat(200)}`,
    };
    const first = await recordUserInput(scene.world.store, input);
    expect(await recordUserInput(scene.world.store, input)).toEqual(first);
    expect(await scene.files.conversation("visit-1").entries()).toEqual([
      { type: "user", id: "i", nodeId: "ask", text: input.text },
    ]);
    expect(await jsonLines(scene.files.logFile)).toEqual([
      expect.objectContaining({
        kind: "user.input",
        id: "i",
        nodeId: "ask",
        input: { content: expect.objectContaining({ bytes: 209 }) },
      }),
    ]);
  });

  test("under an id that other words have had are not taken for them, however often they come", async () => {
    const say = (text: string) =>
      recordUserInput(scene.world.store, {
        run: scene.opened.run,
        conversation: "visit-1",
        inputId: "input",
        nodeId: "ask",
        text,
      });
    for (const text of ["one", "two", "one", "three", "two"]) await say(text);
    const said = await scene.files.conversation("visit-1").entries();
    expect(said.map((entry) => entry.type === "user" && [entry.id, entry.text])).toEqual([
      ["input", "one"],
      ["input-2", "two"],
      ["input-3", "three"],
    ]);
    expect((await jsonLines(scene.files.logFile)).map(({ id }) => id)).toEqual([
      "input",
      "input-2",
      "input-3",
    ]);
  });

  test("that somebody else has said before under their id are not taken for theirs", async () => {
    const said = { conversation: "visit-1", inputId: "page-1.1", nodeId: "ask", text: "Yes." };
    // A reset lets the question be asked again.
    for (const by of ["ann", "bob", "ann", "bob"]) {
      await recordUserInput(scene.world.store, { run: scene.opened.run, ...said, by });
    }
    const lines = await jsonLines(scene.files.logFile);
    expect(lines.map(({ id, by }) => [id, by])).toEqual([
      ["page-1.1", "ann"],
      ["page-1.1-2", "bob"],
    ]);
    expect(await scene.files.conversation("visit-1").count()).toBe(2);
  });
});

describe("the user's words, where the files have gone on without them", () => {
  const answer = (inputId: string, text: string, turn = 1) =>
    recordUserInput(scene.world.store, {
      run: scene.opened.run,
      conversation: "visit-1",
      inputId,
      nodeId: "ask",
      text,
      after: { visit: 1, turn },
    });
  const turn = (number: number) =>
    scene.files.conversation("visit-1").append([
      {
        type: "assistant",
        visit: 1,
        turn: number,
        content: `Question ${number}?`,
        calls: [],
        finishReason: "stop",
        usage: { promptTokens: 0, completionTokens: 0, cost: 0 },
        model: "m",
      },
    ]);

  beforeEach(async () => {
    await turn(1);
    await answer("a", "Red.");
    await turn(2);
  });

  test("are kept, and the run is not gone on with: Temporal's database is of an earlier moment", async () => {
    for (const _attempt of [1, 2]) {
      await expect(answer("b", "Blue.")).rejects.toMatchObject({
        type: "E_PRECONDITION_FAILED",
        nonRetryable: true,
        message: expect.stringMatching(/are newer than the run.*interlock retry/),
      });
    }
    const said = await scene.files.conversation("visit-1").entries();
    expect(said.flatMap((entry) => (entry.type === "user" ? [entry.text] : []))).toEqual(["Red.", "Blue."]);
    expect((await jsonLines(scene.files.logFile)).map(({ id }) => id)).toEqual(["a", "b"]);
  });

  test("are the same as before where they are told again, and those that follow are taken", async () => {
    await expect(answer("a", "Red.")).resolves.toBeDefined();
    await expect(answer("c", "Green.", 2)).resolves.toBeDefined();
  });
});

describe("a phase", () => {
  const phase = (changes: Partial<PhaseInput>): PhaseInput => ({
    run: scene.opened.run,
    phase: "running",
    change: 1,
    nodeId: "ask",
    usage,
    ...changes,
  });

  test("is told in index, status and log", async () => {
    const fault = { code: "LLM_TIMEOUT", message: "too late" } as const;
    await recordPhase(scene.deps, phase({ phase: "failed", change: 2, fault }));
    expect((await indexed()).phase).toBe("failed");
    expect(await scene.files.status.read()).toEqual({
      phase: "failed",
      nodeId: "ask",
      change: 2,
      usage,
      fault,
    });
    expect(await jsonLines(scene.files.logFile)).toEqual([
      expect.objectContaining({
        kind: "run.phase",
        id: "2",
        phase: "failed",
        nodeId: "ask",
        code: "LLM_TIMEOUT",
        message: "too late",
      }),
    ]);
  });

  test("that comes late does not replace a newer one, but is in the log", async () => {
    await recordPhase(scene.deps, phase({ phase: "completed", change: 3 }));
    await recordPhase(scene.deps, phase({ phase: "running", change: 2 }));
    expect((await indexed()).phase).toBe("completed");
    expect(await scene.files.status.read()).toMatchObject({ phase: "completed", change: 3 });
    expect((await jsonLines(scene.files.logFile)).map(({ id }) => id)).toEqual(["3", "2"]);
  });
});

describe("a tool call of the engine", () => {
  const ask: ModelCall = {
    id: "call-1",
    name: "fs_write",
    argumentsJson: '{"path":"@project/artifacts/a.md","content":"SECRET"}',
  };
  const input = (changes: Partial<ToolCallInput> = {}): ToolCallInput => ({
    run: scene.opened.run,
    conversation: "visit-1",
    callId: "call-1",
    nodeId: "ask",
    agentId: "author",
    stateSha256: "",
    now: "2026-03-04T05:06:07.000Z",
    ...changes,
  });
  const run = (changes: Partial<ToolCallInput> = {}) =>
    asyncLocalStorage.run(scene.context, () => runTool(scene.deps, input(changes)));
  const version = async () => valueOf(await scene.files.state.read()).sha256;
  const say = (...calls: readonly ModelCall[]) =>
    scene.files.conversation("visit-1").append([
      {
        type: "assistant",
        visit: 1,
        turn: 1,
        content: "",
        calls,
        finishReason: "",
        usage: { promptTokens: 0, completionTokens: 0, cost: 0 },
        model: "",
      },
    ]);

  test("is taken from the conversation, and tells the history codes, sizes and hashes only", async () => {
    await say(ask);
    const outcome = await run({ stateSha256: await version() });
    expect(outcome).toEqual({
      ok: true,
      path: "@project/artifacts/a.md",
      bytes: 6,
      sha256: expect.stringMatching(/^[0-9a-f]{64}$/u),
      state: { sha256: await version(), artifact: "artifacts/a.md" },
      audit: { lines: 1, sha256: expect.any(String) },
    });
    expect(JSON.stringify(outcome)).not.toContain("SECRET");
    expect(await run({ stateSha256: "anything" })).toEqual(outcome);
  });

  test("that failed tells its code; a conflict is told as one", async () => {
    await say(ask);
    expect(await run({ stateSha256: "another" })).toEqual({
      ok: false,
      code: "E_PRECONDITION_FAILED",
      message: expect.stringContaining("changed from outside this run"),
      unmet: true,
      stateConflict: true,
      audit: expect.any(Object),
    });
  });

  test("that is refused is recorded under its refusal", async () => {
    await say(ask);
    const refusal = { code: "E_INVALID_TRANSITION", message: "no" } as const;
    expect(await run({ refusal })).toMatchObject({ ok: false, code: "E_INVALID_TRANSITION" });
    expect((await scene.files.calls.find("call-1"))?.result).toEqual({ ok: false, error: refusal });
  });

  test("that nobody made is an error", async () => {
    await expect(run()).rejects.toThrow("The conversation visit-1 holds no such call.");
    await expect(run({ conversation: "../x" })).rejects.toThrow(
      "A conversation's name is a word and a number.",
    );
  });

  test("of another store, or of a run that is not there, is refused", async () => {
    await expect(run({ run: { ...scene.opened.run, storeId: "other" } })).rejects.toMatchObject({
      type: "WrongStore",
    });
    await expect(run({ run: { ...scene.opened.run, runId: "x" } })).rejects.toMatchObject({
      type: "E_RUN_NOT_FOUND",
    });
    await expect(run({ run: { ...scene.opened.run, projectId: "../x" } })).rejects.toMatchObject({
      type: "E_RUN_NOT_FOUND",
    });
  });
});

describe("the boundary of a node that was passed", () => {
  const passed = { visit: 1, nodeId: "ask" };
  const keep = (stateSha256: string) =>
    keepPassedNode(scene.world.store, { run: scene.opened.run, ...passed }, stateSha256);
  const kept = async () => (await scene.files.boundaries.all()).filter(({ visit }) => visit > 0);
  const document = async () => valueOf(await scene.files.state.read());
  /** The document as a call has left it that led the run to `middle`. */
  async function moveOn(): Promise<string> {
    const text = Buffer.from((await document()).bytes).toString("utf8");
    const moved = text.replace(/^currentNodeId: .*$/mu, "currentNodeId: middle");
    await writeFile(join(scene.files.stateDir, "workflow.md"), moved);
    return (await document()).sha256;
  }

  test("is kept once, with the document that led on", async () => {
    const documentSha256 = await moveOn();
    expect(await keep(documentSha256)).toEqual({ visit: 1, next: "middle", documentSha256 });
    expect(await kept()).toEqual([
      { ...passed, next: "middle", documentSha256, calls: 0, timestamp: expect.any(String) },
    ]);
    const first = await kept();
    expect(await keep(documentSha256)).toEqual({ visit: 1, next: "middle", documentSha256 });
    expect(await kept()).toEqual(first);
  });

  test("is left to the workflow where the run stands where it stood", async () => {
    expect(await keep((await document()).sha256)).toBeUndefined();
    expect(await kept()).toEqual([]);
  });

  test("is left to the workflow where the document has been changed since", async () => {
    const before = await document();
    await moveOn();
    expect(await keep(before.sha256)).toBeUndefined();
    expect(await kept()).toEqual([]);
  });

  test("is left to the workflow where it cannot be kept", async () => {
    const documentSha256 = await moveOn();
    const file = join(scene.files.dir, "boundaries.jsonl");
    await rm(file);
    await mkdir(file);
    expect(await keep(documentSha256)).toBeUndefined();
  });
});

describe("the activities", () => {
  test("have the names that others see", () => {
    expect(Object.keys(createActivities(scene.deps)).sort()).toEqual([
      "fs.apply_patch",
      "fs.edit",
      "fs.list",
      "fs.read",
      "fs.search",
      "fs.write",
      "graph.part",
      "model.quick-turn",
      "model.turn",
      "node.pass",
      "preload_workflow",
      "read_file",
      "run.below",
      "run.open",
      "run.phase",
      "save_output",
      "state.load",
      "state.persist",
      "state.record",
      "state.snapshot",
      "tool.call",
      "tool.refuse",
      "update.verify",
      "user.input",
    ]);
  });

  test("load the state document, or fail with what is wrong with it", async () => {
    const activities = createActivities(scene.deps);
    const document = valueOf(await scene.files.state.read());
    expect(await activities["state.load"]({ run: scene.opened.run })).toEqual({
      frontmatter: document.frontmatter,
      sha256: document.sha256,
    });
    await writeFile(join(scene.files.stateDir, "workflow.md"), "---\n[\n---\n");
    await expect(activities["state.load"]({ run: scene.opened.run })).rejects.toMatchObject({
      type: "E_INVALID_FRONTMATTER",
    });
  });
});
