import { STEP_SIZES } from "../../src/core/step-size.js";
import { eventually } from "../fakes/eventually.js";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { InterlockError } from "../../src/client/client.js";
import { workflowIdOf } from "../../src/core/run/run-id.js";
import { type ScriptedAnswer, call, patch } from "../fakes/scripted-model.js";
import { twoNodePackage } from "../fakes/two-node-package.js";
import { straightOn } from "../fakes/walk.js";
import { openBench, until } from "./harness.js";

const done = (from: string, to: string) =>
  patch({ stepsCompleted: { append: [from] }, currentNodeId: { set: to } });

/** The shortest way through the package. */
const STRAIGHT: readonly ScriptedAnswer[] = [
  { calls: [done("ask", "middle")] },
  { calls: [done("middle", "finish")] },
  { calls: [patch({ stepsCompleted: { append: ["finish"] } })] },
];

describe("a graph run on a real Temporal server", () => {
  test("asks, is answered, is refused a wrong jump with allowedNext, and completes as the script says", async () => {
    const bench = await openBench([
      { calls: [call("fs_read", { path: "@pkg/steps/ask.md" })] },
      { content: "Which colour?" },
      { calls: [call("fs_write", { path: "@project/artifacts/out.md", content: "blue\n" })] },
      { calls: [done("ask", "finish")] },
      {
        calls: [
          patch({
            stepsCompleted: { append: ["ask"] },
            variables: { set: { colour: "blue" } },
            decisionLog: { append: [{ from: "ask", to: "middle", label: "onwards" }] },
            currentNodeId: { set: "middle" },
            updatedAt: { set: "2026-01-02T03:04:05Z" },
          }),
        ],
      },
      { calls: [done("middle", "finish")] },
      {
        calls: [
          patch({ stepsCompleted: { append: ["finish"] }, updatedAt: { set: "2026-01-02T03:04:06Z" } }),
        ],
      },
    ]);
    const run = await bench.start(twoNodePackage(), { input: "Paint it." });

    const waiting = await until(run, "waiting-user");
    expect(waiting.question).toEqual({ nodeId: "ask", text: "Which colour?" });
    await expect(run.answer({ nodeId: "middle", text: "blue" })).rejects.toThrow(
      "waits for an answer at ask",
    );
    await expect(run.answer({ nodeId: "ask", text: "  " })).rejects.toThrow("not empty");
    await run.answer({ nodeId: "ask", text: "Blue, please.", answerId: "answer-1" });
    const result = await run.result();

    expect(result).toMatchObject({
      phase: "completed",
      currentNodeId: "finish",
      artifacts: ["artifacts/out.md"],
    });
    const { frontmatter, body } = await bench.document(run);
    expect(frontmatter).toEqual({
      schemaVersion: "1.1",
      workflowType: "two-nodes",
      currentNodeId: "finish",
      stepsCompleted: ["ask", "middle", "finish"],
      runId: run.runId,
      activeAgentId: "author",
      workflowRef: "two-nodes",
      updatedAt: "2026-01-02T03:04:06Z",
      decisionLog: [{ from: "ask", to: "middle", label: "onwards" }],
      artifacts: ["artifacts/out.md"],
      variables: { colour: "blue" },
    });
    expect(body).toBe("Body, kept.\r\nNo newline at the end");
    expect(await readFile(join(bench.projectRoot, "artifacts/out.md"), "utf8")).toBe("blue\n");

    const [first, , afterAnswer, , afterRefusal, middle, finish] = bench.model.requests;
    expect(first?.messages.map(({ role }) => role)).toEqual([
      "system",
      "system",
      "system",
      "user",
      "user",
      "user",
    ]);
    expect(first?.messages.at(-1)?.content).toBe("USER_INPUT\n- forNodeId: ask\nPaint it.");
    expect(afterAnswer?.messages.at(-1)?.content).toBe("USER_INPUT\n- forNodeId: ask\nBlue, please.");
    const refusal = JSON.parse(afterRefusal?.messages.at(-1)?.content ?? "") as unknown;
    expect(refusal).toMatchObject({
      ok: false,
      error: {
        code: "E_INVALID_TRANSITION",
        details: {
          from: "ask",
          to: "finish",
          allowedNext: [{ to: "middle", label: "onwards", isDefault: true }],
        },
      },
    });
    expect(middle?.messages[3]?.content).toContain("- intent: continue");
    expect(middle?.messages).toHaveLength(5); // a node starts afresh
    expect(finish?.messages[2]?.content).toContain("You are closer");
    expect(finish?.messages[4]?.content).toContain("- currentNodeId: finish (type=end)");

    const events = await bench.auditEvents(run);
    expect(events.filter(({ kind }) => kind === "tool.exec")).toHaveLength(6);
    expect(events.filter(({ kind }) => kind === "model.turn")).toHaveLength(7);
    expect(events.filter(({ kind }) => kind === "user.input")).toHaveLength(2);
    expect(events.filter(({ kind }) => kind === "run.phase").map(({ phase }) => phase)).toEqual([
      "waiting-user",
      "running",
      "completed",
    ]);
  });

  test("every activity has a readable summary, and no payload holds a file's contents", async () => {
    const bench = await openBench([
      { calls: [call("fs_write", { path: "@project/artifacts/out.md", content: "SECRET-CONTENT" })] },
      ...STRAIGHT,
    ]);
    const run = await bench.start(twoNodePackage());
    await run.result();
    const history = await bench.client.temporal.workflow.getHandle(workflowIdOf(run.runId)).fetchHistory();
    const text = (data: Uint8Array | null | undefined) => Buffer.from(data ?? []).toString("utf8");
    const summaries = (history.events ?? []).map((event) => text(event.userMetadata?.summary?.data));
    expect(summaries.filter((summary) => /^"model turn 1 · ask · [\w-]+"$/.test(summary))).toHaveLength(1);
    expect(summaries).toContain('"fs.write @project/artifacts/out.md"');
    expect(summaries).toContain('"fs.apply_patch @state/workflow.md"');
    expect(JSON.stringify(history.events)).not.toContain(
      Buffer.from("SECRET-CONTENT").toString("base64").slice(0, 16),
    );
    const description = await bench.client.temporal.workflow.getHandle(workflowIdOf(run.runId)).describe();
    expect(description.searchAttributes).toMatchObject({ RunPhase: ["completed"], RunNode: ["finish"] });
  });

  test("two runs at once on one project keep their documents apart", async () => {
    const bench = await openBench(straightOn);
    const runs = await Promise.all([bench.start(twoNodePackage()), bench.start(twoNodePackage())]);
    const results = await Promise.all(runs.map((run) => run.result()));
    expect(results.map(({ stepsCompleted }) => stepsCompleted)).toEqual([
      ["ask", "middle", "finish"],
      ["ask", "middle", "finish"],
    ]);
    const listed = await bench.store.runs.listRuns(bench.projectRoot);
    expect(listed.ok && listed.value.map(({ runId }) => runId).sort()).toEqual(
      runs.map(({ runId }) => runId).sort(),
    );
    expect(listed.ok && listed.value.map(({ phase }) => phase)).toEqual(["completed", "completed"]);
  });

  test("a model that refuses the key fails the run at once, with its state intact", async () => {
    const bench = await openBench([
      { status: 401, body: { error: { message: "bad key sk-abcdefghijklmnop123" } } },
    ]);
    const run = await bench.start(twoNodePackage());
    const error: unknown = await run.result().catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(InterlockError);
    expect(error).toMatchObject({ code: "LLM_AUTH_FAILED" });
    expect(String(error)).not.toContain("abcdefghijklmnop");
    expect(bench.model.requests).toHaveLength(1);
    expect((await bench.document(run)).frontmatter).toMatchObject({ currentNodeId: "", stepsCompleted: [] });
    const found = await bench.store.runs.findRun(run.runId);
    expect(found.ok && found.value.phase).toBe("failed");
  });

  test("a model that is overloaded is asked again, and the run goes on", async () => {
    const bench = await openBench([{ status: 429, headers: { "retry-after-ms": "20" } }, ...STRAIGHT]);
    const run = await bench.start(twoNodePackage());
    await expect(run.result()).resolves.toMatchObject({ phase: "completed" });
    expect(bench.model.requests).toHaveLength(4);
  });

  test.each(["0", "Wed, 21 Oct 2015 07:28:00 GMT"])(
    "a model that asks for no wait before the next try is asked again: retry-after %s",
    async (after) => {
      const bench = await openBench([{ status: 503, headers: { "retry-after": after } }, ...STRAIGHT]);
      const run = await bench.start(twoNodePackage());
      await expect(run.result()).resolves.toMatchObject({ phase: "completed" });
      expect(bench.model.requests).toHaveLength(4);
    },
  );

  test("a model that stays broken fails the run when its attempts are used up", async () => {
    const bench = await openBench(() => ({ status: 500, headers: { "retry-after-ms": "10" } }));
    const run = await bench.start(twoNodePackage());
    await expect(run.result()).rejects.toMatchObject({ code: "LLM_HTTP_ERROR" });
    expect(bench.model.requests).toHaveLength(2);
  });

  test("streamed answers are the same answers", async () => {
    const bench = await openBench(STRAIGHT, { INTERLOCK_MODEL_STREAM: "true" });
    const run = await bench.start(twoNodePackage());
    await expect(run.result()).resolves.toMatchObject({
      stepsCompleted: ["ask", "middle", "finish"],
      usage: { modelTurns: 3, toolCalls: 3, promptTokens: 300, completionTokens: 30 },
    });
    expect(bench.model.requests.every(({ stream }) => stream === true)).toBe(true);
  });

  test("bad arguments and unknown tools are results the model can act on, one audit line each", async () => {
    const bench = await openBench([
      {
        calls: [
          { name: "fs_read", arguments: "{not json" },
          call("fs_read", { file: "x" }),
          call("shell", { command: "ls" }),
          call("fs_read", { path: "@project/../secret" }),
          call("fs_write", { path: "@pkg/steps/ask.md", content: "x" }),
        ],
      },
      ...STRAIGHT,
    ]);
    const run = await bench.start(twoNodePackage());
    await run.result();
    const results = bench.model.requests[1]?.messages.filter(({ role }) => role === "tool") ?? [];
    const codes = results.map(
      ({ content }) => (JSON.parse(content ?? "") as { error: { code: string } }).error.code,
    );
    expect(codes).toEqual([
      "TOOL_ARGS_INVALID_JSON",
      "TOOL_ARGS_INVALID",
      "TOOL_NOT_AVAILABLE",
      "E_SANDBOX_VIOLATION",
      "E_SANDBOX_VIOLATION",
    ]);
    const events = await bench.auditEvents(run);
    expect(events.filter(({ kind }) => kind === "tool.exec")).toHaveLength(8);
  });

  test("an answer that was cut off runs none of its calls", async () => {
    const bench = await openBench([
      {
        calls: [call("fs_write", { path: "@project/artifacts/half.md", content: "half" })],
        finishReason: "length",
      },
      ...STRAIGHT,
    ]);
    const run = await bench.start(twoNodePackage());
    await expect(run.result()).resolves.toMatchObject({ artifacts: [] });
    expect(bench.model.requests[1]?.messages.at(-1)).toMatchObject({ role: "system" });
  });

  test("the same failing call is corrected once, then the user is asked", async () => {
    const missing = call("fs_read", { path: "@project/missing.md" });
    const bench = await openBench([...[1, 2, 3, 4].map(() => ({ calls: [missing] })), ...STRAIGHT]);
    const run = await bench.start(twoNodePackage());
    const waiting = await until(run, "waiting-user");
    expect(waiting.question?.code).toBe("ENGINE_LOOP_DETECTED");
    const corrections = bench.model.requests[3]?.messages.filter(({ role }) => role === "system") ?? [];
    expect(corrections).toHaveLength(4); // three at the node's start, one correction
    await run.answer({ nodeId: "ask", text: "Go on without it." });
    await expect(run.result()).resolves.toMatchObject({ phase: "completed" });
  });

  test("too many turns at one node fail the run by name", async () => {
    const bench = await openBench((_request, index) => ({
      calls: [call("fs_list", { path: index % 2 ? "@pkg" : "@project" })],
    }));
    const run = await bench.start(twoNodePackage(), { limits: { maxTurnsPerNode: 3 } });
    await expect(run.result()).rejects.toMatchObject({ code: "ENGINE_MAX_TURNS_EXCEEDED" });
    expect(bench.model.requests).toHaveLength(3);
  });

  test.each(STEP_SIZES)(
    "a document changed from outside is not overwritten: the run, by %s, goes on from what it says",
    async (steps) => {
      const bench = await openBench([
        { content: "Wait, please." },
        { calls: [done("ask", "middle")] },
        ...STRAIGHT.slice(1),
      ]);
      const run = await bench.start(twoNodePackage(), { steps });
      await until(run, "waiting-user");
      const path = await bench.store.runs.getRunStatePath(bench.projectRoot, run.runId);
      if (!path.ok) throw new Error(path.error.message);
      const text = await readFile(path.value, "utf8");
      await writeFile(
        path.value,
        text
          .replace("variables: {}", 'variables: {"by": "hand"}')
          .replace('currentNodeId: ""', 'currentNodeId: "middle"'),
      );
      await run.answer({ nodeId: "ask", text: "Go." });
      await expect(run.result()).resolves.toMatchObject({ phase: "completed" });
      expect((await bench.document(run)).frontmatter).toMatchObject({
        variables: { by: "hand" },
        stepsCompleted: ["middle", "finish"],
      });
    },
  );

  test("cancelling reaches the running model call", async () => {
    const bench = await openBench([{ hang: true }]);
    const run = await bench.start(twoNodePackage());
    await eventually(() => bench.model.requests.length > 0);
    await bench.client.temporal.workflow.getHandle(workflowIdOf(run.runId)).cancel();
    await expect(run.result()).rejects.toMatchObject({ code: "ENGINE_ABORTED" });
    await eventually(() => bench.model.aborted > 0);
    expect(bench.model.aborted).toBe(1);
    const found = await bench.store.runs.findRun(run.runId);
    expect(found.ok && found.value.phase).toBe("failed");
  });

  test("what cannot be created fails with its code and leaves nothing", async () => {
    const bench = await openBench([]);
    const run = await bench.start(twoNodePackage(), { activeAgentId: "nobody" });
    await expect(run.result()).rejects.toMatchObject({ code: "E_AGENT_NOT_FOUND" });
    const listed = await bench.store.runs.listRuns(bench.projectRoot);
    expect(listed).toEqual({ ok: true, value: [] });
  });

  test("a worker with another store refuses the run with a sentence", async () => {
    const bench = await openBench([]);
    const run = await bench.start(twoNodePackage(), { storeId: "00000000-0000-4000-8000-000000000000" });
    const workflow = bench.client.temporal.workflow.getHandle(workflowIdOf(run.runId));
    const lastFailure = async () =>
      (await workflow.describe()).raw.pendingActivities?.[0]?.lastFailure?.message;
    await eventually(async () => Boolean(await lastFailure()));
    expect(await lastFailure()).toContain("the run lives in store 00000000");
    await workflow.terminate();
  });

  test("with conditions on, an edge whose expression does not hold is no legal edge", async () => {
    const files = twoNodePackage();
    const graph = JSON.parse(files["workflow.graph.json"] ?? "") as { edges: object[] };
    graph.edges[0] = { ...graph.edges[0], conditionExpr: { "==": [{ var: "variables.colour" }, "blue"] } };
    const package_ = { ...files, "workflow.graph.json": JSON.stringify(graph) };
    const bench = await openBench([
      { calls: [done("ask", "middle")] },
      {
        calls: [
          patch({
            stepsCompleted: { append: ["ask"] },
            variables: { set: { colour: "blue" } },
            currentNodeId: { set: "middle" },
          }),
        ],
      },
      ...STRAIGHT.slice(1),
    ]);
    const run = await bench.start(package_, { evaluateConditions: true });
    await expect(run.result()).resolves.toMatchObject({ phase: "completed" });
    expect(bench.model.requests[0]?.messages[4]?.content).toContain("satisfied=false");
    const refusal = JSON.parse(bench.model.requests[1]?.messages.at(-1)?.content ?? "") as unknown;
    expect(refusal).toMatchObject({
      error: { code: "E_INVALID_TRANSITION", details: { allowedNext: [{ to: "middle", satisfied: false }] } },
    });
  });
});
