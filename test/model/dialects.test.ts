import type { ServerResponse } from "node:http";
import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../src/core/json.js";
import type { ChatMessage, ModelSettings } from "../../src/model/chat.js";
import { createChatModel } from "../../src/model/chat-model.js";
import { type DialectSetting, DIALECT_NAMES, dialectOf } from "../../src/model/dialects.js";
import { ModelError } from "../../src/model/model-error.js";
import { type RawRequest, startRawServer } from "./raw-server.js";

const json = (response: ServerResponse, value: unknown, status = 200) => {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify(value));
};
const choice = (message: unknown, finishReason: unknown = "stop") => ({
  model: "m",
  choices: [{ index: 0, message, finish_reason: finishReason }],
});
const events = (response: ServerResponse, chunks: readonly unknown[]) => {
  response.writeHead(200, { "content-type": "text/event-stream" });
  for (const chunk of chunks) response.write(`data: ${JSON.stringify(chunk)}\n\n`);
  response.end("data: [DONE]\n\n");
};
const delta = (value: unknown, finishReason: unknown = null) => ({
  choices: [{ index: 0, delta: value, finish_reason: finishReason }],
});

function ask(
  baseUrl: string,
  settings: Partial<ModelSettings> = {},
  messages: readonly ChatMessage[] = [],
  model = createChatModel(),
) {
  return model.complete({
    settings: { model: "m", baseUrl, apiKey: "k", stream: false, timeoutMs: 30_000, ...settings },
    messages,
    tools: [],
    signal: new AbortController().signal,
  });
}

async function errorOf(answer: Promise<unknown>): Promise<ModelError> {
  const error: unknown = await answer.catch((caught: unknown) => caught);
  if (!(error instanceof ModelError)) throw new Error(`no model error: ${String(error)}`);
  return error;
}

/** What a request says, as it was sent. */
function messagesOf(request: RawRequest | undefined): readonly { role: string; content: string }[] {
  if (request === undefined) throw new Error("nothing was sent");
  return (request.body as { messages: { role: string; content: string }[] }).messages;
}

describe("a dialect is told by the address", () => {
  test.each([
    ["https://api.openai.com/v1", "openai"],
    ["https://x.openai.azure.com/openai/v1", "azure"],
    ["https://api.deepseek.com", "deepseek"],
    ["https://generativelanguage.googleapis.com/v1beta/openai/", "gemini"],
    ["https://europe-west1-aiplatform.googleapis.com/v1", "gemini"],
    ["https://aiplatform.googleapis.com/v1", "gemini"],
    ["https://aiplatform.eu.rep.googleapis.com/v1", "gemini"],
    ["https://aiplatform.eu.rep.googleapis.com.evil.example/v1", "plain"],
    ["https://api.anthropic.com/v1/", "anthropic"],
    ["https://api.mistral.ai/v1", "mistral"],
    ["https://api.groq.com/openai/v1", "groq"],
    ["https://openrouter.ai/api/v1", "openrouter"],
    ["http://192.168.0.7:11434/v1", "ollama"],
    ["http://localhost:1234/v1", "lm-studio"],
    ["http://localhost:8080/v1", "plain"],
    ["https://api.openai.com.evil.example/v1", "plain"],
    ["https://notdeepseek.com/v1", "plain"],
  ])("%s is %s", (url, name) => {
    expect(dialectOf(new URL(url), undefined).name).toBe(name);
  });

  test("what is set wins, field by field", () => {
    const url = new URL("https://api.mistral.ai/v1");
    expect(dialectOf(url, "vllm").name).toBe("vllm");
    expect(dialectOf(url, { streamOptions: true })).toMatchObject({
      name: "mistral",
      streamOptions: true,
      callIds: "nine",
    });
    expect(dialectOf(url, { name: "openai", tokenLimit: "max_tokens" })).toMatchObject({
      name: "openai",
      tokenLimit: "max_tokens",
    });
    expect(DIALECT_NAMES).toHaveLength(13);
  });
});

const OWN = {
  reasoning_content: "because",
  extra: { deep: [1, { a: null }] },
};
const OWN_CALL = { extra_content: { google: { thought_signature: "s" } } };

describe.each([false, true])("what nobody here knows is kept, streamed: %s", (stream) => {
  test("and goes back as it came to the same endpoint, and not to another one", async () => {
    const call = {
      id: "c",
      type: "function",
      function: { name: "fs_list", arguments: "{}", strict: true },
      ...OWN_CALL,
    };
    const answer = (response: ServerResponse) =>
      stream
        ? events(response, [
            delta({ role: "assistant", content: "", reasoning_content: "be", extra: OWN.extra }),
            delta({ reasoning_content: "cause" }),
            delta({ content: "So" }),
            delta({ tool_calls: [{ index: 0, ...call }] }),
            delta({}, "tool_calls"),
          ])
        : json(
            response,
            choice({ role: "assistant", content: "So", ...OWN, tool_calls: [call] }, "tool_calls"),
          );
    const first = await startRawServer(answer);
    const other = await startRawServer(answer);
    const said = await ask(first.baseUrl, { stream });
    expect(said).toMatchObject({
      content: "So",
      toolCalls: [{ id: "c", name: "fs_list", argumentsJson: "{}" }],
    });
    const { content, toolCalls, provider } = said;
    if (provider === undefined) throw new Error("nothing was kept");
    const messages: readonly ChatMessage[] = [
      { role: "assistant", content, toolCalls: toolCalls.map((made) => ({ ...made, id: "ours" })), provider },
      { role: "tool", toolCallId: "ours", content: "{}" },
    ];
    await ask(first.baseUrl, { stream }, messages);
    await ask(other.baseUrl, { stream }, messages);
    await ask(first.baseUrl, { stream, dialect: "mistral" }, messages);
    const sent = (server: typeof first, index: number) => messagesOf(server.requests[index])[0];
    expect(sent(first, 1)).toEqual({
      role: "assistant",
      content: "So",
      ...OWN,
      tool_calls: [{ ...call, id: "ours" }],
    });
    const bare = { type: "function", function: { name: "fs_list", arguments: "{}" } };
    expect(sent(other, 0)).toEqual({
      role: "assistant",
      content: "So",
      tool_calls: [{ ...bare, id: "ours" }],
    });
    expect(JSON.stringify(sent(first, 2))).not.toMatch(/because|signature|deep/u);
  });

  test("in parts of a content, thoughts among them", async () => {
    const parts = [
      { type: "thinking", thinking: [{ type: "text", text: "hm" }] },
      { type: "text", text: "Which " },
      { type: "text", text: "colour?" },
    ];
    const server = await startRawServer((response) =>
      stream
        ? events(response, [...parts.map((part) => delta({ content: [part] })), delta({}, "stop")])
        : json(response, choice({ content: parts })),
    );
    const { content, provider } = await ask(server.baseUrl, { stream });
    // The pieces of a stream are one part.
    const kept = stream ? [parts[0], { type: "text", text: "Which colour?" }] : parts;
    expect([content, provider?.content]).toEqual(["Which colour?", kept]);
  });

  test("but not without a bound", async () => {
    const server = await startRawServer((response) => {
      const message = { content: "x", reasoning_content: "y".repeat(5_000_000) };
      if (stream) events(response, [delta(message), delta({}, "stop")]);
      else json(response, choice(message));
    });
    expect(await errorOf(ask(server.baseUrl, { stream }))).toMatchObject({ code: "LLM_BAD_RESPONSE" });
  });
});

test("a thought of a stream is one, however many pieces it has come in", async () => {
  const thought = (text: string) => ({ content: [{ type: "thinking", thinking: [{ type: "text", text }] }] });
  const summary = (text: string, more = {}) => ({
    content: [{ type: "reasoning", summary: [{ type: "summary_text", text, ...more }] }],
  });
  const told = async (...deltas: readonly object[]) => {
    const server = await startRawServer((response) =>
      events(response, [...deltas.map((piece) => delta(piece)), delta({}, "stop")]),
    );
    return (await ask(server.baseUrl, { stream: true })).provider?.content;
  };
  expect(
    await told({ content: "" }, thought("Let"), thought(" me"), { content: "Red" }, { content: "?" }),
  ).toEqual([
    { type: "thinking", thinking: [{ type: "text", text: "Let me" }] },
    { type: "text", text: "Red?" },
  ]);
  expect(await told(summary("Let"), summary(" me"), summary("", { signature: "s" }), summary("So"))).toEqual([
    {
      type: "reasoning",
      summary: [
        { type: "summary_text", text: "Let me", signature: "s" },
        { type: "summary_text", text: "So" },
      ],
    },
  ]);
});

describe("calls of a stream", () => {
  const made = (id: string | undefined, index: number | undefined, name: string, args: string) => ({
    ...(index === undefined ? {} : { index }),
    ...(id === undefined ? {} : { id }),
    type: "function",
    function: { name, arguments: args },
  });
  const whole = [
    { name: "fs_list", argumentsJson: '{"a":1}' },
    { name: "fs_read", argumentsJson: '{"b":2}' },
  ];
  test.each<[string, readonly object[]]>([
    [
      "whole, with one index and ids of their own",
      [made("x", 0, "fs_list", '{"a":1}'), made("y", 0, "fs_read", '{"b":2}')],
    ],
    [
      "whole, with one index and no ids",
      [made(undefined, 0, "fs_list", '{"a":1}'), made(undefined, 0, "fs_read", '{"b":2}')],
    ],
    [
      "whole, without index and ids",
      [made(undefined, undefined, "fs_list", '{"a":1}'), made(undefined, undefined, "fs_read", '{"b":2}')],
    ],
    [
      "in pieces that repeat id and name",
      [
        made("x", 0, "fs_list", '{"a"'),
        made("x", 0, "fs_list", ":1}"),
        made("y", 1, "fs_read", '{"b"'),
        made("y", 1, "fs_read", ":2}"),
      ],
    ],
    [
      "in pieces one after the other with one index",
      [
        made("x", 0, "fs_list", '{"a"'),
        { index: 0, function: { arguments: ":1}" } },
        made("y", 0, "fs_read", '{"b":2}'),
      ],
    ],
  ])("%s", async (_, pieces) => {
    const server = await startRawServer((response) =>
      events(response, [...pieces.map((piece) => delta({ tool_calls: [piece] })), delta({}, "tool_calls")]),
    );
    const { toolCalls } = await ask(server.baseUrl, { stream: true });
    expect(toolCalls.map(({ name, argumentsJson }) => ({ name, argumentsJson }))).toEqual(whole);
  });
});

