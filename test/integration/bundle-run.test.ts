import { randomUUID } from "node:crypto";
import { readdir, rm, symlink, writeFile } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { describe, expect, test } from "vitest";
import type { RunHandle } from "../../src/client/client.js";
import { workflowIdOf } from "../../src/core/run/run-id.js";
import { replayHistory } from "../../src/replay.js";
import { findBundleFiles, findRoots } from "../../src/tools/bundle/bundle-discovery.js";
import { readTree } from "../fakes/package-fixture.js";
import { valueOf } from "../fakes/run-world.js";
import { type ChatRequestBody, type ScriptedAnswer, call } from "../fakes/scripted-model.js";
import { type Bench, copyRoom, openBench, until } from "./harness.js";
import { ROOT } from "./shell.js";

const INTAKE = "{bundle-root}/workflows/intake/workflow.yaml";
const PRELOAD = { calls: [call("preload_workflow", { workflow_path: INTAKE })] };
const QUESTION = { content: "What are you looking for, in your own words?" };
const DONE = { content: "Everything is saved.\n\nWORKFLOW COMPLETE" };
const SAVED = "request-2026-03-04.md";

function save(content: string, file_path = SAVED): ScriptedAnswer {
  return { calls: [call("save_output", { file_path, content })] };
}

function texts(request: ChatRequestBody | undefined, role: string): readonly string[] {
  return (request?.messages ?? []).flatMap((message) =>
    message.role === role ? [message.content ?? ""] : [],
  );
}

function results(request: ChatRequestBody | undefined) {
  return texts(request, "tool").map((text) => JSON.parse(text) as Record<string, unknown>);
}

async function toolEvents(bench: Bench, run: RunHandle) {
  return (await bench.auditEvents(run)).filter(({ kind }) => kind === "tool.exec");
}

/** The sizes of all payloads of an event. */
function payloadBytes(value: unknown): readonly number[] {
  if (typeof value !== "object" || value === null) return [];
  if ("data" in value && value.data instanceof Uint8Array) return [value.data.byteLength];
  return Object.values(value).flatMap(payloadBytes);
}

