import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { ApplicationFailure } from "@temporalio/activity";
import { describe, expect, test } from "vitest";
import { LearnedContexts } from "../../src/activities/learned-contexts.js";
import { modelTurn, newTurnMemory } from "../../src/activities/model-turn.js";
import { runTool } from "../../src/activities/run-tool.js";
import { estimateTokens } from "../../src/core/run/token-estimate.js";
import type { ModelSettings } from "../../src/model/chat.js";
import { jsonLines } from "../fakes/run-world.js";
import {
  type ChatRequestBody,
  type Script,
  type ScriptedAnswer,
  type ScriptedCall,
  call,
} from "../fakes/scripted-model.js";
import { type ActivityScene, openScene } from "./harness-world.js";

const KB = 1_024;
const LINE = "A line of a file that is read, of sixty-four characters in all.\n";

/** A scene whose project holds files `0.txt`, `1.txt` … of so many kilobytes. */
async function sceneWith(
  script: Script,
  {
    files = 12,
    kilobytes = 20,
    ...settings
  }: Partial<ModelSettings> & { files?: number; kilobytes?: number },
): Promise<ActivityScene> {
  const scene = await openScene(script, undefined, settings);
  for (let file = 0; file < files; file += 1) {
    const path = join(scene.world.projectRoot, `${file}.txt`);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, LINE.repeat((kilobytes * KB) / LINE.length));
  }
  return scene;
}

const read = (file: number): ScriptedCall => ({
  ...call("fs_read", { path: `@project/${file}.txt` }),
  id: `read-${file}`,
});
const readEach = (_: ChatRequestBody, index: number): ScriptedAnswer => ({
  calls: [read(index)],
  usage: null,
});

/** One turn and the calls it asks for, as a worker that has just started, or with what one remembers. */
async function takeTurn(scene: ActivityScene, turn: number, learnedContexts = new LearnedContexts()) {
  const input = scene.turn({ turn });
  const result = await modelTurn(
    { ...scene.deps, memory: { ...newTurnMemory(), learnedContexts } },
    scene.files,
    input,
    scene.context,
  );
  const { run, conversation, nodeId, agentId } = input;
  const stateSha256 = "";
  for (const { id } of result.calls) {
    const now = "2026-01-02T03:04:05.000Z";
    await runTool(scene.deps, { run, conversation, callId: id, nodeId, agentId, stateSha256, now });
  }
  return result;
}

async function walk(scene: ActivityScene, turns: number, learned?: LearnedContexts): Promise<void> {
  for (let turn = 1; turn <= turns; turn += 1) await takeTurn(scene, turn, learned);
}

const sizeOf = (request: ChatRequestBody | undefined): number => estimateTokens(JSON.stringify(request));
const resultsIn = (request: ChatRequestBody | undefined): readonly string[] =>
  (request?.messages ?? []).filter(({ role }) => role === "tool").map(({ content }) => content ?? "");
const foldsIn = async (scene: ActivityScene) =>
  (await scene.files.conversation("visit-1").entries()).filter((entry) => entry.type === "fold");
/** A server whose context is so long, in the words of llama.cpp. */
const serverOf =
  (contextTokens: number, answer: Exclude<Script, readonly unknown[]>): Exclude<Script, readonly unknown[]> =>
  (request, index) => {
    const tokens = sizeOf(request);
    if (tokens <= contextTokens) return answer(request, index);
    const message = `request (${tokens} tokens) exceeds the available context size (${contextTokens} tokens), try increasing it`;
    const type = "exceed_context_size_error";
    return { status: 400, body: { error: { code: 400, message, type, n_ctx: contextTokens } } };
  };