describe("a server that does not take a parameter", () => {
  const refusing = (name: string, status: number, body: unknown) =>
    startRawServer((response, request) => {
      if (Object.hasOwn(request.body as object, name)) json(response, body, status);
      else if (request.body instanceof Object && "stream" in request.body && request.body.stream === true) {
        events(response, [delta({ content: "x" }), delta({}, "stop")]);
      } else json(response, choice({ content: "x" }));
    });

  test.each<[string, number, unknown, Partial<ModelSettings>]>([
    [
      "stream_options",
      400,
      { error: { message: "Unrecognized request argument: stream_options" } },
      { stream: true },
    ],
    [
      "stream_options",
      422,
      {
        error: {
          message: "invalid input error",
          details: [{ loc: ["body", "stream_options"], msg: "Extra inputs are not permitted" }],
        },
      },
      { stream: true },
    ],
    [
      "max_completion_tokens",
      422,
      { detail: [{ type: "extra_forbidden", loc: ["body", "max_completion_tokens"] }] },
      { maxTokens: 5 },
    ],
    [
      "temperature",
      400,
      { error: { message: "'temperature' does not support 0 with this model." } },
      { temperature: 0 },
    ],
  ])("%s is asked once without it, and not asked for it again", async (name, status, body, settings) => {
    const server = await refusing(name, status, body);
    const model = createChatModel();
    await ask(server.baseUrl, settings, [], model);
    await ask(server.baseUrl, settings, [], model);
    const sent = server.requests.map(({ body: asked }) => Object.hasOwn(asked as object, name));
    expect(sent).toEqual([true, false, false]);
  });

  test("is learned by two requests that were on their way together, and neither fails", async () => {
    const early: (() => void)[] = [];
    const error = { message: "Unsupported parameter: temperature is not supported" };
    const server = await startRawServer((response, { body }) => {
      if (!Object.hasOwn(body as object, "temperature")) return json(response, choice({ content: "x" }));
      early.push(() => json(response, { error }, 400));
      if (early.length === 2) early.forEach((refuse) => refuse());
    });
    const model = createChatModel();
    const asked = [1, 2].map(() => ask(server.baseUrl, { temperature: 0.2 }, [], model));
    expect(await Promise.all(asked)).toMatchObject([{ content: "x" }, { content: "x" }]);
    expect(server.requests).toHaveLength(4);
  });

  test.each<[string, number, string, Record<string, unknown>]>([
    ["temperature", 400, "invalid temperature: only 1 is allowed for this model", {}],
    ["temperature", 400, "`temperature` is deprecated for this model.", {}],
    ["temperature", 400, "temperature may only be set to 1 when thinking is enabled", {}],
    ["temperature", 400, "temperature cannot be set for this model", {}],
    ["temperature", 400, "This setting can't be used", { param: "temperature" }],
    ["temperature", 501, "temperature is not implemented", {}],
    ["stream_options", 400, "Value error, Stream options can only be defined when `stream=True`.", {}],
    ["stream_options", 422, "unknown field: parameter 'stream_options' is not a valid field", {}],
    ["stream_options", 500, "stream_options not implemented", {}],
    ["stream_options", 400, "property stream_options should not exist", {}],
    ["stream_options", 404, "Unrecognized request argument supplied: stream_options", {}],
    ["max_completion_tokens", 400, 'json: unknown field "max_completion_tokens"', {}],
  ])("%s is named in many ways: %i %s: %s", async (name, status, message, more) => {
    const server = await refusing(name, status, { error: { message, ...more } });
    await ask(server.baseUrl, { temperature: 0.2, maxTokens: 5, stream: true });
    expect(server.requests.map(({ body }) => Object.hasOwn(body as object, name))).toEqual([true, false]);
  });

  test.each<[number, string, Record<string, unknown>]>([
    [400, "Your organization must be verified to stream this model.", { param: "stream" }],
    [400, "The model is unsupported for streaming.", {}],
    [400, "This model doesn't support the stream field. Remove stream and try again.", {}],
    [500, "Cannot use tools with stream", {}],
    [422, "streaming with tools is not supported", {}],
    [400, "This model doesn't support tool use in streaming mode.", {}],
    [400, "InternalError.Algo.InvalidParameter: When using `tools`, `stream` must be set to be False.", {}],
  ])("a stream is not asked for again: %i %s", async (status, message, more) => {
    const server = await startRawServer((response, { body }) => {
      const isStream = (body as { stream: boolean }).stream;
      if (isStream) json(response, { error: { message, ...more } }, status);
      else json(response, choice({ content: "x" }));
    });
    const model = createChatModel();
    await ask(server.baseUrl, { stream: true }, [], model);
    await ask(server.baseUrl, { stream: true }, [], model);
    const sent = server.requests.map(({ body }) => body as Record<string, unknown>);
    expect(sent.map((body) => body["stream"])).toEqual([true, false, false]);
    expect(sent.map((body) => Object.hasOwn(body, "stream_options"))).toEqual([true, false, false]);
  });

  test.each<[number, string, Record<string, unknown>]>([
    [400, "parameter.enable_thinking must be set to false for non-streaming calls", {}],
    [400, "parameter.enable_thinking必须设置为false才能进行非流式调用", {}],
    [400, "enable thinking can not be support when `stream=False`.", {}],
    [
      400,
      "This model only support stream mode, please enable the stream parameter to access the model.",
      { code: "invalid_parameter_error" },
    ],
    [400, "Requests with max_tokens > 4096 must have stream=true", { param: "max_tokens" }],
    [400, "Non-streaming requests are not supported by this model.", {}],
  ])("a whole answer is not asked for again: %i %s", async (status, message, more) => {
    const server = await startRawServer((response, { body }) => {
      const isStream = (body as { stream: boolean }).stream;
      if (!isStream) json(response, { error: { message, ...more } }, status);
      else events(response, [delta({ content: "x" }), delta({}, "stop")]);
    });
    const model = createChatModel();
    await ask(server.baseUrl, { maxTokens: 5 }, [], model);
    expect(await ask(server.baseUrl, { maxTokens: 5 }, [], model)).toMatchObject({ content: "x" });
    const sent = server.requests.map(({ body }) => body as Record<string, unknown>);
    expect(sent.map((body) => body["stream"])).toEqual([false, true, true]);
    expect(sent.map((body) => body["stream_options"])).toEqual([
      undefined,
      { include_usage: true },
      { include_usage: true },
    ]);
  });

  test("that takes neither a stream nor a whole answer is not asked for ever", async () => {
    const server = await startRawServer((response, { body }) => {
      const isStream = (body as { stream: boolean }).stream;
      const message = isStream ? "streaming is not supported" : "this model only supports streaming";
      json(response, { error: { message, param: "stream" } }, 400);
    });
    expect(await errorOf(ask(server.baseUrl))).toMatchObject({ retryable: false });
    expect(server.requests).toHaveLength(2);
  });

  test.each<[string, readonly unknown[]]>([
    ["in place of one", []],
    ["in the middle of a stream", [delta({ content: "Which" })]],
  ])("and says so with status 200, %s, is asked once without it as well", async (_, before) => {
    const server = await startRawServer((response, { body }) => {
      const isTaken = !Object.hasOwn(body as object, "temperature");
      const error = { message: "Unsupported parameter: temperature is not supported", code: 400 };
      if (isTaken) events(response, [delta({ content: "Red?" }), delta({}, "stop")]);
      else if (before.length === 0) json(response, { error });
      else events(response, [...before, { error }]);
    });
    const model = createChatModel();
    const pieces: unknown[] = [];
    for (let turn = 1; turn <= 2; turn += 1) {
      const answer = await model.complete({
        settings: { model: "m", baseUrl: server.baseUrl, stream: true, timeoutMs: 30_000, temperature: 0 },
        messages: [],
        tools: [],
        signal: new AbortController().signal,
        onPiece: (piece) => pieces.push(piece),
      });
      expect(answer.content).toBe("Red?");
    }
    const sent = server.requests.map(({ body }) => Object.hasOwn(body as object, "temperature"));
    expect(sent).toEqual([true, false, false]);
    // Who watches sees what comes of the answer that counts.
    expect(pieces.slice(-3)).toEqual([
      { type: "restart" },
      { type: "text", text: "Red?" },
      { type: "text", text: "Red?" },
    ]);
  });

  test.each([
    [0, 2],
    [0.2, 1],
  ])("a temperature of %d that is not positive is left out, and no other one", async (temperature, asked) => {
    for (const error of [
      "Input validation error: `temperature` must be strictly positive",
      "Invalid params: temperature must be in range (0, +inf)",
      "temperature must be in (0, 1]",
      "temperature should be greater than 0",
      "temperature 参数非法。请检查文档。",
      "temperature参数非法。取值范围：(0.0,1.0)",
    ]) {
      const server = await refusing("temperature", 422, { error, error_type: "validation" });
      await ask(server.baseUrl, { temperature }).catch(() => undefined);
      expect([error, server.requests.length]).toEqual([error, asked]);
    }
  });

  describe("a model that may not reason where tools are offered", () => {
    const BOTH =
      "Function tools with reasoning_effort are not supported for gpt-5.6-sol in /v1/chat/completions.";
    const withTools = (
      baseUrl: string,
      model: ReturnType<typeof createChatModel>,
      content = "words",
      parameters: JsonObject = {},
      dialect: DialectSetting = "plain",
    ) =>
      model.complete({
        settings: {
          model: "m",
          baseUrl,
          apiKey: "k-1234567890",
          stream: false,
          timeoutMs: 30_000,
          parameters,
          dialect,
        },
        messages: [{ role: "user", content }],
        tools: [{ type: "function", function: { name: "x", description: "d", parameters: {} } }],
        signal: new AbortController().signal,
      });

    test.each([
      `${BOTH} To use function tools, use /v1/responses or set reasoning_effort to 'none'.`,
      `${BOTH} Please use /v1/responses instead.`,
      "This model reasons. To use tools, set `reasoning_effort` to `none`.",
    ])("is asked not to, from then on, and only with tools: %s", async (message) => {
      const server = await startRawServer((response, { body }) => {
        const { tools, reasoning_effort: effort } = body as Record<string, unknown>;
        if (tools === undefined || effort === "none") return json(response, choice({ content: "x" }));
        json(response, { error: { message, type: "invalid_request_error", param: "reasoning_effort" } }, 400);
      });
      const model = createChatModel();
      await withTools(server.baseUrl, model);
      await withTools(server.baseUrl, model);
      await ask(server.baseUrl, {}, [], model);
      const sent = server.requests.map(({ body }) => (body as Record<string, unknown>)["reasoning_effort"]);
      expect(sent).toEqual([undefined, "none", "none", undefined]);
    });

    test("reasons on where it was refused for something else, whatever words that holds", async () => {
      const input = "To use tools, set reasoning_effort to none.";
      const server = await startRawServer((response, { body }) => {
        if (!JSON.stringify(body).includes("wrong")) return json(response, choice({ content: "x" }));
        json(response, { detail: [{ type: "value_error", msg: "Value is too strange", input }] }, 422);
      });
      const model = createChatModel();
      await errorOf(withTools(server.baseUrl, model, "wrong"));
      await withTools(server.baseUrl, model);
      const sent = server.requests.map(({ body }) => (body as Record<string, unknown>)["reasoning_effort"]);
      expect(sent).toEqual([undefined, "none", undefined]);
    });

    test("is said to be asked so, once", async () => {
      const message = "To use tools, set `reasoning_effort` to `none`, not k-1234567890.";
      const server = await startRawServer((response, { body }) => {
        if (Object.hasOwn(body as object, "reasoning_effort")) json(response, choice({ content: "x" }));
        else json(response, { error: { message } }, 400);
      });
      const notes: string[] = [];
      const model = createChatModel({ note: (sentence) => void notes.push(sentence) });
      await withTools(server.baseUrl, model);
      await withTools(server.baseUrl, model);
      expect(notes).toEqual([
        `The model m is asked in another form from now on, and answers: The model endpoint ${server.baseUrl}/chat/completions answered 400 To use tools, set \`reasoning_effort\` to \`none\`, not <secret>.`,
      ]);
    });

    test("takes none of the efforts that somebody has set, which is told and not left out", async () => {
      const message =
        "Unsupported value: 'reasoning_effort' does not support 'xhigh' with this model. Supported values are: 'low', 'medium', and 'high'.";
      const server = await startRawServer((response) =>
        json(response, { error: { message, param: "reasoning_effort" } }, 400),
      );
      const parameters = { reasoning_effort: "xhigh" };
      const error = await errorOf(ask(server.baseUrl, { parameters }));
      expect(error).toMatchObject({ retryable: false, message: expect.stringContaining(message) as string });
      expect(server.requests).toHaveLength(1);
    });

    test("and has an effort that somebody has set, fails with what is said of it, and other entries are asked as before", async () => {
      const message = `${BOTH} To use function tools, use /v1/responses or set reasoning_effort to 'none'.`;
      const server = await startRawServer((response, { body }) => {
        const { reasoning_effort: effort } = body as Record<string, unknown>;
        if (effort === "none") json(response, choice({ content: "x" }));
        else json(response, { error: { message, param: "reasoning_effort" } }, 400);
      });
      const model = createChatModel();
      const high = { reasoning_effort: "high" };
      const error = await errorOf(withTools(server.baseUrl, model, "words", high));
      expect(error.retryable).toBe(false);
      expect(error.message).toContain("Function tools with reasoning_effort are not supported");
      await withTools(server.baseUrl, model);
      const sent = server.requests.map(({ body }) => (body as Record<string, unknown>)["reasoning_effort"]);
      expect(new Set(sent.slice(0, -2))).toEqual(new Set(["high"]));
      expect(sent.at(-1)).toBe("none");
    });

    test("and does not take none, has another effort that somebody has set", async () => {
      const none = "Unsupported value: 'reasoning_effort' does not support 'none' with this model.";
      const server = await startRawServer((response, { body }) => {
        const { reasoning_effort: effort } = body as Record<string, unknown>;
        if (effort === "none") json(response, { error: { message: none, param: "reasoning_effort" } }, 400);
        else json(response, choice({ content: "x" }));
      });
      const model = createChatModel();
      const dialect = { reasoningWithTools: "none" } as const;
      await withTools(server.baseUrl, model, "words", undefined, dialect);
      await withTools(server.baseUrl, model, "words", { reasoning_effort: "low" }, dialect);
      const sent = server.requests.map(({ body }) => (body as Record<string, unknown>)["reasoning_effort"]);
      expect(sent).toEqual(["none", undefined, "low"]);
    });

    test("and reasons always, fails with what it has said of the tools", async () => {
      const server = await startRawServer((response, { body }) => {
        const isNamed = Object.hasOwn(body as object, "reasoning_effort");
        const none = "Unsupported value: 'reasoning_effort' does not support 'none' with this model.";
        json(
          response,
          { error: { message: isNamed ? none : `${BOTH} Please use /v1/responses instead.` } },
          400,
        );
      });
      const error = await errorOf(withTools(server.baseUrl, createChatModel()));
      expect(error).toMatchObject({ code: "LLM_HTTP_ERROR", retryable: false });
      expect(error.message).toContain("Function tools with reasoning_effort are not supported");
      expect(server.requests).toHaveLength(3);
    });
  });

  test("has the limit of tokens under its other name", async () => {
    const server = await refusing("max_completion_tokens", 400, {
      error: { message: "unknown field max_completion_tokens" },
    });
    await ask(server.baseUrl, { maxTokens: 7 });
    expect(server.requests[1]?.body).toMatchObject({ max_tokens: 7 });
  });

  test("but one whose value is wrong is told so", async () => {
    const server = await refusing("max_completion_tokens", 400, {
      error: {
        message: "max_completion_tokens is too large: 9 is more than the context has left",
        type: "invalid_request_error",
      },
    });
    expect(await errorOf(ask(server.baseUrl, { maxTokens: 9 }))).toMatchObject({ retryable: false });
    expect(server.requests).toHaveLength(1);
  });
});