describe("a bundle run on a real Temporal server", () => {
  test("preloads, asks, waits, is answered, saves and completes", async () => {
    const bench = await openBench([PRELOAD, QUESTION, save("A quiet book.\n"), DONE]);
    const run = await bench.startBundle({ input: "*intake" });

    const waiting = await until(run, "waiting-user");
    expect(waiting.question).toEqual({ nodeId: "workflow", text: QUESTION.content });
    await expect(run.answer({ nodeId: "ask", text: "x" })).rejects.toThrow("waits for an answer at workflow");
    await run.answer({ nodeId: "workflow", text: "A quiet book.", answerId: "answer-1" });
    const result = await run.result();

    expect(result).toMatchObject({
      phase: "completed",
      stepsCompleted: ["workflow"],
      artifacts: [`{session-folder}/${SAVED}`],
      usage: { modelTurns: 4, toolCalls: 2 },
    });
    const { files, manifest } = await bench.session(run);
    expect(files).toEqual({ [SAVED]: "A quiet book.\n" });
    expect(manifest).toMatchObject({
      sessionId: run.runId,
      runId: run.runId,
      workflow: INTAKE,
      agent: "Iris",
      status: "complete",
      files: [{ path: SAVED, size: 14 }],
    });

    const [first, second, , last] = bench.model.requests;
    expect(first?.messages.map(({ role }) => role)).toEqual(["system", "user", "user", "assistant", "tool"]);
    expect(texts(first, "user")[0]).toMatch(/^RUN_DIRECTIVE\n(.*\n)*- agent: Iris\n- command: \*intake\n/);
    expect(texts(first, "user")[0]).toContain("- yolo: false");
    expect(first?.tools?.map((tool) => tool.function.name).sort()).toEqual([
      "preload_workflow",
      "read_file",
      "save_output",
    ]);
    expect(results(second)[1]).toMatchObject({
      success: true,
      instructions: expect.stringContaining("Taking a request") as string,
      template: expect.stringContaining("# Request of") as string,
      workflowEngine: expect.any(String) as string,
    });
    expect(texts(last, "user").slice(1)).toEqual([
      "USER_INPUT\n- forNodeId: workflow\n*intake",
      "USER_INPUT\n- forNodeId: workflow\nA quiet book.",
    ]);
  });

  test("the files of the agent's critical actions are in the first request, and in the audit log once", async () => {
    const bench = await openBench([save("x"), DONE]);
    const run = await bench.startBundle();
    await run.result();
    const [first, second] = bench.model.requests;
    expect(results(first)).toEqual([
      expect.objectContaining({
        success: true,
        path: "{bundle-root}/config.yaml",
        content: expect.stringContaining("user_name: Robin") as string,
      }),
    ]);
    expect(results(second)).toHaveLength(2);
    const events = await toolEvents(bench, run);
    expect(events.map(({ toolCallId, toolName }) => [toolCallId, toolName])).toEqual([
      ["critical-1", "read_file"],
      ["call-1", "save_output"],
    ]);
  });

  test("no request holds a path of the machine, and every call has one audit event", async () => {
    const bench = await openBench([
      PRELOAD,
      {
        calls: [
          call("read_file", { file_path: "{project-root}/nothing.md" }),
          call("read_file", { file_path: join(ROOT, "package.json") }),
          call("preload_workflow", { workflow_path: "workflows/none" }),
          call("save_output", { file_path: "/data/agent-outputs/other/x.md", content: "x" }),
          call("run_command", { command: "pwd" }),
          call("read_file", "{"),
        ],
      },
      save("x"),
      DONE,
    ]);
    const run = await bench.startBundle({ input: "intake" });
    await run.result();
    const sent = JSON.stringify(bench.model.requests.map((request) => request.messages)).replaceAll(
      join(ROOT, "package.json"), // said by the model itself, in a call that is shown to it again
      "",
    );
    expect(sent).not.toContain(bench.dir);
    expect(sent).not.toContain(ROOT);
    const refused = results(bench.model.requests[2]).slice(2);
    expect(refused).toHaveLength(6);
    for (const result of refused) {
      expect(result).toMatchObject({ success: false, error: expect.any(String) as string });
    }
    const ids = (await toolEvents(bench, run)).map(({ toolCallId }) => toolCallId);
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids).toHaveLength(9);
  });

  test("a number picks the command of that number, and its workflow", async () => {
    const bench = await openBench([save("Titles", "reading-list.md"), DONE]);
    const run = await bench.startBundle({ input: "3" });
    await run.result();
    const workflow = "{bundle-root}/workflows/reading-list/workflow.yaml";
    const [directive = ""] = texts(bench.model.requests[0], "user");
    expect(directive).toContain(`- workflow: ${workflow}\n`);
    expect(directive).toContain("- command: *reading-list\n");
    expect((await bench.session(run)).manifest).toMatchObject({ workflow, status: "complete" });
    expect((await run.state()).workflowRef).toBe("reading-list");
  });

  test("a workflow that is its own bundle is called as its directory is", async () => {
    const bench = await openBench([save("x"), DONE]);
    const { bundleRoot } = await copyRoom(dirname(bench.store.dir));
    const own = { bundleRoot: join(bundleRoot, "workflows/intake"), workflowPath: "workflow.yaml" };
    const run = await bench.startBundle(own);
    await run.result();
    expect(await run.state()).toMatchObject({ packageId: "bundle:intake", workflowRef: "intake" });
  });

  test("yolo is in the directive and in the rules", async () => {
    const bench = await openBench([save("x"), DONE]);
    await (await bench.startBundle({ yolo: true })).result();
    expect(texts(bench.model.requests[0], "user")[0]).toContain("- yolo: true");
    expect(texts(bench.model.requests[0], "system")[0]).toContain("The user wants no questions (yolo)");
  });

  test("two runs at once have folders of their own", async () => {
    const bench = await openBench((request) => (results(request).length < 2 ? save("mine") : DONE));
    const runs = await Promise.all([bench.startBundle(), bench.startBundle()]);
    await Promise.all(runs.map((run) => run.result()));
    const sessions = await Promise.all(runs.map((run) => bench.session(run)));
    expect(new Set(sessions.map(({ dir }) => dir)).size).toBe(2);
    for (const [index, { manifest }] of sessions.entries()) {
      expect(manifest).toMatchObject({ runId: runs[index]?.runId, status: "complete" });
    }
  });

  test("of two runs with one session id one gets it; the other fails with a sentence and writes nothing", async () => {
    const bench = await openBench((request) => (results(request).length < 2 ? save("mine") : DONE));
    const runs = await Promise.all([1, 2].map(() => bench.startBundle({ sessionId: "shared" })));
    const ends = await Promise.allSettled(runs.map((run) => run.result()));
    const won = ends.findIndex(({ status }) => status === "fulfilled");
    const lost = ends.findIndex(({ status }) => status === "rejected");
    expect(won + lost).toBe(1);
    expect(ends[lost]).toMatchObject({
      reason: {
        code: "E_PRECONDITION_FAILED",
        message: 'The session id "shared" is taken. Choose another, or none.',
      },
    });
    expect(await readdir(join(bench.projectRoot, "artifacts"))).toEqual(["shared"]);
    const folder = join(bench.projectRoot, "artifacts/shared");
    expect((await readdir(folder)).sort()).toEqual(["manifest.json", SAVED]);
    const winner = runs[won];
    if (winner === undefined) throw new Error("no run has completed");
    expect((await bench.session(winner)).manifest).toMatchObject({ runId: winner.runId, status: "complete" });
    const loser = await bench.store.runs.findRun(runs[lost]?.runId ?? "");
    expect(loser).toMatchObject({ ok: true, value: { phase: "failed" } });
  });
});

