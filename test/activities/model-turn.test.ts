import { eventually } from "../fakes/eventually.js";
import { existsSync } from "node:fs";
import { appendFile, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { ApplicationFailure } from "@temporalio/activity";
import { describe, expect, test } from "vitest";
import { modelTurn } from "../../src/activities/model-turn.js";
import { spentBefore, spentInTheEnd } from "../../src/activities/spent-tokens.js";
import type { ModelTurnInput } from "../../src/contract/activities.js";
import { ModelError } from "../../src/model/model-error.js";
import { RunFiles } from "../../src/store/runs/run-files.js";
import { type ScriptedAnswer, call } from "../fakes/scripted-model.js";
import { jsonLines } from "../fakes/run-world.js";
import { type ActivityScene, openScene } from "./harness-world.js";

const take = (scene: ActivityScene, changes: Partial<ModelTurnInput> = {}) =>
  modelTurn(scene.deps, scene.files, scene.turn(changes), scene.context);

async function failureOf(
  scene: ActivityScene,
  changes: Partial<ModelTurnInput> = {},
): Promise<ApplicationFailure> {
  const error: unknown = await take(scene, changes).catch((caught: unknown) => caught);
  if (!(error instanceof ApplicationFailure)) throw new Error(`no failure: ${String(error)}`);
  return error;
}

const list = (id: string): ScriptedAnswer => ({ calls: [{ ...call("fs_list", { path: "@project" }), id }] });

describe("a model turn", () => {
  test("asks with the node's shells, writes the answer down, plans its calls, and is audited", async () => {
    const scene = await openScene([
      { calls: [{ id: "call-1", name: "fs_list", arguments: { path: "@project" } }], content: "look" },
    ]);
    const result = await take(scene);
    expect(result).toEqual({
      calls: [{ id: "call-1", tool: "fs.list", summary: "fs.list @project", key: expect.any(String) }],
      text: "look",
      cutOff: false,
      usage: { promptTokens: 100, completionTokens: 10, cost: 0 },
      tookMs: expect.any(Number),
      audit: { lines: 1, sha256: expect.any(String) },
    });
    const [request] = scene.model.requests;
    expect(request?.messages.map(({ role }) => role)).toEqual(["system", "system", "system", "user", "user"]);
    expect(request?.messages[3]?.content).toMatch(/^RUN_DIRECTIVE\n/u);
    expect(request?.messages[4]?.content).toMatch(/^NODE_BRIEF\n- currentNodeId: ask \(type=step\)\n/u);
    expect(request?.tools?.map((tool) => tool.function.name)).toEqual([
      "fs_list",
      "fs_read",
      "fs_search",
      "fs_write",
      "fs_apply_patch",
    ]);
    expect(await scene.files.conversation("visit-1").entries()).toMatchObject([
      { type: "begin", visit: 1 },
      {
        type: "assistant",
        visit: 1,
        turn: 1,
        content: "look",
        model: "scripted",
        finishReason: "tool_calls",
      },
    ]);
    expect(await jsonLines(scene.files.logFile)).toMatchObject([
      {
        kind: "model.turn",
        id: "1.1",
        nodeId: "ask",
        agentId: "author",
        model: "scripted",
        calls: 1,
        promptTokens: 100,
        completionTokens: 10,
      },
    ]);
  });

  test("that is written down is not asked for again: by a retry, or by two at once", async () => {
    const scene = await openScene((_, index) => ({ content: `answer ${index}` }));
    const first = await take(scene);
    const again = { ...first, tookMs: expect.any(Number) };
    expect(await take(scene)).toEqual(again);
    expect(scene.model.requests).toHaveLength(1);
    const both = await Promise.all([take(scene, { turn: 2 }), take(scene, { turn: 2 })]);
    expect(both[0]).toEqual({ ...both[1], tookMs: expect.any(Number) });
    const entries = await scene.files.conversation("visit-1").entries();
    expect(entries.filter(({ type }) => type === "assistant")).toHaveLength(2);
    expect(await jsonLines(scene.files.logFile)).toHaveLength(2);
  });

  test("whose answer a crash tore is asked for again", async () => {
    const scene = await openScene([{ content: "one" }, { content: "two" }]);
    await take(scene);
    const path = join(scene.files.stateDir, "..", "conversation", "visit-1.jsonl");
    await appendFile(path, '{"type":"assistant","visit":1,"turn":2,"content":"to');
    expect((await take(scene, { turn: 2 })).text).toBe("two");
  });

  test("gives the next one each call's result, in order, under the model's own id", async () => {
    const scene = await openScene([
      {
        calls: [
          { ...call("fs_list", { path: "@project" }), id: "b" },
          { ...call("nothing", {}), id: "a" },
        ],
      },
      { content: "done" },
    ]);
    const { calls } = await take(scene);
    await scene.files.calls.record(calls[1]?.id ?? "", { result: { ok: true, n: 2 } });
    await take(scene, { turn: 2 });
    expect(scene.model.requests[1]?.messages.slice(5)).toEqual([
      expect.objectContaining({ role: "assistant", content: null }),
      { role: "tool", tool_call_id: "b", content: expect.stringContaining("ENGINE_ABORTED") },
      { role: "tool", tool_call_id: "a", content: '{"ok":true,"n":2}' },
    ]);
  });

  test("says a correction once, before its answer", async () => {
    const scene = await openScene([{ content: "a" }, { content: "b" }, { content: "c" }]);
    await take(scene);
    await take(scene, { turn: 2, correction: "Stop that." });
    await take(scene, { turn: 3 });
    const said = scene.model.requests[2]?.messages.slice(5).map(({ role, content }) => `${role} ${content}`);
    expect(said).toEqual(["assistant a", "system Stop that.", "assistant b"]);
  });

  test("begins a second visit without the base rules where the conversation goes on, and with them in a new one", async () => {
    const scene = await openScene([{ content: "a" }, { content: "b" }, { content: "c" }]);
    await take(scene, { conversation: "run" });
    await take(scene, { conversation: "run", visit: 2 });
    await take(scene, { conversation: "visit-3", visit: 3 });
    const systems = scene.model.requests.map(
      ({ messages }) => messages.filter(({ role }) => role === "system").length,
    );
    expect(systems).toEqual([3, 5, 3]);
  });
});

describe("call ids", () => {
  test("that a provider repeats in another visit are another call's: each gets an id of its own", async () => {
    const scene = await openScene([list("call_0"), list("call_0"), list("call_0")]);
    const first = await take(scene);
    await scene.files.calls.record("call_0", { result: { ok: true } });
    const sameVisit = await take(scene, { turn: 2 });
    const nextVisit = await take(scene, { visit: 2, conversation: "visit-2" });
    expect([first, sameVisit, nextVisit].map(({ calls }) => calls[0]?.id)).toEqual([
      "call_0",
      "call_1_2_0",
      "call_2_1_0",
    ]);
  });

  test.each([
    ["missing", ["", ""], ["call_1_1_0", "call_1_1_1"]],
    ["equal", ["a", "a"], ["a", "call_1_1_1"]],
    ["one that we would make up", ["call_1_1_1", ""], ["call_1_1_1", "call_1_1_1_"]],
    ["too long", ["x".repeat(81), "x".repeat(80)], ["call_1_1_0", "x".repeat(80)]],
    ["hostile", ["a\nb", "../../x"], ["call_1_1_0", "call_1_1_1"]],
    ["names every object has", ["constructor", "__proto__"], ["constructor", "__proto__"]],
  ])("that are %s are made usable and unique", async (_, given, expected) => {
    const scene = await openScene([
      { calls: given.map((id) => ({ ...call("fs_list", { path: "@project" }), id })) },
    ]);
    expect((await take(scene)).calls.map(({ id }) => id)).toEqual(expected);
  });
});

describe("an answer", () => {
  test("that was cut off runs no call", async () => {
    const scene = await openScene([
      { calls: [call("fs_list", { path: "@project" })], content: "half", finishReason: "length" },
    ]);
    expect(await take(scene)).toMatchObject({ calls: [], text: "half", cutOff: true });
  });

  test("with more than 128 calls is none, and asked for again", async () => {
    const scene = await openScene([{ calls: Array.from({ length: 129 }, () => call("fs_list", {})) }]);
    const failure = await failureOf(scene);
    expect([failure.type, failure.nonRetryable]).toEqual(["LLM_BAD_RESPONSE", false]);
    expect(failure.message).toBe("The model's answer holds 129 tool calls; at most 128 are read.");
    expect(await scene.files.conversation("visit-1").entries()).toEqual([]);
  });

  test("counts the tokens of attempts before it whose answer was none, whichever model was asked", async () => {
    const tooMany = Array.from({ length: 129 }, () => call("fs_list", {}));
    const scene = await openScene(
      [
        { content: "half", finishReason: "error" },
        { calls: tooMany },
        { content: "Which?" },
        { content: "And?" },
      ],
      undefined,
      { price: { inputPerMillion: 1_000, outputPerMillion: 10_000 } },
    );
    const asked = (changes: Partial<ModelTurnInput> = {}) =>
      modelTurn(scene.deps, scene.files, scene.turn(changes), scene.context);
    await expect(asked()).rejects.toThrow('it ended with "error"');
    await expect(asked()).rejects.toThrow("129 tool calls");
    const spent = { promptTokens: 200, completionTokens: 20, cost: 0.4 };
    const whole = { promptTokens: 300, completionTokens: 30, cost: expect.closeTo(0.6) };
    const answer = await asked();
    expect(answer.usage).toEqual(whole);
    expect((await asked()).usage).toEqual(whole); // written down
    expect(await scene.files.conversation("visit-1").entries()).toMatchObject([
      { type: "begin" },
      { type: "assistant", usage: { promptTokens: 100, completionTokens: 10 }, spent },
    ]);
    expect((await jsonLines(scene.files.logFile))[0]).toMatchObject({ kind: "model.turn", ...whole });
    expect((await asked({ turn: 2 })).usage).toMatchObject({ promptTokens: 100, completionTokens: 10 });
  });

  test.each([
    ["what its provider says, where the settings have no price", undefined, 0.25],
    ["what the settings say, where they have a price", { inputPerMillion: 1_000, outputPerMillion: 0 }, 0.1],
  ])("costs %s", async (_, price, cost) => {
    const usage = { prompt_tokens: 100, completion_tokens: 10, cost: 0.25 };
    const scene = await openScene([{ content: "Which?", usage }], undefined, { ...(price && { price }) });
    expect((await take(scene)).usage).toEqual({ promptTokens: 100, completionTokens: 10, cost });
  });

  test("counts what was used at the turn that the run had failed at, of whichever worker, and once", async () => {
    const scene = await openScene([
      { content: "half", finishReason: "error" },
      { content: "Which?" },
      { content: "And?" },
    ]);
    const asked = (changes: Partial<ModelTurnInput> = {}) =>
      modelTurn(scene.deps, new RunFiles(scene.files.dir), scene.turn(changes), scene.context);
    await expect(asked()).rejects.toThrow('it ended with "error"');
    const spentFile = join(scene.files.dir, "spent.json");
    const left = await readFile(spentFile);
    const next = { visit: 2, conversation: "visit-2" };
    expect((await asked(next)).usage).toMatchObject({ promptTokens: 200, completionTokens: 20 });
    expect(existsSync(spentFile)).toBe(false);
    await writeFile(spentFile, left.toString().replace('"visit-1","visit":1', '"visit-2","visit":2'));
    expect((await asked({ ...next, turn: 2 })).usage).toMatchObject({ promptTokens: 100 });
    expect(existsSync(spentFile)).toBe(false);
  });

  test("reaches the history bounded and without control characters; the conversation keeps its words", async () => {
    const content = `\u001b[2Jquestion\r\n\u0007${"x".repeat(9_000)}`;
    const scene = await openScene([{ content }]);
    const { text } = await take(scene);
    expect(text).toMatch(/^ \[2Jquestion \n x+…$/u);
    expect(text.length).toBe(8_001);
    expect((await scene.files.conversation("visit-1").entries())[1]).toMatchObject({ content });
  });

  test("whose texts speak of tool calls is text: nothing in it is read as a call", async () => {
    const content =
      '{"tool_calls":[{"function":{"name":"fs_write","arguments":"{}"}}]} <tool_call>fs_write</tool_call>';
    const scene = await openScene([{ content }]);
    expect((await take(scene)).calls).toEqual([]);
  });
});

describe("what cannot be done fails with its code", () => {
  test.each([
    [401, "LLM_AUTH_FAILED", true],
    [404, "LLM_HTTP_ERROR", true],
    [429, "LLM_RATE_LIMITED", false],
    [500, "LLM_HTTP_ERROR", false],
  ])("HTTP %i is %s", async (status, type, nonRetryable) => {
    const scene = await openScene([{ status }]);
    const failure = await failureOf(scene);
    expect([failure.type, failure.nonRetryable]).toEqual([type, nonRetryable]);
    expect(await scene.files.conversation("visit-1").entries()).toEqual([]);
    expect(scene.model.requests).toHaveLength(1); // Temporal owns retries
  });

  test("a provider's Retry-After is passed on", async () => {
    const scene = await openScene([{ status: 429, headers: { "retry-after": "7" } }]);
    expect((await failureOf(scene)).nextRetryDelay).toBe(7_000);
  });

  test("a provider that asks for a second each time does not use up a later try before its turn", async () => {
    const scene = await openScene([{ status: 429, headers: { "retry-after": "1" } }]);
    const retryPolicy = { initialInterval: 1_000, backoffCoefficient: 2, maximumInterval: 60_000 };
    const info = { ...scene.context.info, attempt: 4, retryPolicy };
    const context = Object.assign(Object.create(scene.context) as typeof scene.context, { info });
    const failing = modelTurn(scene.deps, scene.files, scene.turn(), context);
    const failure: unknown = await failing.catch((error: unknown) => error);
    expect(failure).toMatchObject({ type: "LLM_RATE_LIMITED", nonRetryable: false });
    expect((failure as { nextRetryDelay?: unknown }).nextRetryDelay ?? undefined).toBeUndefined();
  });

  test("that a run's own timeout leaves less time than usual is asked all the same", async () => {
    const scene = await openScene([{ content: "in time" }]);
    const info = { ...scene.context.info, startToCloseTimeoutMs: 50_000 };
    const context = Object.assign(Object.create(scene.context) as typeof scene.context, { info });
    const { text } = await modelTurn(scene.deps, scene.files, scene.turn(), context);
    expect(text).toBe("in time");
  });

  test.each([
    [429, "BENIGN"],
    [500, undefined],
  ])("HTTP %i has the category %s: many calls at once are no fault of anything", async (status, category) => {
    expect((await failureOf(await openScene([{ status }]))).category ?? undefined).toBe(category);
  });

  test("no model configured", async () => {
    const scene = await openScene([]);
    const deps = { ...scene.deps, modelSettingsFor: async () => undefined };
    await expect(modelTurn(deps, scene.files, scene.turn(), scene.context)).rejects.toMatchObject({
      type: "LLM_AUTH_FAILED",
      nonRetryable: true,
      message: expect.stringContaining("INTERLOCK_MODEL"),
    });
  });

  test("an agent or a workflow that is not there", async () => {
    const scene = await openScene([]);
    expect(await failureOf(scene, { agentId: "constructor" })).toMatchObject({
      type: "E_AGENT_NOT_FOUND",
      nonRetryable: true,
    });
    const run = { ...scene.opened.run, workflowRef: "none" };
    expect(await failureOf(scene, { run })).toMatchObject({
      type: "E_WORKFLOW_NOT_FOUND",
      nonRetryable: true,
    });
    await expect(take(scene, { nodeId: "none" })).rejects.toThrow('The graph has no node "none".');
    expect(scene.model.requests).toEqual([]);
  });

  test("a cancelled turn ends as cancelled, not as a failure of the model", async () => {
    const scene = await openScene([{ hang: true }]);
    const controller = new AbortController();
    const { info } = scene.context;
    const context = { info, cancellationSignal: controller.signal } as typeof scene.context;
    const turn = modelTurn(scene.deps, scene.files, scene.turn(), context);
    const reason = new Error("cancelled by somebody");
    const settled = turn.catch((error: unknown) => error);
    await eventually(() => scene.model.requests.length > 0);
    controller.abort(reason);
    expect(await settled).toBe(reason);
    expect(await scene.files.conversation("visit-1").entries()).toEqual([]);
  });

  test.each([
    ["beside what attempts before it have used", false, 150],
    ["alone, where the end of the run has counted the others", true, 100],
  ])(
    "keeps what was counted of an answer that its cancellation cuts short, %s",
    async (_, hasEnded, kept) => {
      const scene = await openScene([]);
      const { files } = scene;
      const reason = new Error("the worker stops");
      const controller = new AbortController();
      const { info } = scene.context;
      const context = { info, cancellationSignal: controller.signal };
      const earlier = { promptTokens: 50, completionTokens: 5, cost: 0 };
      await files.spent.write({ conversation: "visit-1", visit: 1, turn: 1, usage: earlier });
      const complete = async () => {
        controller.abort(reason);
        if (hasEnded) await spentInTheEnd(files, 4);
        const usage = { promptTokens: 100, completionTokens: 10 };
        throw new ModelError({ code: "ENGINE_ABORTED", message: "cut short", retryable: true, usage });
      };
      const turn = modelTurn({ ...scene.deps, model: { complete } }, files, scene.turn(), context);
      await expect(turn).rejects.toBe(reason);
      expect(await spentBefore(files, scene.turn())).toMatchObject({ promptTokens: kept });
    },
  );
});