describe("errors", () => {
  test.each<[string, number, unknown, string, boolean]>([
    [
      "a quota that is used up",
      429,
      { error: { message: "m", code: "insufficient_quota" } },
      "LLM_RATE_LIMITED",
      false,
    ],
    [
      "too many requests",
      429,
      { error: { message: "m", code: "rate_limit_exceeded" } },
      "LLM_RATE_LIMITED",
      true,
    ],
    [
      "a prompt that was filtered",
      400,
      { error: { message: "m", code: "content_filter" } },
      "LLM_CONTENT_FILTERED",
      false,
    ],
    [
      "an error of its own status in an answer",
      200,
      { error: { message: "m", code: 502 } },
      "LLM_HTTP_ERROR",
      true,
    ],
    ["a wrong key in an answer", 200, { error: { message: "m", code: 401 } }, "LLM_AUTH_FAILED", false],
    ["a list in an answer", 200, [{ error: { message: "m", code: 503 } }], "LLM_HTTP_ERROR", true],
    [
      "a quota in an answer",
      200,
      { error: { message: "m", type: "insufficient_quota" } },
      "LLM_BAD_RESPONSE",
      false,
    ],
  ])("%s", async (_, status, body, code, retryable) => {
    const server = await startRawServer((response) => json(response, body, status));
    expect(await errorOf(ask(server.baseUrl))).toMatchObject({ code, retryable });
    if (status !== 200) return;
    const streaming = await startRawServer((response) => events(response, [delta({ content: "a" }), body]));
    expect(await errorOf(ask(streaming.baseUrl, { stream: true }))).toMatchObject({ code, retryable });
  });

  test("a page's title is its words", async () => {
    const server = await startRawServer((response) => {
      response.writeHead(503, { "content-type": "text/html" });
      response.end("<!DOCTYPE html><html><head><title>Down for repair</title></head><body>x</body></html>");
    });
    expect((await errorOf(ask(server.baseUrl))).message).toBe(
      `The model endpoint ${server.baseUrl}/chat/completions answered 503 Down for repair`,
    );
  });
});

describe("how an answer ends", () => {
  test.each([
    ["length", "length"],
    ["MAX_TOKENS", "length"],
    ["model_length", "length"],
    ["max_output_tokens", "length"],
    ["repetition", "length"],
    ["SAFETY", "content_filter"],
    ["content-filter", "content_filter"],
    ["PROHIBITED_CONTENT", "content_filter"],
    ["tool_use", "tool_calls"],
    ["STOP", "stop"],
    ["end_turn", "stop"],
  ])("%s is %s", async (told, read) => {
    const server = await startRawServer((response) => json(response, choice({ content: "x" }, told)));
    expect((await ask(server.baseUrl)).finishReason).toBe(read);
  });

  test.each<[string, unknown, unknown, unknown]>([
    ["a refusal", { content: null, refusal: "No." }, "stop", { code: "LLM_REFUSED", words: "No." }],
    [
      "a refusal in parts",
      { content: [{ type: "refusal", refusal: "No." }] },
      "stop",
      { code: "LLM_REFUSED", words: "No." },
    ],
    ["an end that is a refusal", { content: "No." }, "refusal", { code: "LLM_REFUSED", words: "No." }],
    ["a filter", { content: "Half" }, "content_filter", { code: "LLM_CONTENT_FILTERED", words: "Half" }],
    [
      "a filter without words",
      { content: null },
      "content_filter",
      { code: "LLM_CONTENT_FILTERED", words: "" },
    ],
    ["neither", { content: "x", refusal: null }, "stop", undefined],
    ["an empty refusal", { content: "x", refusal: "" }, "stop", undefined],
  ])("%s", async (_, message, reason, refusal) => {
    const server = await startRawServer((response) => json(response, choice(message, reason)));
    expect((await ask(server.baseUrl)).refusal).toEqual(refusal);
  });
});

describe("the runtime's own reads", () => {
  const messages: readonly ChatMessage[] = [
    { role: "system", content: "rules" },
    {
      role: "assistant",
      content: "",
      own: true,
      toolCalls: [
        { id: "a", name: "read_file", argumentsJson: '{"file_path":"x"}' },
        { id: "b", name: "read_file", argumentsJson: '{"file_path":"y"}' },
      ],
    },
    { role: "tool", toolCallId: "a", content: '{"content":"X"}' },
    { role: "tool", toolCallId: "b", content: '{"content":"Y"}' },
  ];
  const sent = async (dialect: ModelSettings["dialect"]) => {
    const server = await startRawServer((response) => json(response, choice({ content: "x" })));
    await ask(server.baseUrl, dialect === undefined ? {} : { dialect }, messages);
    return messagesOf(server.requests[0]);
  };

  test.each(["deepseek", "gemini", "mistral", "openrouter"] as const)("are words for %s", async (dialect) => {
    const [, words, ...rest] = await sent(dialect);
    expect(rest).toEqual([]);
    expect(words?.role).toBe("user");
    expect(words?.content.split("\n").slice(2)).toEqual([
      '- read_file {"file_path":"x"}',
      '  {"content":"X"}',
      '- read_file {"file_path":"y"}',
      '  {"content":"Y"}',
    ]);
  });

  test.each(["openai", "ollama", undefined] as const)("are calls for %s", async (dialect) => {
    expect((await sent(dialect)).map(({ role }) => role)).toEqual(["system", "assistant", "tool", "tool"]);
  });
});