describe("a conversation that grows longer than its model's context", () => {
  test("leaves out older results before a request exceeds it, and says what was there", async () => {
    const scene = await sceneWith(readEach, { contextTokens: 16_384 });
    await walk(scene, 8);
    for (const request of scene.model.requests) expect(sizeOf(request)).toBeLessThan(16_384);
    const last = scene.model.requests.at(-1);
    const results = resultsIn(last);
    expect(results).toHaveLength(7);
    expect(JSON.parse(results[0] ?? "")).toEqual({
      ok: true,
      omitted: "fs_read @project/0.txt: 20480 bytes, left out to save room. Call it again if you need them.",
    });
    expect(JSON.parse(results[6] ?? "")).toMatchObject({
      ok: true,
      content: expect.stringContaining("A line of a file"),
    });
    expect(last?.messages.slice(0, 5)).toEqual(scene.model.requests[0]?.messages);
  });

  test("every call keeps its one result, in its place", async () => {
    const scene = await sceneWith(readEach, { contextTokens: 16_384 });
    await walk(scene, 8);
    for (const [turn, { messages }] of scene.model.requests.entries()) {
      const said = messages
        .slice(5)
        .map(({ role, tool_call_id, tool_calls }) => [
          role,
          tool_call_id ?? tool_calls?.map(({ id }) => id).join(),
        ]);
      const pairs = Array.from({ length: turn }, (_, read) => [
        ["assistant", `read-${read}`],
        ["tool", `read-${read}`],
      ]);
      expect(said).toEqual(pairs.flat());
    }
  });

  test("folds in large steps: most requests begin as the one before them, to the byte", async () => {
    const scene = await sceneWith(readEach, { contextTokens: 32_768, files: 24, kilobytes: 10 });
    await walk(scene, 24);
    const begins = scene.model.requests.slice(1).filter(({ messages }, index) => {
      const before = scene.model.requests[index]?.messages ?? [];
      return JSON.stringify(messages.slice(0, before.length)) === JSON.stringify(before);
    });
    const folds = await foldsIn(scene);
    expect(folds.length).toBeGreaterThan(1);
    expect(begins).toHaveLength(23 - folds.length);
    expect(folds.length).toBeLessThan(23 / 3);
  });

  test("keeps what the user and the engine have said", async () => {
    const scene = await sceneWith(readEach, { contextTokens: 16_384 });
    await takeTurn(scene, 1);
    const said = { type: "user", id: "u", nodeId: "ask", text: "Mind the gap. ".repeat(200) } as const;
    await scene.files.conversation("visit-1").append([said]);
    for (let turn = 2; turn <= 6; turn += 1) await takeTurn(scene, turn);
    const texts = scene.model.requests.at(-1)?.messages.map(({ content }) => content ?? "");
    expect(texts?.some((text) => text.includes(said.text))).toBe(true);
  });

  test("is the same whoever asks again: what is left out is written down before the request", async () => {
    const scene = await sceneWith(
      (request, index) => (index === 2 ? { status: 500 } : readEach(request, requestsAnswered(scene))),
      { contextTokens: 16_384 },
    );
    await walk(scene, 2);
    await expect(takeTurn(scene, 3)).rejects.toMatchObject({ type: "LLM_HTTP_ERROR" });
    const folds = await foldsIn(scene);
    expect(folds).toEqual([
      {
        type: "fold",
        visit: 1,
        turn: 3,
        nth: 1,
        model: "scripted",
        contextTokens: 16_384,
        by: "settings",
        calls: ["read-0"],
        withheld: [],
      },
    ]);
    // The other worker's settings allow more: what is written down holds.
    const other = await scene.deps.modelSettingsFor("author", scene.opened.run);
    const deps = {
      ...scene.deps,
      modelSettingsFor: async () => other && { ...other, contextTokens: 1_000_000 },
    };
    await modelTurn(deps, scene.files, scene.turn({ turn: 3 }), scene.context);
    expect(scene.model.requests[3]).toEqual(scene.model.requests[2]);
    expect(await foldsIn(scene)).toEqual(folds);
    expect((await jsonLines(scene.files.logFile)).at(-1)).toMatchObject({ id: "1.3", folded: 1 });
  });

  test("tells the model to ask for less where what it has asked for just now does not fit", async () => {
    const scene = await sceneWith(
      (_, index) => ({ calls: index === 0 ? [0, 1, 2, 3].map(read) : [read(9)], usage: null }),
      { contextTokens: 16_384 },
    );
    await walk(scene, 2);
    const results = resultsIn(scene.model.requests[1]).map((text) => JSON.parse(text) as { ok: boolean });
    expect(results.map(({ ok }) => ok)).toEqual([false, false, true, true]);
    expect(results[0]).toMatchObject({
      error: { code: "E_READ_LIMIT", message: expect.stringContaining("Ask for less at once") },
    });
  });

  test("counts as the provider does: tokens that are twice as short are folded twice as early", async () => {
    const double: Script = (request, index) => ({
      calls: [read(index)],
      usage: { prompt_tokens: 2 * sizeOf(request), completion_tokens: 10 },
    });
    const scene = await sceneWith(double, { contextTokens: 32_768 });
    await walk(scene, 8);
    for (const request of scene.model.requests) expect(2 * sizeOf(request)).toBeLessThan(32_768);
  });

  test("whose first messages do not fit fails with what is too long, and what to do", async () => {
    const scene = await sceneWith(readEach, { contextTokens: 1_024 });
    const failure: unknown = await takeTurn(scene, 1).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(ApplicationFailure);
    expect(failure).toMatchObject({ type: "LLM_CONTEXT_EXCEEDED", nonRetryable: true });
    expect((failure as ApplicationFailure).message).toMatch(
      /^The request at ask has about \d+ tokens without the tool results that can be left out, and the context of scripted holds 1024, of which 256 are for the answer\. Choose a model with a longer context, raise contextTokens/,
    );
    expect(scene.model.requests).toEqual([]);
  });

  test("where maxTokens take the whole context says so, and asks nobody", async () => {
    const scene = await sceneWith(readEach, { contextTokens: 8_192, maxTokens: 8_192 });
    await expect(takeTurn(scene, 1)).rejects.toMatchObject({
      type: "LLM_CONTEXT_EXCEEDED",
      message: expect.stringContaining("of which 8192 are for the answer"),
    });
    expect(scene.model.requests).toEqual([]);
  });
});