describe("how a bundle run ends", () => {
  test("a file with nothing in it is no result: the model is told, and the run not completed before", async () => {
    const bench = await openBench([save(""), DONE, save("x"), DONE]);
    const run = await bench.startBundle();
    expect(await run.result()).toMatchObject({ phase: "completed", usage: { modelTurns: 4 } });
    expect(texts(bench.model.requests[2], "system").at(-1)).toMatch(/^The workflow is not complete/);
  });

  test("a model that reads the same file again and again is told so, then the user is asked", async () => {
    const read = call("read_file", { file_path: INTAKE });
    const bench = await openBench((_, index) =>
      index < 8 ? { calls: [read] } : index === 8 ? save("x") : DONE,
    );
    const run = await bench.startBundle();
    const { question } = await until(run, "waiting-user");
    expect(question).toMatchObject({ code: "ENGINE_LOOP_DETECTED" });
    expect(bench.model.requests).toHaveLength(8);
    expect(texts(bench.model.requests[4], "system")).toHaveLength(1);
    expect(texts(bench.model.requests[5], "system").at(-1)).toContain("the same tool call five times");
    await run.answer({ nodeId: "workflow", text: "You have read it. Save something." });
    expect((await run.result()).phase).toBe("completed");
    expect(await replayHistory(await run.history())).toMatchObject({ ok: true });
  });

  test("an end that is said in another form ends nothing: the model is told how to end, and no person asked", async () => {
    const bench = await openBench([save("x"), { content: "All saved.\n\n**WORKFLOW COMPLETE**" }, DONE]);
    const run = await bench.startBundle();
    expect(await run.result()).toMatchObject({ phase: "completed", usage: { modelTurns: 3 } });
    expect(texts(bench.model.requests[2], "system").at(-1)).toContain("exactly WORKFLOW COMPLETE");
  });

  test("done said too early is corrected with what is missing; in the end the user is asked", async () => {
    const bench = await openBench([DONE, DONE, DONE, DONE, save("x"), DONE]);
    const run = await bench.startBundle();
    const { question } = await until(run, "waiting-user");
    expect(question?.code).toBe("ENGINE_LOOP_DETECTED");
    expect(question?.text).toContain("{session-folder}/request-{{date}}.md was not saved");
    expect(bench.model.requests).toHaveLength(4);
    const corrections = texts(bench.model.requests[3], "system").slice(1);
    expect(corrections).toHaveLength(3);
    for (const text of corrections) {
      expect(text).toMatch(/^The workflow is not complete: \{session-folder\}\/request-\{\{date\}\}\.md /);
    }
    await run.answer({ nodeId: "workflow", text: "Save it." });
    await run.result();
    expect((await bench.session(run)).manifest).toMatchObject({ status: "complete" });
  });

  test("a model that reads and says done again and again does not go on for ever, and finish ends it", async () => {
    const bench = await openBench((request) =>
      request.messages.at(-1)?.role === "system"
        ? { calls: [call("read_file", { file_path: "{bundle-root}/config.yaml" })] }
        : DONE,
    );
    const run = await bench.startBundle();
    await until(run, "waiting-user");
    expect(bench.model.requests).toHaveLength(7);
    await run.finish();
    expect(await run.result()).toMatchObject({ phase: "completed", artifacts: [] });
    const { files, manifest } = await bench.session(run);
    expect(files).toEqual({});
    expect(manifest).toMatchObject({ status: "complete", files: [] });
    await expect(run.finish()).rejects.toMatchObject({ code: "E_PRECONDITION_FAILED" });
  });

  test("finish while the model is answering: what it asks for is not run, its question is not asked", async () => {
    let finish: () => Promise<void> = () => Promise.resolve();
    const bench = await openBench(async (_request, index) => {
      if (index === 0) return PRELOAD;
      await finish();
      return save("too late");
    });
    const runId = randomUUID();
    finish = () => bench.client.handle(runId).finish();
    const run = await bench.startBundle({ runId });
    await run.result();
    const { files, manifest } = await bench.session(run);
    expect(files).toEqual({});
    expect(manifest).toMatchObject({ status: "complete" });
    const events = await bench.auditEvents(run);
    expect(events.at(-2)).toMatchObject({ kind: "tool.exec", toolName: "save_output" });
    expect(events.at(-1)).toMatchObject({ kind: "run.phase", phase: "completed" });
    expect(events.filter(({ phase }) => phase === "waiting-user")).toEqual([]);
  });

  test("an answer that was cut off runs no call; one cut off again and again asks the user", async () => {
    const cut = { ...save("half"), finishReason: "length" };
    const bench = await openBench([cut, save("whole"), cut, cut, cut, cut, DONE]);
    const run = await bench.startBundle();
    const { question } = await until(run, "waiting-user");
    expect(question?.code).toBe("ENGINE_LOOP_DETECTED");
    expect((await bench.session(run)).files).toEqual({ [SAVED]: "whole" });
    expect(texts(bench.model.requests[1], "system")[1]).toContain("none of its tool calls ran");
    await run.answer({ nodeId: "workflow", text: "End it." });
    await run.result();
  });

  test("the same failing call is corrected once, then the user is asked", async () => {
    const failing = { calls: [call("read_file", { file_path: "{project-root}/none.md" })] };
    const bench = await openBench([failing, failing, failing, failing, save("x"), DONE]);
    const run = await bench.startBundle();
    const { question } = await until(run, "waiting-user");
    expect(question).toMatchObject({ nodeId: "workflow", code: "ENGINE_LOOP_DETECTED" });
    expect(texts(bench.model.requests[3], "system")[1]).toContain("failed three times in a row");
    await run.answer({ nodeId: "workflow", text: "Go on without it." });
    await run.result();
  });
});