test.each([
  "Missing `reasoning_content` field in the assistant message",
  "thinking is enabled but reasoning_content is missing in assistant tool call message at index 2",
  "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`.",
])(
  "a server that refuses reads which no model has made is shown them in words, from then on: %s",
  async (message) => {
    const server = await startRawServer((response, { body }) => {
      const { messages } = body as { messages: Record<string, unknown>[] };
      const isForeign = messages.some(
        ({ tool_calls: calls, reasoning_content: own }) => calls !== undefined && !own,
      );
      if (!isForeign) return json(response, choice({ content: "x", reasoning_content: "y" }));
      return json(response, { error: { message } }, 400);
    });
    const model = createChatModel();
    const reads: readonly ChatMessage[] = [
      { role: "assistant", content: "", own: true, toolCalls: [{ id: "a", name: "x", argumentsJson: "{}" }] },
      { role: "tool", toolCallId: "a", content: "{}" },
    ];
    await ask(server.baseUrl, {}, reads, model);
    await ask(server.baseUrl, {}, reads, model);
    expect(server.requests).toHaveLength(3);
  },
);

test("messages of another provider are dressed as this one wants them", async () => {
  const server = await startRawServer((response) => json(response, choice({ content: "x" })));
  const messages: readonly ChatMessage[] = [
    { role: "assistant", content: "", toolCalls: [{ id: "call_abc", name: "x", argumentsJson: "{}" }] },
    { role: "tool", toolCallId: "call_abc", content: "{}" },
    { role: "system", content: "go on" },
    { role: "assistant", content: "", toolCalls: [] },
    { role: "user", content: "words" },
  ];
  for (const dialect of ["deepseek", "gemini", "mistral"] as const)
    await ask(server.baseUrl, { dialect }, messages);
  const [deepseek, gemini, mistral] = server.requests.map(
    ({ body }) => (body as { messages: Record<string, unknown>[] }).messages,
  );
  expect(deepseek?.[0]).toMatchObject({ reasoning_content: " " });
  expect(gemini?.[0]).toMatchObject({
    tool_calls: [{ extra_content: { google: { thought_signature: "skip_thought_signature_validator" } } }],
  });
  expect(gemini?.map(({ role }) => role)).toEqual(["assistant", "tool", "user", "user"]);
  expect(mistral?.map(({ role }) => role)).toEqual(["assistant", "tool", "assistant", "user", "user"]);
  const id = mistral?.[1]?.["tool_call_id"];
  expect(id).toMatch(/^[A-Za-z0-9]{9}$/u);
  expect(mistral?.[0]).toMatchObject({ tool_calls: [{ id }] });
});

test.each(["gemini", "ollama"] as const)("a result has the name of its tool for %s", async (dialect) => {
  const server = await startRawServer((response) => json(response, choice({ content: "x" })));
  const made = (id: string, name: string) => ({ id, name, argumentsJson: "{}" });
  await ask(server.baseUrl, { dialect }, [
    { role: "user", content: "words" },
    { role: "assistant", content: "", toolCalls: [made("a", "fs_list"), made("b", "2 up")] },
    { role: "tool", toolCallId: "a", content: "{}" },
    { role: "tool", toolCallId: "b", content: "[]" },
  ]);
  expect(messagesOf(server.requests[0]).slice(2)).toEqual([
    { role: "tool", tool_call_id: "a", name: "fs_list", content: "{}" },
    { role: "tool", tool_call_id: "b", name: "x2_up", content: "[]" },
  ]);
});

test("a correction stays where it is for Anthropic, which puts what systems say before everything", async () => {
  const server = await startRawServer((response) => json(response, choice({ content: "x" })));
  await ask(server.baseUrl, { dialect: "anthropic" }, [
    { role: "system", content: "rules" },
    { role: "user", content: "words" },
    { role: "assistant", content: "I go on.", toolCalls: [] },
    { role: "system", content: "Make a call." },
  ]);
  const roles = messagesOf(server.requests[0]).map(({ role }) => role);
  expect(roles).toEqual(["system", "user", "assistant", "user"]);
});

test.each([
  [
    "moonshotai/Kimi-K2-Instruct",
    "plain",
    ["functions.fs_list:0", "functions.fs_read:1", "functions.fs_list:2"],
  ],
  ["kimi-k2.5", "vllm", ["functions.fs_list:0", "functions.fs_read:1", "functions.fs_list:2"]],
  ["moonshotai/Kimi-K2-Instruct", "mistral", ["aaaaaaaa1", "aaaaaaaa2", "aaaaaaaa3"]],
  ["moonshot-v1-8k", "plain", ["aaaaaaaa1", "aaaaaaaa2", "aaaaaaaa3"]],
] as const)("ids of calls are what the model %s at %s reads names from: %j", async (model, dialect, ids) => {
  const server = await startRawServer((response) => json(response, choice({ content: "x" })));
  const made = (id: string, name: string) => ({ id, name, argumentsJson: "{}" });
  const result = (toolCallId: string): ChatMessage => ({ role: "tool", toolCallId, content: "{}" });
  const first = [made("aaaaaaaa1", "fs_list"), made("aaaaaaaa2", "fs_read")];
  await ask(server.baseUrl, { model, dialect }, [
    { role: "user", content: "words" },
    { role: "assistant", content: "", toolCalls: first },
    result("aaaaaaaa2"),
    result("aaaaaaaa1"),
    { role: "assistant", content: "", toolCalls: [made("aaaaaaaa3", "fs_list")] },
    result("aaaaaaaa3"),
  ]);
  const sent: readonly Record<string, unknown>[] = messagesOf(server.requests[0]);
  const calls = sent.flatMap(({ tool_calls: own }) => (own ?? []) as { id: string }[]);
  expect(calls.map(({ id }) => id)).toEqual(ids);
  const answered = sent.filter(({ role }) => role === "tool").map(({ tool_call_id: id }) => id);
  expect(answered).toEqual([ids[1], ids[0], ids[2]]);
});

describe("calls that a model has made badly", () => {
  const made = (name: string, argumentsJson: string): readonly ChatMessage[] => [
    { role: "user", content: "words" },
    { role: "assistant", content: "", toolCalls: [{ id: "call_1", name, argumentsJson }] },
    { role: "tool", toolCallId: "call_1", content: "{}" },
  ];
  const functionIn = (request: RawRequest | undefined) => {
    const message: unknown = messagesOf(request)[1];
    const { tool_calls: sent } = message as {
      tool_calls: { function: { name: string; arguments: string } }[];
    };
    return sent[0]?.function;
  };

  test.each([
    ["fs.read file!", "fs_read_file_"],
    ["", "unnamed"],
    ["x".repeat(100), "x".repeat(64)],
    ["fs_read-2", "fs_read-2"],
    ["2nd", "x2nd"],
    ["-x", "x-x"],
  ])("have a name that servers take back: %j as %j", async (name, sent) => {
    const server = await startRawServer((response) => json(response, choice({ content: "x" })));
    await ask(server.baseUrl, {}, made(name, "{}"));
    expect(functionIn(server.requests[0])?.name).toBe(sent);
  });

  const BROKEN = ['{"path": "a', '{"path":"a"}{"path":"b"}', "[1]", '"a"', "7"];
  test.each(["ollama", "vllm", "llama.cpp", "lm-studio", "gemini", "mistral", "openrouter"] as const)(
    "have arguments that are an object for %s",
    async (dialect) => {
      const server = await startRawServer((response) => json(response, choice({ content: "x" })));
      for (const args of BROKEN) await ask(server.baseUrl, { dialect }, made("x", args));
      const sent = server.requests.map(
        (request) => JSON.parse(functionIn(request)?.arguments ?? "") as unknown,
      );
      expect(sent).toEqual(BROKEN.map((args) => ({ INVALID_JSON: args })));
      await ask(server.baseUrl, { dialect }, made("x", '{ "path": "a" }'));
      expect(functionIn(server.requests.at(-1))?.arguments).toBe('{ "path": "a" }');
    },
  );

  test.each([
    [400, "Expecting ',' delimiter: line 1 column 12 (char 11)"],
    [400, "Unterminated string starting at: line 1 column 10 (char 9)"],
    [500, "Failed to parse tool call arguments as JSON: [json.exception.parse_error.101] parse error"],
    [400, 'The "function.arguments" parameter of the code model must be in JSON format.'],
    [400, "invalid params, invalid function arguments json string, tool_call_id: call_1"],
    [400, "invalid tool call arguments"],
    [400, "Invalid tool arguments JSON: trailing characters at line 1 column 21"],
    [
      400,
      "The arguments to a tool_call with ID 'chatcmpl-tool-0123456789abcdef0123456789abcdef' are not a valid JSON string. Parsing error",
    ],
    [400, "'str object' has no attribute 'items'"],
    [500, "While executing FilterExpression at line 120: Unknown (built-in) filter 'items' for type String"],
    [400, "messages.1.tool_calls.0.function.arguments: Input should be a valid dictionary"],
    [400, "unexpected end of data: line 1 column 133 (char 132)"],
    [500, "[json.exception.parse_error.101] parse error at line 1, column 14: syntax error"],
    [
      400,
      "The format of the value at messages.2.content.0.toolUse.input is invalid. Provide a json object for the field and try again.",
    ],
    [400, "messages.1.content.0.tool_use.input: Input should be a valid dictionary"],
    [400, "Bad Request"],
  ])("are put right for a server that says so, from then on: %i %s", async (status, message) => {
    const server = await startRawServer((response, request) => {
      const isTaken = functionIn(request)?.arguments.startsWith('{"INVALID_JSON"') === true;
      if (isTaken) json(response, choice({ content: "x" }));
      else json(response, { error: { message } }, status);
    });
    const model = createChatModel();
    for (const args of ['{"path": "a', "[1]"]) await ask(server.baseUrl, {}, made("x", args), model);
    expect(server.requests).toHaveLength(3);
  });

  test("are not blamed for what is refused without them", async () => {
    const server = await startRawServer((response) =>
      json(response, { error: { message: "Bad Request" } }, 400),
    );
    await expect(ask(server.baseUrl, {}, made("x", '{"path":"a"}'))).rejects.toThrow("Bad Request");
    expect(server.requests).toHaveLength(1);
    await expect(ask(server.baseUrl, {}, made("x", "[1]"))).rejects.toThrow("Bad Request");
    expect(server.requests).toHaveLength(3);
  });

  test("are put right where spaces stand behind them", async () => {
    const server = await startRawServer((response, request) => {
      const isTaken = functionIn(request)?.arguments === "{}";
      const message = "Invalid tool arguments JSON: trailing characters at line 1 column 3";
      if (isTaken) json(response, choice({ content: "x" }));
      else json(response, { error: { message } }, 400);
    });
    expect(await ask(server.baseUrl, {}, made("x", "{}\n "))).toMatchObject({ content: "x" });
  });
});