describe("a provider that refuses a request as too long", () => {
  test("is asked again with less, and its length is remembered and written down", async () => {
    const scene = await sceneWith(
      serverOf(16_384, (_, __) => readEach(_, requestsAnswered(scene))),
      {},
    );
    const learned = new LearnedContexts();
    await walk(scene, 10, learned);
    const refused = scene.model.requests.filter((request) => sizeOf(request) > 16_384);
    expect(refused).toHaveLength(1);
    expect((await foldsIn(scene))[0]).toMatchObject({ contextTokens: 16_384, by: "provider" });
    const settings = await scene.deps.modelSettingsFor("author", scene.opened.run);
    if (settings === undefined || "missing" in settings) throw new Error("the scene has a model");
    expect(learned.of(settings)).toBe(16_384);
  });

  test.each([
    ["model_context_window_exceeded", { prompt_tokens: 16_384, completion_tokens: 0 }, 16_384, 16_384],
    ["model_context_window_exceeded", { prompt_tokens: 0, completion_tokens: 0 }, 0, expect.any(Number)],
    // That an answer has nothing in it may have another cause: other conversations are not made shorter for it.
    ["length", { prompt_tokens: 16_384, completion_tokens: 0 }, 16_384, undefined],
    ["length", { prompt_tokens: 16_384, completion_tokens: 1 }, 16_384, undefined],
  ])(
    "in the end of an answer, %s, %j, is asked again with less",
    async (finishReason, usage, spent, known) => {
      const full = { content: "", finishReason, usage };
      const script: Script = (request) =>
        sizeOf(request) > 16_384 ? full : readEach(request, requestsAnswered(scene));
      const scene = await sceneWith(script, {});
      const learned = new LearnedContexts();
      await walk(scene, 8, learned);
      expect((await foldsIn(scene))[0]).toMatchObject({ nth: 1, by: "provider" });
      const settings = await scene.deps.modelSettingsFor("author", scene.opened.run);
      if (settings === undefined || "missing" in settings) throw new Error("the scene has a model");
      expect(learned.of(settings)).toEqual(known);
      const entries = await scene.files.conversation("visit-1").entries();
      const answers = entries.filter((entry) => entry.type === "assistant");
      expect(answers.map(({ calls }) => calls.length)).toEqual([1, 1, 1, 1, 1, 1, 1, 1]);
      const counted = entries.flatMap((entry) =>
        entry.type === "assistant" ? [entry.spent?.promptTokens] : [],
      );
      expect(counted.find(Boolean) ?? 0).toBe(spent);
    },
  );

  test("is not asked too much again by a worker that has only the conversation", async () => {
    const scene = await sceneWith(
      serverOf(16_384, (_, __) => readEach(_, requestsAnswered(scene))),
      {},
    );
    await walk(scene, 10); // each turn by a worker that remembers nothing
    expect(scene.model.requests.filter((request) => sizeOf(request) > 16_384)).toHaveLength(1);
  });

  test("is asked less and less while it names no length and that helps", async () => {
    const nameless: Script = (request) =>
      sizeOf(request) > 9_000
        ? {
            status: 400,
            body: { error: { message: "Your input exceeds the context window of this model." } },
          }
        : readEach(request, requestsAnswered(scene));
    const scene = await sceneWith(nameless, { kilobytes: 8 });
    await walk(scene, 10);
    const entries = await scene.files.conversation("visit-1").entries();
    expect(entries.filter(({ type }) => type === "assistant")).toHaveLength(10);
  });

  test("is asked with less where it says nothing at all, as Cerebras of what is too long", async () => {
    const silent: Script = (request) =>
      sizeOf(request) > 9_000 ? { status: 400, body: "" } : readEach(request, requestsAnswered(scene));
    const scene = await sceneWith(silent, { kilobytes: 8 });
    await walk(scene, 10);
    const entries = await scene.files.conversation("visit-1").entries();
    expect(entries.filter(({ type }) => type === "assistant")).toHaveLength(10);
  });

  test("is not said to be too long where nobody says so, and nothing can be left out", async () => {
    const scene = await sceneWith(() => ({ status: 400, body: "" }), {});
    await expect(takeTurn(scene, 1)).rejects.toMatchObject({
      type: "LLM_HTTP_ERROR",
      nonRetryable: true,
      message: expect.stringMatching(/answered 400 and said nothing$/),
    });
    expect(scene.model.requests).toHaveLength(1);
  });

  test("where nothing can be left out fails the run with its words, and is not asked again", async () => {
    const scene = await sceneWith(serverOf(1_000, readEach), {});
    await expect(takeTurn(scene, 1)).rejects.toMatchObject({
      type: "LLM_CONTEXT_EXCEEDED",
      nonRetryable: true,
      message: expect.stringMatching(
        /holds 1000, .*The model endpoint \S+ answered 400 request \(\d+ tokens\) exceeds/,
      ),
    });
    expect(scene.model.requests).toHaveLength(1);
  });

  test("is asked anew where nothing can be left out: its server may hold more by now", async () => {
    let holds = 1_000;
    const scene = await sceneWith((request, index) => serverOf(holds, readEach)(request, index), {});
    const learned = new LearnedContexts();
    await expect(takeTurn(scene, 1, learned)).rejects.toMatchObject({ type: "LLM_CONTEXT_EXCEEDED" });
    holds = 100_000;
    await expect(takeTurn(scene, 1, learned)).resolves.toMatchObject({ calls: [{ id: "read-1" }] });
    expect(scene.model.requests).toHaveLength(2);
  });

  test("for a length of a few tokens is not believed", async () => {
    let refusals = 0;
    const odd: Script = (request) => {
      if (requestsAnswered(scene) !== 3 || (refusals += 1) > 1)
        return readEach(request, requestsAnswered(scene));
      return { status: 400, body: { error: { message: "maximum context length is 5 tokens" } } };
    };
    const scene = await sceneWith(odd, {});
    await walk(scene, 5);
    expect((await foldsIn(scene))[0]?.contextTokens).toBeGreaterThan(10_000);
  });
});