describe("what Temporal keeps of a bundle run", () => {
  const LONG = "A sentence of the instructions that no history is to hold. ".repeat(10_000);
  const TURNS = 12;

  test(
    "grows by a small constant for each turn, without what was loaded, read or saved",
    { tags: "slow" },
    async () => {
      const bench = await openBench((_request, index) => {
        if (index === 0) return PRELOAD;
        return index < TURNS ? save(`${LONG}${index}`) : DONE;
      });
      const run = await bench.startBundle(
        {},
        { "bmad/desk/workflows/intake/instructions.md": `## Step 1: Read\n\n${LONG}` },
      );
      await run.result();
      const { events } = await run.history();
      expect(JSON.stringify(results(bench.model.requests[1])).length).toBeGreaterThan(LONG.length);
      const sizes: number[] = [];
      const counts: number[] = [];
      for (const event of events ?? []) {
        if (event.activityTaskScheduledEventAttributes?.activityType?.name === "model.turn") {
          sizes.push(0);
          counts.push(0);
        }
        const bytes = payloadBytes(event);
        for (const each of bytes) expect(each).toBeLessThan(16 * 1024);
        sizes.push((sizes.pop() ?? 0) + bytes.reduce((sum, each) => sum + each, 0));
        counts.push((counts.pop() ?? 0) + 1);
      }
      const turns = sizes.slice(2, TURNS);
      expect(turns).toHaveLength(TURNS - 2);
      expect(Math.max(...turns)).toBeLessThan(4 * 1024);
      expect(Math.max(...turns) - Math.min(...turns)).toBeLessThan(64);
      expect(new Set(counts.slice(2, TURNS)).size).toBe(1);
      expect(counts[2]).toBeLessThanOrEqual(10);
      expect(await replayHistory(await run.history())).toMatchObject({ ok: true });
    },
  );

  test("first words that are too long are refused before anything is started", async () => {
    const bench = await openBench([]);
    await expect(bench.startBundle({ input: "é".repeat(40_000) })).rejects.toMatchObject({
      code: "E_PRECONDITION_FAILED",
    });
    expect(await bench.store.runs.listAllRuns()).toEqual([]);
  });
});