describe("a form that a server does not take is another one, from then on", () => {
  const CALLED: readonly ChatMessage[] = [
    { role: "system", content: "rules" },
    { role: "user", content: "words" },
    { role: "assistant", content: "", toolCalls: [{ id: "call_1", name: "x", argumentsJson: "{}" }] },
    { role: "tool", toolCallId: "call_1", content: "{}" },
  ];
  const TOLD: readonly ChatMessage[] = [
    { role: "user", content: "words" },
    { role: "assistant", content: "I go on.", toolCalls: [] },
    { role: "system", content: "Make a call." },
  ];
  const EMPTY: readonly ChatMessage[] = [
    { role: "user", content: "words" },
    { role: "assistant", content: "", toolCalls: [] },
    { role: "system", content: "Make a call." },
  ];
  const SAID: readonly ChatMessage[] = [
    { role: "user", content: "words" },
    {
      role: "assistant",
      content: "I look.",
      toolCalls: [{ id: "call_1", name: "x", argumentsJson: "{}" }],
    },
    { role: "tool", toolCallId: "call_1", content: "{}" },
  ];
  type Sent = readonly { readonly role: string; readonly content: unknown }[];
  const hasText = (messages: Sent) => messages.every(({ content }) => content !== null);
  const endsWithUser = (messages: Sent) => messages.at(-1)?.role === "user";
  const isFull = (messages: Sent) => messages.every(({ content }) => content !== "");
  const hasNames = (messages: Sent) =>
    messages.every((message) => message.role !== "tool" || Object.hasOwn(message, "name"));
  const TURNS: readonly ChatMessage[] = [
    { role: "system", content: "rules" },
    { role: "system", content: "persona" },
    { role: "user", content: "directive" },
    { role: "user", content: "brief" },
    { role: "assistant", content: "", toolCalls: [{ id: "call_1", name: "x", argumentsJson: "{}" }] },
    { role: "tool", toolCallId: "call_1", content: "{}" },
    { role: "system", content: "Do not repeat yourself." },
  ];
  /** Results being the user's words. */
  const takesTurns = (messages: Sent) => {
    const roles = messages.map(({ role }) => (role === "tool" ? "user" : role));
    const said = roles[0] === "system" ? roles.slice(1) : roles;
    return said.every((role, index) => role === (index % 2 === 0 ? "user" : "assistant"));
  };
  const hasNoSystem = (messages: Sent) => messages.every(({ role }) => role !== "system");
  const hasShortIds = (messages: Sent) => !JSON.stringify(messages).includes("call_1");
  const saysOrCalls = (messages: Sent) =>
    messages.every((message) => !Object.hasOwn(message, "tool_calls") || message.content === null);
  /** As Claude answers now and then. */
  const BLANK: readonly ChatMessage[] = [
    { role: "user", content: "words" },
    { role: "assistant", content: "\n\n", toolCalls: [] },
    { role: "system", content: "Make a call." },
  ];
  const BLANK_BESIDE_CALL: readonly ChatMessage[] = CALLED.map((message) =>
    message.role === "assistant" ? { ...message, content: " \n" } : message,
  );
  const saysWords = (messages: Sent) =>
    messages.every(({ content }) => typeof content !== "string" || /\S/.test(content));
  const saysSomething = (messages: Sent) => messages.every(({ content }) => (content ?? "") !== "");

  test.each<[number, string, readonly ChatMessage[], (messages: Sent) => boolean]>([
    [400, "Invalid 'content': 'content' field must be a string or an array of objects.", CALLED, hasText],
    [422, "body.messages.2.assistant.content: Input should be a valid string", CALLED, hasText],
    [400, "Type mismatch of '/messages/2/content', 'null' not in 'string'", CALLED, hasText],
    [400, "invalid message content type: <nil>", CALLED, hasText],
    [500, "[json.exception.type_error.302] type must be string, but is null", CALLED, hasText],
    [
      400,
      "Json field type error: field content must be of type String, and the actual value is of type Null",
      CALLED,
      hasText,
    ],
    [
      400,
      "invalid request parameters: Requests cannot contain `assistant` role in the final position when `tools` are used.",
      TOLD,
      endsWithUser,
    ],
    [400, 'can only concatenate str (not "NoneType") to str', CALLED, hasText],
    [400, "'NoneType' object is not iterable", CALLED, hasText],
    [500, "'NoneType' object has no attribute 'split'", CALLED, hasText],
    [400, "object of type 'NoneType' has no len()", CALLED, hasText],
    [
      400,
      "The request failed because it is missing `messages.content` parameter. Request id: 0217",
      CALLED,
      hasText,
    ],
    [
      400,
      "Failed to deserialize the JSON body into the target type: messages[2]: missing field `content` at line 1 column 5",
      CALLED,
      hasText,
    ],
    [
      400,
      "1 validation error:\n  {'type': 'missing', 'loc': ('body', 'messages', 2, 'content'), 'msg': 'Field required'}",
      CALLED,
      hasText,
    ],
    [422, "messages[2]: invalid type: null, expected a string at line 1 column 33928", CALLED, hasText],
    [422, "messages[2]: data did not match any variant of untagged enum MessageBody", CALLED, hasText],
    [
      400,
      "messages[2]: data did not match any variant of untagged enum ChatCompletionRequestMessage",
      CALLED,
      hasText,
    ],
    [
      422,
      "messages[2]: data did not match any variant of untagged enum ChatCompletionRequestContent at line 1 column 18254",
      CALLED,
      hasText,
    ],
    [
      400,
      "The text field in the ContentBlock object at messages.2.content.0 is blank. Add text to the text field, and try again.",
      CALLED,
      saysSomething,
    ],
    [
      400,
      "* GenerateContentRequest.contents[2].parts[0].function_response.name: Name cannot be empty.",
      CALLED,
      hasNames,
    ],
    [
      400,
      "messages 中 user（tool） 和 assistant 角色需交替出现 (一问一答)，以 user 提问开始， user（tool）提问结束, tool 可以连续出现多次",
      TURNS,
      takesTurns,
    ],
    [400, "the length of messages must be an odd number", TURNS, takesTurns],
    [422, "body.messages.2.role: Input should be 'user' or 'assistant'", TOLD, hasNoSystem],
    [
      500,
      "Cannot pass both content and thinking in an assistant message with tool calls! Put the analysis message in one or the other, but not both. at row 290, column 178",
      SAID,
      saysOrCalls,
    ],
    [500, "Cannot subscript null at row 23, column 40", CALLED, hasText],
    [500, "Value is not an array or object: null at row 22, column 40", CALLED, saysSomething],
    [400, "conversation complete", TOLD, endsWithUser],
    [
      400,
      "The last message in a Gemini request must not be from the assistant. Ensure the conversation ends with a user or tool message.",
      TOLD,
      endsWithUser,
    ],
    [
      400,
      "messages.2: role 'system' must precede an 'assistant' message or end the array",
      TOLD,
      endsWithUser,
    ],
    [
      400,
      "Invalid type for 'messages[2].content': expected one of a string or array of objects, but got null instead.",
      CALLED,
      hasText,
    ],
    [400, "Message content cannot be empty", CALLED, saysSomething],
    [400, "messages[2].content 不能为空", CALLED, saysSomething],
    [
      400,
      "Invalid 'messages[2].tool_calls[0].id': 'call_1.'. Expected an ID that contains letters, numbers, underscores, or dashes, but this value contained additional characters.",
      CALLED,
      hasShortIds,
    ],
    [
      400,
      "This model does not support assistant message prefill. The conversation must end with a user message.",
      TOLD,
      endsWithUser,
    ],
    [
      400,
      "Expected last role User or Tool (or Assistant with prefix True) for serving but got system",
      TOLD,
      endsWithUser,
    ],
    [400, "messages: final assistant content cannot end with trailing whitespace", TOLD, endsWithUser],
    [400, "A conversation must alternate between user and assistant roles.", TOLD, endsWithUser],
    [
      400,
      "After the (optional) system message(s), user and assistant roles should be alternating.",
      TOLD,
      endsWithUser,
    ],
    [
      400,
      "Please ensure that multiturn requests end with a user role or a function response.",
      TOLD,
      endsWithUser,
    ],
    [400, "Please ensure that multiturn requests alternate between user and model.", TOLD, endsWithUser],
    [400, "Assistant message must have either content or tool_calls, but not both.", SAID, saysOrCalls],
    [
      400,
      "text content is not allowed when tool_calls are provided. If you wish to pass a tool plan, either pass thinking content (with thinking enabled) or use 'tool_plan': 'messages[2].content[0]'",
      SAID,
      saysOrCalls,
    ],
    [
      400,
      "Please ensure that function call turn comes immediately after a user turn or after a function response turn.",
      TOLD,
      endsWithUser,
    ],
    [
      400,
      "deepseek-reasoner does not support successive user or assistant messages (messages[1] and messages[2] in your input). You should interleave the user/assistant messages in the message sequence.",
      TOLD,
      endsWithUser,
    ],
    [400, "Invalid request content: Each message must have at least one content element.", CALLED, hasText],
    [400, "Invalid request content: Each message must have at least one content element.", EMPTY, isFull],
    [
      400,
      "An empty message was provided. Every message needs at least one non-empty content element.",
      CALLED,
      saysSomething,
    ],
    [400, "Param Incorrect: `text` is not present", CALLED, saysSomething],
    [400, "Param Incorrect: `text` is not set", EMPTY, isFull],
    [400, "invalid params, chat content is empty (2013)", CALLED, saysSomething],
    [400, "invalid params, chat content is empty (2013)", EMPTY, isFull],
    [
      400,
      "Invalid request: the message at position 2 with role 'assistant' must not be empty",
      EMPTY,
      isFull,
    ],
    [
      400,
      "Unable to submit request because it must include at least one parts field, which describes the prompt input.",
      EMPTY,
      isFull,
    ],
    [400, "Assistant message must contain either 'content' or 'tool_calls'!", EMPTY, isFull],
    [400, "Invalid assistant message: role='assistant' content=None tool_calls=None", EMPTY, isFull],
    [400, "assistant messages must include non-empty content or tool_calls", EMPTY, isFull],
    [400, "messages: text content blocks must be non-empty", CALLED, saysSomething],
    [400, "messages: text content blocks must be non-empty", EMPTY, saysSomething],
    [400, "messages: text content blocks must contain non-whitespace text", BLANK, saysWords],
    [400, "messages: text content blocks must contain non-whitespace text", BLANK_BESIDE_CALL, saysWords],
    [400, "The text field in the ContentBlock object at messages.1.content.0 is blank.", BLANK, saysWords],
    [400, "invalid request: message at index 1 must have content or tool_calls", EMPTY, isFull],
    [
      400,
      "The content field in the Message object at messages.2 is empty. Add a ContentBlock object to the content field and try again.",
      CALLED,
      saysSomething,
    ],
  ])("%i %s", async (status, message, messages, isTaken) => {
    const server = await startRawServer((response, request) => {
      if (isTaken(messagesOf(request))) json(response, choice({ content: "x" }));
      else json(response, { error: { message } }, status);
    });
    const model = createChatModel();
    await ask(server.baseUrl, {}, messages, model);
    const asked = server.requests.length;
    await ask(server.baseUrl, {}, messages, model);
    expect(server.requests).toHaveLength(asked + 1);
    expect(asked).toBeLessThan(4);
  });

  test.each([
    [
      400,
      { error: { message: "Extra inputs are not permitted, field: 'messages[1].provider_specific_fields'" } },
    ],
    [
      422,
      {
        detail: [
          { loc: ["body", "messages", 1, "provider_specific_fields"], msg: "Extra inputs are not permitted" },
        ],
      },
    ],
    [
      400,
      {
        error: {
          message: "Additional properties are not allowed ('provider_specific_fields' was unexpected)",
        },
      },
    ],
    [400, { error: { message: 'json: unknown field "provider_specific_fields"' } }],
    [400, { error: { message: "Unrecognized key(s) in object: 'provider_specific_fields'" } }],
    [400, { error: { message: "property 'provider_specific_fields' is unsupported" } }],
  ])("without a field that it has made itself and refuses: %i %j", async (status, refusal) => {
    const own = { provider_specific_fields: { a: 1 } };
    const call = { id: "c", type: "function", function: { name: "x", arguments: "{}", ...own }, ...own };
    const message = { content: null, tool_calls: [call], reasoning_content: "hm", ...own };
    const server = await startRawServer((response, request) => {
      const isSent = JSON.stringify(messagesOf(request)).includes("provider_specific_fields");
      if (isSent) json(response, refusal, status);
      else json(response, choice(message, "tool_calls"));
    });
    const model = createChatModel();
    const { content, toolCalls, provider } = await ask(server.baseUrl, {}, [], model);
    const messages: readonly ChatMessage[] = [
      { role: "assistant", content, toolCalls, ...(provider === undefined ? {} : { provider }) },
      { role: "tool", toolCallId: "c", content: "{}" },
    ];
    await ask(server.baseUrl, {}, messages, model);
    await ask(server.baseUrl, {}, messages, model);
    expect(server.requests).toHaveLength(4);
    expect(messagesOf(server.requests[3])[0]).toMatchObject({ reasoning_content: "hm" });
  });

  test.each(["plain", "deepseek"] as const)(
    "without thoughts that it asks to remove: %s",
    async (dialect) => {
      const message =
        "The reasoning_content is an intermediate result for display purposes only and will not be included in the context for inference. Please remove the reasoning_content from your message to reduce network traffic.";
      const server = await startRawServer((response, request) => {
        const isSent = JSON.stringify(messagesOf(request)).includes("reasoning_content");
        if (isSent) json(response, { error: { message, code: "invalid_request_error" } }, 400);
        else json(response, choice({ content: "x", reasoning_content: "hm" }));
      });
      const model = createChatModel();
      const { content, toolCalls, provider } = await ask(server.baseUrl, { dialect }, [], model);
      if (provider === undefined) throw new Error("It has no thoughts.");
      const messages: readonly ChatMessage[] = [{ role: "assistant", content, toolCalls, provider }];
      await ask(server.baseUrl, { dialect }, messages, model);
      await ask(server.baseUrl, { dialect }, messages, model);
      expect(server.requests).toHaveLength(4);
    },
  );

  test.each([
    [400, "Invalid 'content' type. Expected one of: ['str'], got list."],
    [
      400,
      "Failed to deserialize the JSON body into the target type: messages[0]: invalid type: sequence, expected a string",
    ],
    [422, "messages[0]: data did not match any variant of untagged enum ChatCompletionRequestContent"],
    [
      400,
      "AiError: Bad input: Error: oneOf at '/' not met, Type mismatch of '/messages/0/content', 'array' not in 'string'",
    ],
    [400, "json: cannot unmarshal array into Go struct field Message.messages.content of type string"],
    [500, 'can only concatenate str (not "list") to str'],
    [400, "messages.0.content must be a string"],
  ])("without the parts of a text that it has given and refuses: %i %s", async (status, message) => {
    const parts = [
      { type: "reasoning", summary: [{ type: "summary_text", text: "hm" }] },
      { type: "text", text: "Which?" },
    ];
    const server = await startRawServer((response, request) => {
      const isText = messagesOf(request).every((said) => typeof said.content === "string");
      if (isText) json(response, choice({ content: parts, reasoning: "hm" }));
      else json(response, { error: { message } }, status);
    });
    const model = createChatModel();
    const { content, toolCalls, provider } = await ask(server.baseUrl, {}, [], model);
    const messages: readonly ChatMessage[] = [
      { role: "assistant", content, toolCalls, ...(provider === undefined ? {} : { provider }) },
      { role: "user", content: "The blue one." },
    ];
    await ask(server.baseUrl, {}, messages, model);
    await ask(server.baseUrl, {}, messages, model);
    expect(server.requests).toHaveLength(4);
    expect(messagesOf(server.requests[3])[0]).toEqual({
      role: "assistant",
      content: "Which?",
      reasoning: "hm",
    });
  });

  test("and without a name that it has given itself", async () => {
    const server = await startRawServer((response, request) => {
      const isNamed = messagesOf(request).some((said) => Object.hasOwn(said, "name"));
      const message =
        "body.messages.0.assistant.name: property 'body.messages.0.assistant.name' is unsupported";
      if (isNamed) json(response, { message }, 400);
      else json(response, choice({ content: "Which?", name: "MiniMax AI" }));
    });
    const model = createChatModel();
    const { content, toolCalls, provider } = await ask(server.baseUrl, {}, [], model);
    if (provider === undefined) throw new Error("nothing was kept");
    expect(
      await ask(server.baseUrl, {}, [{ role: "assistant", content, toolCalls, provider }], model),
    ).toMatchObject({ content: "Which?" });
  });

  test("and roles that alternate but for calls have an assistant's word behind a result", async () => {
    const message =
      "Jinja Exception: After the optional system message, conversation roles must alternate user and assistant roles except for tool calls and results.";
    const server = await startRawServer((response, { body }) => {
      const { messages } = body as { messages: { role: string; tool_calls?: unknown }[] };
      const [first, ...rest] = messages.filter(({ role, tool_calls: calls }) => role !== "tool" && !calls);
      const roles = (first?.role === "system" ? rest : [first, ...rest]).map((said) => said?.role);
      const isTaken = roles.every((role, index) => role === (index % 2 === 0 ? "user" : "assistant"));
      if (isTaken) json(response, choice({ content: "x" }));
      else json(response, { error: { code: 500, message, type: "server_error" } }, 500);
    });
    const messages: readonly ChatMessage[] = [
      { role: "system", content: "rules" },
      { role: "system", content: "persona" },
      { role: "user", content: "directive" },
      { role: "user", content: "brief" },
      { role: "assistant", content: "", toolCalls: [{ id: "a", name: "x", argumentsJson: "{}" }] },
      { role: "tool", toolCallId: "a", content: "{}" },
      { role: "system", content: "Do not repeat yourself." },
    ];
    const model = createChatModel();
    await ask(server.baseUrl, {}, messages, model);
    await ask(server.baseUrl, { dialect: "llama.cpp" }, messages, model);
    expect(server.requests.length).toBeLessThan(5);
    expect(messagesOf(server.requests.at(-1)).map(({ role }) => role)).toEqual([
      "system",
      "user",
      "assistant",
      "tool",
      "assistant",
      "user",
    ]);
  });

  test.each([
    [500, "This model only supports single tool-calls at once!"],
    [400, "Only a single tool call is supported per message"],
    [
      400,
      "Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.",
    ],
  ])("and several calls of an answer go back one by one: %i %s", async (status, message) => {
    const server = await startRawServer((response, { body }) => {
      const { messages } = body as { messages: { tool_calls?: unknown[] }[] };
      const isTaken = messages.every(({ tool_calls: calls = [] }) => calls.length < 2);
      if (isTaken) json(response, choice({ content: "x" }));
      else json(response, { error: { message } }, status);
    });
    const made = (id: string) => ({ id, name: "x", argumentsJson: "{}" });
    const result = (toolCallId: string): ChatMessage => ({ role: "tool", toolCallId, content: toolCallId });
    const endpoint = `${server.baseUrl}/chat/completions`;
    const provider = {
      endpoint,
      dialect: "plain",
      message: { reasoning_content: "hm" },
      calls: [{ sign: 1 }, { sign: 2 }],
    };
    const messages: readonly ChatMessage[] = [
      { role: "user", content: "words" },
      { role: "assistant", content: "", own: true, toolCalls: [made("a"), made("b")] },
      result("a"),
      result("b"),
      { role: "assistant", content: "So:", toolCalls: [made("c"), made("d")], provider },
      result("c"),
      result("d"),
      { role: "assistant", content: "And?", toolCalls: [] },
      { role: "user", content: "more" },
    ];
    const model = createChatModel();
    await ask(server.baseUrl, {}, messages, model);
    await ask(server.baseUrl, {}, messages, model);
    expect(server.requests).toHaveLength(3);
    const call = (id: string, more = {}) => [
      { id, type: "function", function: { name: "x", arguments: "{}" }, ...more },
    ];
    const told = (id: string) => ({ role: "tool", tool_call_id: id, content: id });
    expect(messagesOf(server.requests[2])).toEqual([
      { role: "user", content: "words" },
      { role: "assistant", content: null, tool_calls: call("a") },
      told("a"),
      { role: "assistant", content: null, tool_calls: call("b") },
      told("b"),
      { role: "assistant", content: "So:", reasoning_content: "hm", tool_calls: call("c", { sign: 1 }) },
      told("c"),
      { role: "assistant", content: null, tool_calls: call("d", { sign: 2 }) },
      told("d"),
      { role: "assistant", content: "And?" },
      { role: "user", content: "more" },
    ]);
  });

  test.each<[string, (sent: string) => boolean]>([
    ["several calls at once", (sent) => !sent.includes('}},{"id":"b"')],
    ["a system message in the middle", (sent) => !/"role":"assistant".*"role":"system"/u.test(sent)],
  ])(
    "and a template that does not say what it refuses is shown what most of them take: %s",
    async (_, isTaken) => {
      const server = await startRawServer((response, request) => {
        const message =
          "Template error: (unknown path) [Line 77, Column 31]\n  Error: Unable to call `raise_exception`, which is undefined or falsey";
        if (isTaken(JSON.stringify(messagesOf(request)))) json(response, choice({ content: "x" }));
        else
          json(
            response,
            { id: "9", error: { message, type: "invalid_request_error", param: "messages" } },
            400,
          );
      });
      const model = createChatModel();
      const made = (id: string) => ({ id, name: "x", argumentsJson: "{}" });
      const messages: readonly ChatMessage[] = [
        { role: "system", content: "rules" },
        { role: "user", content: "words" },
        { role: "assistant", content: "", toolCalls: [made("a"), made("b")] },
        { role: "tool", toolCallId: "a", content: "{}" },
        { role: "tool", toolCallId: "b", content: "{}" },
        { role: "system", content: "Do not repeat yourself." },
      ];
      await ask(server.baseUrl, {}, messages, model);
      const asked = server.requests.length;
      await ask(server.baseUrl, {}, messages, model);
      expect(asked).toBeLessThan(4);
      expect(server.requests).toHaveLength(asked + 1);
    },
  );

  describe("where nobody here knows the words, by what they are about", () => {
    const isSaid = ({ content }: Sent[number]) => typeof content === "string" && /\S/.test(content);
    const saysAll = (messages: Sent) =>
      messages.every((message) => Object.hasOwn(message, "tool_calls") || isSaid(message));
    const startsWithUser = (messages: Sent) =>
      messages.find(({ role }) => role !== "system")?.role === "user";
    const READ: readonly ChatMessage[] = [
      { role: "assistant", content: "", own: true, toolCalls: [{ id: "a", name: "x", argumentsJson: "{}" }] },
      { role: "tool", toolCallId: "a", content: "{}" },
      { role: "user", content: "words" },
    ];

    test.each<[string, readonly ChatMessage[], (messages: Sent) => boolean]>([
      [
        "Unable to submit request because it must have a text parameter. Add one and try again.",
        EMPTY,
        saysAll,
      ],
      ["Unable to submit request because it has an empty text parameter.", EMPTY, saysAll],
      ["String should have at least 1 character (messages -> 1 -> content)", EMPTY, saysAll],
      ["'' is too short - 'messages.1.content'", EMPTY, saysAll],
      ["all elements in history must have a message.", EMPTY, saysAll],
      ["消息内容为空", EMPTY, saysAll],
      ["consecutive messages with the same role are not allowed", TURNS, takesTurns],
      ["message roles must strictly alternate", TURNS, takesTurns],
      ["A conversation must start with a user message. Try again with one that does.", READ, startsWithUser],
      ["First message must be from user", READ, startsWithUser],
      ["system messages are not supported with this model", TURNS, hasNoSystem],
      ["Input tag 'system' found using 'role' does not match any of the expected tags", TURNS, hasNoSystem],
    ])("%s", async (message, messages, isTaken) => {
      const server = await startRawServer((response, request) => {
        if (isTaken(messagesOf(request))) json(response, choice({ content: "x" }));
        else json(response, { error: { message } }, 400);
      });
      const model = createChatModel();
      await ask(server.baseUrl, {}, messages, model);
      const asked = server.requests.length;
      await ask(server.baseUrl, {}, messages, model);
      expect(server.requests).toHaveLength(asked + 1);
      expect(asked).toBeLessThan(6);
    });

    test("and a field of the refusal that is null says nothing of a null in the request", async () => {
      const error = { message: "Client disconnected", type: "BadRequestError", param: null, code: 400 };
      const server = await startRawServer((response) => json(response, { error }, 400));
      expect((await errorOf(ask(server.baseUrl, {}, CALLED))).message).toContain("Client disconnected");
      expect(server.requests).toHaveLength(1);
    });

    test.each([
      [400, "max_tokens is more than this model has for its text", 1],
      [400, "The model of this content is not served here.", 1], // nothing of the request is empty
      [401, "Who are you? Say so in the content.", 1],
      [400, "Insufficient balance for system messages. Please recharge.", 1],
    ])(
      "and a refusal that none helps against is told as it was, once all was tried: %i %s",
      async (status, message, most) => {
        const server = await startRawServer((response) => json(response, { error: { message } }, status));
        const model = createChatModel();
        const error = await errorOf(ask(server.baseUrl, { maxTokens: 5 }, TOLD, model));
        expect(error.retryable).toBe(false);
        expect(error.message).toContain(message);
        expect(server.requests.length).toBeLessThanOrEqual(most);
      },
    );
  });

  test("and one that takes no form at all is asked a few times, not for ever", async () => {
    const message =
      "System role not supported. Conversation roles must alternate. System message must be at the beginning. After role 'tool' content must not be empty: null. arguments must be JSON. text content blocks must be non-empty, content should be a string. stream=false: streaming is not supported";
    const server = await startRawServer((response) => json(response, { error: { message } }, 400));
    expect(await errorOf(ask(server.baseUrl, {}, CALLED))).toMatchObject({ retryable: false });
    expect(server.requests.length).toBeLessThan(10);
  });
});