describe("an answer whose tokens nobody has counted", () => {
  test("is estimated, marked, priced and audited", async () => {
    const price = { inputPerMillion: 1_000_000, outputPerMillion: 2_000_000 };
    const scene = await sceneWith([{ content: "x".repeat(400), usage: null }], { price });
    const { usage } = await takeTurn(scene, 1);
    expect(usage).toMatchObject({ completionTokens: 100, estimated: true });
    expect(usage.promptTokens).toBeGreaterThan(500);
    expect(usage.cost).toBe(usage.promptTokens + 2 * usage.completionTokens);
    const [event] = await jsonLines(scene.files.logFile);
    expect(event).toMatchObject({ kind: "model.turn", ...usage });
  });

  test.each([
    [
      "nothing of the prompt",
      { prompt_tokens: 0, completion_tokens: 7 },
      { promptTokens: expect.any(Number), completionTokens: 7, cost: 0, estimated: true },
    ],
    [
      "nothing of the answer",
      { prompt_tokens: 70, completion_tokens: 0 },
      { promptTokens: 70, completionTokens: 2, cost: 0, estimated: true },
    ],
    ["both", { prompt_tokens: 70, completion_tokens: 7 }, { promptTokens: 70, completionTokens: 7, cost: 0 }],
  ])("of which the server says %s", async (_, usage, expected) => {
    const scene = await sceneWith([{ content: "Which?", usage }], {});
    const result = await takeTurn(scene, 1);
    expect(result.usage).toEqual(expected);
    expect(result.usage.promptTokens).toBeGreaterThan(0);
  });

  test("in a stream without usage", async () => {
    const scene = await sceneWith([{ content: "Which?", usage: null }], { stream: true });
    expect((await takeTurn(scene, 1)).usage).toMatchObject({ completionTokens: 2, estimated: true });
  });
});

test("prompt tokens from the provider's cache have a price of their own", async () => {
  const usage = { prompt_tokens: 100, completion_tokens: 10, prompt_tokens_details: { cached_tokens: 60 } };
  const price = { inputPerMillion: 1_000_000, outputPerMillion: 2_000_000 };
  const plain = await sceneWith([{ content: "a", usage }], { price });
  expect((await takeTurn(plain, 1)).usage).toEqual({
    promptTokens: 100,
    completionTokens: 10,
    cachedPromptTokens: 60,
    cost: 120,
  });
  const cheaper = await sceneWith([{ content: "a", usage }], {
    price: { ...price, cachedInputPerMillion: 100_000 },
  });
  expect((await takeTurn(cheaper, 1)).usage.cost).toBe(40 + 6 + 20);
});

/** Answers that the model has given: requests beside the refused ones. */
function requestsAnswered(scene: ActivityScene): number {
  const last = scene.model.requests.at(-1);
  return (last?.messages ?? []).filter(({ role }) => role === "assistant").length;
}