describe("the example bundle", () => {
  test("every workflow of it is rehearsed to its end, once without an agent and once with it", async () => {
    const bench = await openBench([]);
    const room = join(ROOT, "examples/reading-room");
    valueOf(await bench.store.roots.add(join(room, "bmad"), "read"));
    const { workflows } = await findBundleFiles(room);
    expect(workflows.map((file) => relative(room, file))).toEqual([
      "bmad/desk/workflows/intake/workflow.yaml",
      "bmad/desk/workflows/reading-list/workflow.yaml",
    ]);
    for (const file of workflows) {
      const { bundleRoot, coreRoot = "" } = await findRoots(file);
      const workflow = { bundleRoot, coreRoot, workflowPath: relative(bundleRoot, file), rehearsal: {} };
      for (const agentFile of [undefined, join(bundleRoot, "agents/iris.md")]) {
        const run = await bench.client.startBundle({
          ...workflow,
          projectRoot: bench.projectRoot,
          ...(agentFile === undefined ? {} : { agentFile }),
        });
        expect(await run.result()).toMatchObject({ phase: "completed" });
        const { files, manifest } = await bench.session(run);
        expect(manifest).toMatchObject({ status: "complete" });
        expect(Object.keys(files)).not.toEqual([]);
      }
    }
    expect(bench.model.requests).toEqual([]);
  });
});

describe("a bundle run whose model fails", () => {
  test("is failed, and goes on in the same conversation with a retry; what was answered is not asked again", async () => {
    const bench = await openBench([
      PRELOAD,
      QUESTION,
      save("first", "notes.md"),
      { status: 401 },
      save("second"),
      DONE,
    ]);
    const run = await bench.startBundle({ input: "*intake" });
    await until(run, "waiting-user");
    await run.answer({ nodeId: "workflow", text: "A quiet book." });
    await expect(run.result()).rejects.toMatchObject({ code: "LLM_AUTH_FAILED" });
    expect((await bench.session(run)).manifest).toMatchObject({ status: "failed" });

    const again = await bench.client.retry(run.runId);
    expect(await again.result()).toMatchObject({
      artifacts: ["{session-folder}/notes.md", `{session-folder}/${SAVED}`],
      usage: { modelTurns: 5 },
    });
    const { files, manifest } = await bench.session(run);
    expect(files).toEqual({ "notes.md": "first", [SAVED]: "second" });
    expect(manifest).toMatchObject({ status: "complete" });
    const last = bench.model.requests.at(-1);
    expect(texts(last, "user")).toEqual([
      expect.stringMatching(/^RUN_DIRECTIVE\n/) as string,
      "USER_INPUT\n- forNodeId: workflow\n*intake",
      "USER_INPUT\n- forNodeId: workflow\nA quiet book.",
    ]);
    expect(texts(last, "system")[1]).toContain("interrupted");
    expect(last?.messages.slice(0, 9)).toEqual(bench.model.requests[2]?.messages.slice(0, 9));
    const events = await bench.auditEvents(run);
    expect(events.filter(({ kind }) => kind === "user.input")).toHaveLength(2);
    expect(events.filter(({ toolCallId }) => toolCallId === "critical-1")).toHaveLength(1);
    expect((await again.auditHead())?.lines).toBe(events.length);
    const workflow = bench.client.temporal.workflow.getHandle(workflowIdOf(run.runId));
    const { typedSearchAttributes } = await workflow.describe();
    const found = typedSearchAttributes.getAll().map(({ key, value }) => [key.name, value]);
    expect(Object.fromEntries(found)).toMatchObject({ RunAgent: "iris", RunNode: "workflow" });
  });

  test("cancelled while it asked: the model is told that its question is open, and not to go on as if it were answered", async () => {
    const bench = await openBench([PRELOAD, QUESTION, QUESTION]);
    const run = await bench.startBundle();
    await until(run, "waiting-user");
    await run.cancel();
    await expect(run.result()).rejects.toMatchObject({ code: "ENGINE_ABORTED" });
    const again = await bench.client.retry(run.runId);
    await until(again, "waiting-user");
    expect(texts(bench.model.requests.at(-1), "system").at(-1)).toMatch(
      /nobody has answered it: ask it again\.$/,
    );
    await again.finish();
  });

  test("at the turn after an answer: the model is not told that nobody has answered it", async () => {
    const bench = await openBench([PRELOAD, QUESTION, { status: 401 }, save("x"), DONE]);
    const run = await bench.startBundle();
    await until(run, "waiting-user");
    await run.answer({ nodeId: "workflow", text: "A quiet book." });
    await expect(run.result()).rejects.toMatchObject({ code: "LLM_AUTH_FAILED" });
    await (await bench.client.retry(run.runId)).result();
    const last = bench.model.requests.at(-1);
    expect(texts(last, "user").at(-1)).toContain("A quiet book.");
    expect(texts(last, "system").at(-1)).toMatch(/goes on now\.$/);
  });

  test("at its very first turn: the retry says the user's words once", async () => {
    const bench = await openBench([{ status: 401 }, save("x"), DONE]);
    const run = await bench.startBundle({ input: "intake" });
    await expect(run.result()).rejects.toMatchObject({ code: "LLM_AUTH_FAILED" });
    await (await bench.client.retry(run.runId)).result();
    const said = texts(bench.model.requests.at(-1), "user");
    expect(said.filter((text) => text.startsWith("USER_INPUT"))).toHaveLength(1);
    expect(said.filter((text) => text.startsWith("RUN_DIRECTIVE"))).toHaveLength(1);
    expect((await bench.session(run)).manifest).toMatchObject({ status: "complete" });
  });

  test("a session folder that somebody has removed does not hide why the run failed", async () => {
    let outputRoot = "";
    const bench = await openBench(async () => {
      await rm(outputRoot, { recursive: true });
      return { status: 401 };
    });
    outputRoot = join(bench.dir, "out");
    const run = await bench.startBundle({ outputRoot, sessionId: "one" });
    await expect(run.result()).rejects.toMatchObject({ code: "LLM_AUTH_FAILED" });
    const known = await bench.store.runs.findRun(run.runId);
    expect(known).toMatchObject({ ok: true, value: { phase: "failed" } });
  });
});