describe("the schemas of tools of others", () => {
  const PLACE = { type: "object", properties: { url: { type: "string", format: "uri" } }, required: ["url"] };
  const PARAMETERS = {
    $schema: "http://json-schema.org/draft-07/schema#",
    $defs: { Place: PLACE, Tree: { type: "object", properties: { below: { $ref: "#/$defs/Tree" } } } },
    type: "object",
    description: "d",
    properties: {
      at: { $ref: "#/$defs/Place", description: "where" },
      tree: { $ref: "#/$defs/Tree" },
      since: { type: ["string", "null"], format: "date", pattern: "^\\d+$", default: null },
      value: { type: ["string", "integer"], description: "v" },
      mode: { const: "fast" },
      size: { enum: ["s", "", "l"], maxLength: 3 },
      count: { type: "integer", enum: [1, 2], minimum: 1, exclusiveMaximum: 3 },
      line: { type: "integer", minimum: 1, maximum: 9_007_199_254_740_991 },
      micros: { type: "integer", minimum: -9_223_372_036_854_775_808, maximum: 1_000_000 },
      maybe: { anyOf: [{ $ref: "#/$defs/Place" }, { type: "null" }] },
      either: { description: "e", oneOf: [{ type: "string" }, PLACE] },
      both: { allOf: [PLACE, { properties: { name: { type: "string" } }, required: ["name", "gone"] }] },
      list: { type: "array", maxItems: 100 },
      pair: { type: "array", prefixItems: [{ type: "number" }], not: {} },
      any: { not: {} },
      level: { enum: [1, 2, null] },
      text: { type: "string", anyOf: [{ format: "uri" }, { pattern: "^a" }] },
      nested: {
        description: "n",
        anyOf: [{ oneOf: [{ type: "string" }, { type: "boolean" }] }, { type: "number" }],
      },
      gates: {
        type: "object",
        propertyNames: { enum: ["qa", "ui"] },
        additionalProperties: { enum: ["PASS"] },
      },
      $ref: { type: "string" },
    },
    required: ["at", "absent"],
    additionalProperties: false,
    anyOf: [{ required: ["at"] }, { properties: { extra: { type: "boolean" } }, required: ["extra"] }],
  };
  const ANY = [
    { type: "string" },
    { type: "number" },
    { type: "boolean" },
    { type: "object" },
    { type: "array", items: { type: "string" } },
  ];
  const URL_ALONE = { type: "object", properties: { url: { type: "string" } }, required: ["url"] };
  const PLAIN = {
    type: "object",
    description: "d",
    properties: {
      at: { ...URL_ALONE, description: "where" },
      tree: { type: "object", properties: { below: { type: "object" } } },
      since: { type: "string" },
      value: { anyOf: [{ type: "string", description: "v" }, { type: "integer" }] },
      mode: { type: "string", enum: ["fast"] },
      size: { type: "string", enum: ["s", "l"] },
      count: { type: "integer", minimum: 1 },
      line: { type: "integer", minimum: 1 },
      micros: { type: "integer", maximum: 1_000_000 },
      maybe: URL_ALONE,
      either: { anyOf: [{ type: "string", description: "e" }, URL_ALONE] },
      both: {
        type: "object",
        properties: { url: { type: "string" }, name: { type: "string" } },
        required: ["url", "name"],
      },
      list: { type: "array", items: { type: "string" } },
      pair: { type: "array", items: { type: "number" } },
      any: { anyOf: ANY },
      level: { type: "number" },
      text: { anyOf: [{ type: "string" }, { type: "string" }] },
      nested: { anyOf: [{ type: "string", description: "n" }, { type: "boolean" }, { type: "number" }] },
      gates: {
        type: "object",
        properties: { qa: { type: "string", enum: ["PASS"] }, ui: { type: "string", enum: ["PASS"] } },
      },
      $ref: { type: "string" },
      extra: { type: "boolean" },
    },
    required: ["at"],
  };
  const offering = (parameters: Record<string, unknown>) => [
    { type: "function" as const, function: { name: "mcp_x_y", description: "d", parameters } },
  ];
  const parametersIn = ({ body }: RawRequest) =>
    (body as { tools: { function: { parameters: unknown } }[] }).tools[0]?.function.parameters;
  const asked = (baseUrl: string, parameters: Record<string, unknown>, settings: Partial<ModelSettings>) =>
    createChatModel().complete({
      settings: { model: "m", baseUrl, stream: false, timeoutMs: 30_000, ...settings },
      messages: [],
      tools: offering(parameters),
      signal: new AbortController().signal,
    });

  test("are told to Gemini in the words that it knows", async () => {
    const server = await startRawServer((response) => json(response, choice({ content: "x" })));
    await asked(server.baseUrl, PARAMETERS, { dialect: "gemini" });
    expect(server.requests.map(parametersIn)).toEqual([PLAIN]);
  });

  test.each<[number, string]>([
    [400, "Invalid JSON payload received. Unknown name \"$schema\" at 'tools[0]': Cannot find field."],
    [
      400,
      "* GenerateContentRequest.tools[0].function_declarations[7].parameters.properties[url].format: only 'enum' and 'date-time' are supported for STRING type",
    ],
    [
      400,
      "Invalid request: tools.function.parameters is not a valid moonshot flavored json schema, details: <At path 'root': when using anyOf, type should be defined in anyOf items instead of the parent schema>",
    ],
    [
      400,
      "Invalid schema for function 'mcp_x_y': In context=('properties', 'data'), 'allOf' is not permitted.",
    ],
    [
      400,
      "tools.0.custom.input_schema: input_schema does not support oneOf, allOf, or anyOf at the top level",
    ],
    [
      400,
      "Json document validation error: tools[0].function.parameters: at '/properties/a/type': value must be one of 'array', 'boolean', 'integer', 'null', 'number', 'object', 'string'",
    ],
    [400, "JSON schema conversion failed:\nPattern must start with '^' and end with '$'"],
    [500, 'JSON schema conversion failed:\nUnrecognized schema: {"not":{}}'],
    [400, "Failed to initialize samplers: failed to parse grammar"],
    [400, "Grammar error: Unknown format: uri"],
    [400, "tools.3.custom.input_schema: int too big to convert"],
    [400, "Invalid fields for schema with types ['array']: {'minItems', 'maxItems'}"],
    [400, "Invalid function format: unhashable type: 'list'"],
    [400, "Function x has invalid 'parameters' schema: 'minLength' is not supported"],
    [400, "Tools schema: Field 'minLength' is not supported for this model."],
    [400, "Proto field is not repeating, cannot start list."],
    [400, "Error in applying chat template from request: unhashable type: 'list'"],
  ])("are learned to be refused: %i %s", async (status, message) => {
    const server = await startRawServer((response, { body }) => {
      const isTaken = !JSON.stringify(body).includes("$schema");
      if (isTaken) json(response, choice({ content: "x" }));
      else json(response, { error: { message } }, status);
    });
    await asked(server.baseUrl, PARAMETERS, {});
    expect(server.requests.map(parametersIn)).toEqual([PARAMETERS, PLAIN]);
  });

  test.each([
    "Invalid 'tools[0].function.description': string too long. Expected a string with maximum length 1024, but got a string with length 2000 instead.",
    "litellm.ContextWindowExceededError: AzureException - Invalid 'tools[0].function.description': string too long. Expected a string with maximum length 1024",
    "Value at 'toolConfig.tools.1.member.toolSpec.description' failed to satisfy constraint: Member must have length less than or equal to 1024",
  ])("are described at less length where a server refuses it, from then on: %s", async (message) => {
    const descriptionIn = ({ body }: RawRequest) =>
      (body as { tools: { function: { description: string } }[] }).tools[0]?.function.description ?? "";
    const server = await startRawServer((response, request) => {
      if (descriptionIn(request).length <= 1_024) json(response, choice({ content: "x" }));
      else json(response, { error: { message } }, 400);
    });
    const model = createChatModel();
    const description = "How it is called. ".repeat(120);
    for (const dialect of ["plain", "openai"] as const) {
      await model.complete({
        settings: { model: "m", baseUrl: server.baseUrl, stream: false, timeoutMs: 30_000, dialect },
        messages: [],
        tools: [{ type: "function", function: { name: "mcp_x_y", description, parameters: PARAMETERS } }],
        signal: new AbortController().signal,
      });
    }
    expect(server.requests).toHaveLength(3);
    const sent = server.requests.map(descriptionIn).map((text) => [text.length, text.slice(0, 17)]);
    expect(sent).toEqual([
      [description.length, "How it is called."],
      [1_024, "How it is called."],
      [1_024, "How it is called."],
    ]);
    expect(server.requests.map(parametersIn)).toEqual([PARAMETERS, PARAMETERS, PARAMETERS]);
  });

  test("have a type in each place, and nothing beside alternatives, as Gemini and Kimi want it", async () => {
    const partsOf = (schema: Record<string, unknown>): readonly Record<string, unknown>[] => {
      const { properties = {}, items = [], anyOf = [] } = schema as Record<string, object>;
      return [
        schema,
        ...[...Object.values(properties), items, ...Object.values(anyOf)].flat().flatMap(partsOf),
      ];
    };
    const server = await startRawServer((response) => json(response, choice({ content: "x" })));
    const hard = {
      type: "object",
      properties: {
        none: true,
        words: { description: "any" },
        list: { type: "array", items: {} },
        both: { description: "b", $ref: "#/$defs/Either" },
        one: { description: "o", anyOf: [{ type: ["string", "number"] }, { type: "null" }] },
      },
      $defs: { Either: { oneOf: [{ type: "string" }, { description: "?" }] } },
    };
    await asked(server.baseUrl, hard, { dialect: "gemini" });
    const parts = server.requests
      .map(parametersIn)
      .flatMap((sent) => partsOf(sent as Record<string, unknown>));
    expect(parts.length).toBeGreaterThan(20);
    expect(
      parts.filter(({ type, anyOf, ...rest }) =>
        anyOf === undefined ? type === undefined : type !== undefined || Object.keys(rest).length > 0,
      ),
    ).toEqual([]);
  });

  test("cannot grow without end: each reference names two more", async () => {
    const $defs = Object.fromEntries(
      Array.from({ length: 40 }, (_, index) => [
        `d${index}`,
        {
          type: "object",
          properties: { a: { $ref: `#/$defs/d${index + 1}` }, b: { $ref: `#/$defs/d${index + 1}` } },
        },
      ]),
    );
    const server = await startRawServer((response) => json(response, choice({ content: "x" })));
    await asked(server.baseUrl, { $defs, $ref: "#/$defs/d0" }, { dialect: "gemini" });
    expect(JSON.stringify(server.requests[0]?.body).length).toBeLessThan(1_000_000);
  });
});

describe("rules", () => {
  const MESSAGES: readonly ChatMessage[] = [
    { role: "system", content: "rules" },
    { role: "system", content: "persona" },
    { role: "user", content: "directive" },
    { role: "user", content: "brief" },
  ];
  const rolesAndTexts = (request: RawRequest | undefined) =>
    messagesOf(request).map(({ role, content }) => `${role}: ${content}`);

  test.each(["llama.cpp", "vllm", "ollama", "lm-studio"] as const)(
    "are one message for %s: templates take one, the first",
    async (dialect) => {
      const server = await startRawServer((response) => json(response, choice({ content: "x" })));
      await ask(server.baseUrl, { dialect }, MESSAGES);
      const expected = ["system: rules\n\npersona", "user: directive", "user: brief"];
      expect(rolesAndTexts(server.requests[0])).toEqual(expected);
    },
  );

  test.each<[number, string, readonly string[]]>([
    [400, "System role not supported", ["user: rules\n\npersona\n\ndirective", "user: brief"]],
    [
      400,
      "Unsupported value: 'messages[0].role' does not support 'system' with this model.",
      ["user: rules\n\npersona\n\ndirective", "user: brief"],
    ],
    [
      400,
      "Developer instruction is not enabled for models/gemma-3-27b-it",
      ["user: rules\n\npersona\n\ndirective", "user: brief"],
    ],
    [
      500,
      "System message must be at the beginning.",
      ["system: rules\n\npersona", "user: directive", "user: brief"],
    ],
    [
      400,
      "Only one system message can be specified.",
      ["system: rules\n\npersona", "user: directive", "user: brief"],
    ],
    [
      400,
      "Requests with more than one system message are not supported",
      ["system: rules\n\npersona", "user: directive", "user: brief"],
    ],
    [
      400,
      "INVALID_PARAMETER_VALUE: Gemini models only support one system prompt.",
      ["system: rules\n\npersona", "user: directive", "user: brief"],
    ],
    [
      400,
      "Multiple system messages are not supported",
      ["system: rules\n\npersona", "user: directive", "user: brief"],
    ],
    [
      400,
      "invalid params, invalid chat setting (2013)",
      ["system: rules\n\npersona", "user: directive", "user: brief"],
    ],
    [
      400,
      "invalid params, chat content has invalid message role: system (2013)",
      ["system: rules\n\npersona", "user: directive", "user: brief"],
    ],
    [
      400,
      "After the optional system message, conversation roles must alternate user/assistant/user/assistant/...",
      ["system: rules\n\npersona", "user: directive\n\nbrief"],
    ],
  ])("stand where the server takes them, from then on: %i %s", async (status, message, expected) => {
    const server = await startRawServer((response, { body }) => {
      const { messages } = body as { messages: { role: string; content: string }[] };
      const isTaken = messages.map(({ role, content }) => `${role}: ${content}`).join() === expected.join();
      if (isTaken) json(response, choice({ content: "x" }));
      else json(response, { object: "error", message, type: "BadRequestError", code: status }, status);
    });
    const model = createChatModel();
    await ask(server.baseUrl, {}, MESSAGES, model);
    await ask(server.baseUrl, {}, MESSAGES, model);
    expect(server.requests).toHaveLength(3);
    expect(rolesAndTexts(server.requests[2])).toEqual(expected);
  });
});

test.each(["", "/", "/chat/completions", "/chat/completions/"])(
  "a base URL may end in %j, with a query behind it",
  async (end) => {
    const server = await startRawServer((response) => json(response, choice({ content: "x" })));
    await ask(`${server.baseUrl}${end}?api-version=2024-10-21`);
    expect(server.requests[0]?.url).toBe("/v1/chat/completions?api-version=2024-10-21");
  },
);