describe("hostile paths of a bundle run", () => {
  const READS = [
    "../../secret.txt",
    "/etc/passwd",
    "{project-root}/../secret.txt",
    "{project_root}/link.md",
    "{project-root}/.env",
    "{project-root}/node_modules/x.js",
    "{bundle-root}/../../../secret.txt",
    "{store}/secret.txt",
    "{session-folder}/../other/manifest.json",
    "{project-root}\\..\\secret.txt",
    "file:///etc/passwd",
  ];
  const WRITES = [
    ...READS.filter((path) => !path.startsWith("file:")), // that is a name in the session folder
    "{project-root}/new.md",
    "{bundle-root}/workflows/intake/instructions.md",
    "{core-root}/tasks/workflow.md",
    "{session-folder}/manifest.json",
    "manifest.json",
    "/data/agent-outputs/other/x.md",
  ];

  test("nothing outside is read or written, and each call has one audit event", async () => {
    const of = (name: string, key: string, paths: readonly string[]) => ({
      calls: paths.map((path) =>
        call(name, { [key]: path, ...(name === "save_output" ? { content: "x" } : {}) }),
      ),
    });
    const bench = await openBench([
      of("read_file", "file_path", READS),
      of("preload_workflow", "workflow_path", READS),
      of("save_output", "file_path", WRITES),
      save("x"),
      DONE,
    ]);
    await writeFile(join(bench.dir, "secret.txt"), "THE-SECRET");
    await writeFile(join(bench.projectRoot, ".env"), "THE-SECRET");
    await symlink(join(bench.dir, "secret.txt"), join(bench.projectRoot, "link.md"));
    const run = await bench.startBundle();
    await run.result();

    expect(JSON.stringify(bench.model.requests)).not.toContain("THE-SECRET");
    const count = 2 * READS.length + WRITES.length;
    const refused = results(bench.model.requests[3]).slice(1);
    expect(refused).toHaveLength(count);
    expect(refused.filter(({ success }) => success !== false)).toEqual([]);
    const ids = (await toolEvents(bench, run)).map(({ toolCallId }) => toolCallId);
    expect(ids).toHaveLength(count + 2);
    expect(new Set(ids).size).toBe(ids.length);

    expect((await bench.session(run)).files).toEqual({ [SAVED]: "x" });
    expect((await readdir(bench.projectRoot)).sort()).toEqual([".env", "artifacts", "link.md"]);
    expect(await readdir(join(bench.projectRoot, "artifacts"))).toEqual([run.runId]);
    expect(await readTree(join(bench.dir, "room"))).toEqual(
      await readTree(join(ROOT, "examples/reading-room")),
    );
  });
});
