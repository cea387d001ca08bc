import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { type Socket, createServer } from "node:net";
import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";
import { describe, expect, test, onTestFinished } from "vitest";
import { FILE_FUNCTION_TOOLS } from "../../src/core/tools/tool-specs.js";
import type { ChatMessage, ChatRequest, ModelSettings } from "../../src/model/chat.js";
import { createChatModel } from "../../src/model/chat-model.js";
import { ModelError } from "../../src/model/model-error.js";
import { call } from "../fakes/scripted-model.js";
import { ScriptedModel } from "../fakes/scripted-model.js";
import { startRawServer } from "./raw-server.js";
import { listen } from "../fakes/listen.js";
import { freePort } from "../fakes/free-port.js";

const MESSAGES: readonly ChatMessage[] = [
  { role: "system", content: "rules" },
  { role: "user", content: "words" },
];

function request(
  baseUrl: string,
  settings: Partial<ModelSettings> = {},
  more: Partial<ChatRequest> = {},
): ChatRequest {
  return {
    settings: { model: "m", baseUrl, apiKey: "test-key", stream: false, timeoutMs: 10_000, ...settings },
    messages: MESSAGES,
    tools: [],
    signal: new AbortController().signal,
    ...more,
  };
}

/** Who waits for nothing that need not come. */
const impatient = () => createChatModel({ patience: { lastWordsMs: 1, errorWordsMs: 100 } });

async function errorOf(wanted: ChatRequest, model = createChatModel()): Promise<ModelError> {
  const error: unknown = await model.complete(wanted).catch((caught: unknown) => caught);
  if (!(error instanceof ModelError)) throw new Error(`no model error: ${String(error)}`);
  return error;
}

const json = (response: ServerResponse, value: unknown) => {
  response.writeHead(200, { "content-type": "application/json" });
  response.end(typeof value === "string" ? value : JSON.stringify(value));
};
const choice = (message: unknown, finishReason: unknown = "stop") => ({
  model: "m-1",
  choices: [{ index: 0, message, finish_reason: finishReason }],
  usage: { prompt_tokens: 3, completion_tokens: 4 },
});
const events = (response: ServerResponse, chunks: readonly unknown[], end = true) => {
  response.writeHead(200, { "content-type": "text/event-stream" });
  for (const chunk of chunks)
    response.write(`data: ${typeof chunk === "string" ? chunk : JSON.stringify(chunk)}\n\n`);
  if (end) response.end();
};
const delta = (value: unknown, finishReason: unknown = null) => ({
  choices: [{ index: 0, delta: value, finish_reason: finishReason }],
});

describe.each([false, true])("an answer, streamed: %s", (stream) => {
  test("with text", async () => {
    const model = await ScriptedModel.start([{ content: "Two\nlines é \u{1f600}" }]);
    const answer = await createChatModel().complete(request(model.baseUrl, { stream }));
    await model.close();
    expect(answer).toEqual({
      content: "Two\nlines é \u{1f600}",
      toolCalls: [],
      finishReason: "stop",
      usage: { promptTokens: 100, completionTokens: 10 },
      model: "m",
    });
  });

  test("with calls, each whole and in order", async () => {
    const args = { path: "@project/é", content: "x".repeat(1_000) };
    const model = await ScriptedModel.start([
      {
        calls: [
          { ...call("fs_write", args), id: "b" },
          { ...call("fs_list", "{ not json"), id: "a" },
        ],
        content: "so",
      },
    ]);
    const answer = await createChatModel().complete(
      request(model.baseUrl, { stream }, { tools: FILE_FUNCTION_TOOLS }),
    );
    await model.close();
    expect(answer).toMatchObject({
      content: "so",
      finishReason: "tool_calls",
      toolCalls: [
        { id: "b", name: "fs_write", argumentsJson: JSON.stringify(args) },
        { id: "a", name: "fs_list", argumentsJson: "{ not json" },
      ],
    });
    expect(model.requests[0]?.tools).toHaveLength(5);
  });
});

describe("a stream that breaks off without a word of why", () => {
  const streams = ({ body }: { readonly body: unknown }) => /"stream":true/.test(JSON.stringify(body));
  const refuse = (response: ServerResponse, status: number, message: string) => {
    response.writeHead(status, { "content-type": "application/json" });
    response.end(JSON.stringify({ detail: message }));
  };

  test("is asked for whole, which says why: a connection that ends behind its headers", async () => {
    const server = await startRawServer((response, asked) => {
      if (!streams(asked)) return refuse(response, 401, "Incorrect API key provided");
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.flushHeaders();
      response.destroy();
    });
    const error = await errorOf(request(server.baseUrl, { stream: true }));
    expect(error).toMatchObject({ code: "LLM_AUTH_FAILED", retryable: false });
    expect(server.requests.map(streams)).toEqual([true, false]);
  });

  test("is asked for whole, which says why: an answer of nothing", async () => {
    const words = "This model's maximum context length is 1024 tokens, however you requested 1500 tokens";
    const server = await startRawServer((response, asked) =>
      streams(asked) ? events(response, []) : refuse(response, 400, words),
    );
    const error = await errorOf(request(server.baseUrl, { stream: true }));
    expect(error).toMatchObject({ code: "LLM_CONTEXT_EXCEEDED", contextTokens: 1_024 });
  });

  test("is given up for whole answers at the second time, where no stream of the model's has ever told its end", async () => {
    const notes: string[] = [];
    const pieces: string[] = [];
    const server = await startRawServer((response, asked) =>
      streams(asked)
        ? events(response, [delta({ content: "Wh" })])
        : json(response, choice({ content: "Which?" })),
    );
    const model = createChatModel({ note: (sentence) => notes.push(sentence) });
    const asked = request(server.baseUrl, { stream: true }, { onPiece: ({ type }) => pieces.push(type) });
    for (const _ of "123") expect(await model.complete(asked)).toMatchObject({ content: "Which?" });
    expect(server.requests.map(streams)).toEqual([true, false, true, false, false]);
    expect(notes).toEqual([expect.stringContaining("the stream ended early")]);
    expect(pieces.at(-1)).toBe("restart");
  });

  test("is asked for whole that once where others of the model's have told their ends", async () => {
    const notes: string[] = [];
    const server = await startRawServer((response, asked) => {
      if (!streams(asked)) return json(response, choice({ content: "Which?" }));
      events(response, [delta({ content: "Which?" }, server.requests.length === 2 ? null : "stop")]);
    });
    const model = createChatModel({
      note: (sentence) => notes.push(sentence),
      patience: { lastWordsMs: 1, errorWordsMs: 1 },
    });
    for (const _ of "123") await model.complete(request(server.baseUrl, { stream: true }));
    expect(server.requests.map(streams)).toEqual([true, true, false, true]);
    expect(notes).toEqual([]);
  });

  test("but with [DONE] is asked for whole where nobody knows whether the model's streams tell their ends", async () => {
    const half = [delta({ content: "I will fir" }), "[DONE]"];
    const server = await startRawServer((response, asked) =>
      streams(asked) ? events(response, half) : json(response, choice({ content: "I will first read it." })),
    );
    const answer = await createChatModel().complete(request(server.baseUrl, { stream: true }));
    expect(answer.content).toBe("I will first read it.");
  });

  test("but with [DONE] and a count is an answer", async () => {
    const usage = { prompt_tokens: 3, completion_tokens: 4 };
    const server = await startRawServer((response) =>
      events(response, [delta({ content: "Which?" }), { choices: [], usage }, "[DONE]"]),
    );
    await createChatModel().complete(request(server.baseUrl, { stream: true }));
    expect(server.requests).toHaveLength(1);
  });

  test("is asked for as a stream again where the model answers as nothing else", async () => {
    const server = await startRawServer((response, asked) =>
      streams(asked)
        ? events(response, [delta({ content: "Which?" }), "[DONE]"])
        : refuse(response, 400, "This model only supports stream mode."),
    );
    const model = createChatModel();
    for (const _ of "12") {
      const answer = await model.complete(request(server.baseUrl, { stream: true }));
      expect(answer).toMatchObject({ content: "Which?", finishReason: "stop" });
    }
    expect(server.requests.map(streams)).toEqual([true, false, true, true]);
  });

  test("is another than an answer that cannot be read, which was given and is paid for", async () => {
    const server = await startRawServer((response) => {
      response.writeHead(200, { "content-type": "text/event-stream", "content-encoding": "zstd" });
      response.end("no text");
    });
    const error = await errorOf(request(server.baseUrl, { stream: true }));
    expect(error.message).toContain("in an encoding that was not asked for: zstd");
    expect(server.requests).toHaveLength(1);
  });

  test("and was counted is not asked for at once: its tokens count first", async () => {
    const usage = { prompt_tokens: 3, completion_tokens: 4 };
    const server = await startRawServer((response) =>
      events(response, [{ ...delta({ content: "Wh" }), usage }]),
    );
    const error = await errorOf(request(server.baseUrl, { stream: true }));
    expect(error).toMatchObject({ retryable: true, usage: { promptTokens: 3, completionTokens: 4 } });
    expect(server.requests).toHaveLength(1);
  });
});

describe("a request", () => {
  const sent = async (settings: Partial<ModelSettings>, more: Partial<ChatRequest> = {}) => {
    const server = await startRawServer((response) => json(response, choice({ content: "" })));
    await createChatModel().complete(request(server.baseUrl, settings, more));
    const [first] = server.requests;
    if (first === undefined) throw new Error("nothing was sent");
    return first;
  };

  test("has the model, the messages, and nothing that was not asked for", async () => {
    const { url, body } = await sent({});
    expect(url).toBe("/v1/chat/completions");
    expect(body).toEqual({
      model: "m",
      messages: [
        { role: "system", content: "rules" },
        { role: "user", content: "words" },
      ],
      stream: false,
    });
  });

  test("has temperature, token limit and tools where they are set", async () => {
    const { body } = await sent({ temperature: 0, maxTokens: 5 }, { tools: FILE_FUNCTION_TOOLS });
    expect(body).toMatchObject({ temperature: 0, max_completion_tokens: 5, tools: { length: 5 } });
  });

  test("has the parameters of the settings beside what the engine says, which stands", async () => {
    const parameters = { reasoning_effort: "high", chat_template_kwargs: { enable_thinking: false } };
    const { body } = await sent({ parameters: { ...parameters, stream: true, model: "other" } });
    expect(body).toMatchObject({ ...parameters, model: "m", stream: false });
  });

  test("gives calls and results as the protocol has them", async () => {
    const { body } = await sent(
      {},
      {
        messages: [
          { role: "assistant", content: "", toolCalls: [{ id: "c", name: "fs_list", argumentsJson: "{}" }] },
          { role: "tool", toolCallId: "c", content: '{"ok":true}' },
          { role: "assistant", content: "", toolCalls: [] },
          { role: "assistant", content: "text", toolCalls: [{ id: "d", name: "x", argumentsJson: "{" }] },
        ],
      },
    );
    expect((body as { messages: unknown }).messages).toEqual([
      {
        role: "assistant",
        content: null,
        tool_calls: [{ id: "c", type: "function", function: { name: "fs_list", arguments: "{}" } }],
      },
      { role: "tool", tool_call_id: "c", content: '{"ok":true}' },
      { role: "assistant", content: "" },
      {
        role: "assistant",
        content: "text",
        tool_calls: [{ id: "d", type: "function", function: { name: "x", arguments: "{" } }],
      },
    ]);
  });

  test("holds no half of a surrogate pair: providers refuse the whole request for one", async () => {
    const half = "a\ud800b";
    const { body } = await sent(
      {},
      {
        messages: [
          { role: "user", content: half },
          { role: "assistant", content: half, toolCalls: [{ id: "c", name: "x", argumentsJson: half }] },
          { role: "tool", toolCallId: "c", content: half },
        ],
      },
    );
    expect(JSON.stringify(body)).not.toContain("\\ud800");
    expect(JSON.stringify(body).match(/a\ufffdb/gu)).toHaveLength(4);
  });

  test("holds none in what goes back to its provider, and what only looks like one stays", async () => {
    const half = "cut \ud83d";
    const message = { content: "x", reasoning_content: half, reasoning_details: [{ [half]: half }] };
    const server = await startRawServer((response) => json(response, choice(message)));
    const { provider, content } = await createChatModel().complete(request(server.baseUrl));
    const literal = String.raw`\ud83d \\ud83d`;
    const messages = [
      { role: "user" as const, content: literal },
      { role: "assistant" as const, content, toolCalls: [], ...(provider === undefined ? {} : { provider }) },
    ];
    await createChatModel().complete(request(server.baseUrl, {}, { messages }));
    const cut = "cut \ufffd";
    expect(server.requests[1]?.body).toMatchObject({
      messages: [
        { role: "user", content: literal },
        { role: "assistant", content: "x", reasoning_content: cut, reasoning_details: [{ [cut]: cut }] },
      ],
    });
  });

  test("carries the key for its endpoint, and no headers beyond those it needs", async () => {
    const { headers } = await sent({ apiKey: "k-1" });
    expect(headers).toMatchObject({ authorization: "Bearer k-1", "content-type": "application/json" });
    expect(Object.keys(headers).filter((name) => name.startsWith("x-") || name.startsWith("openai"))).toEqual(
      [],
    );
  });

  test.each([
    ["api-key", "k-1"],
    ["Ocp-Apim-Subscription-Key", "k-1"],
    ["Authorization", "Bearer k-1"],
    ["cf-aig-authorization", "Bearer k-1"],
  ])("carries the key where the settings say that it is read: in %s", async (keyHeader, value) => {
    const { headers } = await sent({ apiKey: "k-1", dialect: { keyHeader } });
    const told = Object.entries(headers).filter(([, said]) => String(said).includes("k-1"));
    expect(told).toEqual([[keyHeader.toLowerCase(), value]]);
  });

  test("carries the headers of its dialect, and the key all the same", async () => {
    const dialect = { headers: { "x-portkey-provider": "openai", "X-Title": "tea" } };
    const { headers } = await sent({ apiKey: "k-1", dialect });
    expect(headers).toMatchObject({
      "x-portkey-provider": "openai",
      "x-title": "tea",
      authorization: "Bearer k-1",
    });
  });

  test("carries no key where there is none", async () => {
    const server = await startRawServer((response) => json(response, choice({ content: "" })));
    const { apiKey: _, ...settings } = request(server.baseUrl).settings;
    await createChatModel().complete({ ...request(server.baseUrl), settings });
    expect(server.requests[0]?.headers.authorization).toBeUndefined();
  });

  test("to two endpoints carries each one's own key", async () => {
    const servers = [
      await startRawServer((response) => json(response, choice({ content: "" }))),
      await startRawServer((response) => json(response, choice({ content: "" }))),
    ];
    const model = createChatModel();
    for (const [index, { baseUrl }] of servers.entries())
      await model.complete(request(baseUrl, { apiKey: `k-${index}` }));
    await model.complete(request(servers[0]?.baseUrl ?? "", { apiKey: "k-2" }));
    expect(servers.map(({ requests }) => requests.map(({ headers }) => headers.authorization))).toEqual([
      ["Bearer k-0", "Bearer k-2"],
      ["Bearer k-1"],
    ]);
  });

  test.each([301, 302, 303, 307, 308])("that is redirected with %i goes nowhere else", async (status) => {
    const other = await startRawServer((response) => json(response, choice({ content: "" })));
    const first = await startRawServer((response) => {
      response.writeHead(status, { location: `${other.baseUrl}/chat/completions` });
      response.end();
    });
    for (const stream of [false, true]) {
      const error = await errorOf(request(first.baseUrl, { stream }));
      expect(error).toMatchObject({ code: "LLM_HTTP_ERROR", retryable: false });
      expect(error.message).toContain(`a redirect to ${new URL(other.baseUrl).host}.`);
    }
    expect(other.requests).toEqual([]);
  });

  test("to a URL with a name or a password in it is not made, and not tried again", async () => {
    const server = await startRawServer((response) => json(response, choice({ content: "" })));
    for (const user of ["me", "me:secret", ":secret"]) {
      const error = await errorOf(request(server.baseUrl.replace("//", `//${user}@`)));
      expect(error).toMatchObject({ code: "LLM_HTTP_ERROR", retryable: false });
      expect(error.message).toContain("holds a user name or a password");
      expect(error.message).not.toContain("secret");
    }
    expect(server.requests).toEqual([]);
  });

  test.each([
    ["", "/v1/chat/completions"],
    ["/", "/v1/chat/completions"],
    ["?api-version=2", "/v1/chat/completions?api-version=2"],
  ])("to a base URL that ends with %j", async (end, url) => {
    const server = await startRawServer((response) => json(response, choice({ content: "" })));
    await createChatModel().complete(request(`${server.baseUrl}${end}`));
    expect(server.requests[0]?.url).toBe(url);
  });
});

describe("answers that are odd, but answers", () => {
  test.each<[string, unknown, object]>([
    ["no text", choice({ content: null }), { content: "", toolCalls: [] }],
    ["no finish reason", choice({ content: "x" }, null), { content: "x", finishReason: "" }],
    [
      "arguments as an object",
      choice({ tool_calls: [{ id: "c", type: "function", function: { name: "n", arguments: { a: 1 } } }] }),
      { toolCalls: [{ id: "c", name: "n", argumentsJson: '{"a":1}' }] },
    ],
    [
      "a call without id, name and arguments",
      choice({ tool_calls: [{ type: "function", function: {} }] }),
      { toolCalls: [{ id: "", name: "", argumentsJson: "{}" }] },
    ],
    [
      "a call without its function",
      choice({ tool_calls: [{ id: "c" }] }),
      { toolCalls: [{ id: "c", name: "", argumentsJson: "{}" }] },
    ],
    [
      "calls of other kinds, under names that no tool has",
      choice({
        tool_calls: [
          { id: "c", type: "custom", custom: { name: "fs_read", input: "x" } },
          { id: "d", type: "custom" },
          { id: "e", type: "web search!", "web search!": { name: "é" } },
          null,
        ],
      }),
      {
        toolCalls: [
          { id: "c", name: "custom_fs_read", argumentsJson: "x" },
          { id: "d", name: "custom_tool", argumentsJson: "{}" },
          { id: "e", name: "web_search___", argumentsJson: "{}" },
          { id: "", name: "", argumentsJson: "{}" },
        ],
      },
    ],
    [
      "no usage",
      { choices: [{ message: { content: "x" } }] },
      { usage: { promptTokens: 0, completionTokens: 0 }, model: "" },
    ],
    [
      "odd usage",
      { ...choice({ content: "x" }), usage: { prompt_tokens: -1, completion_tokens: "7" } },
      { usage: { promptTokens: 0, completionTokens: 7 } },
    ],
    [
      "fractions of tokens",
      { ...choice({ content: "x" }), usage: { prompt_tokens: 1.9, completion_tokens: null } },
      { usage: { promptTokens: 1, completionTokens: 0 } },
    ],
  ])("%s", async (_, body, expected) => {
    const server = await startRawServer((response) => json(response, body));
    expect(await createChatModel().complete(request(server.baseUrl))).toMatchObject(expected);
  });

  test("a stream whose call pieces have no index", async () => {
    const piece = (value: object) => delta({ tool_calls: [value] });
    const server = await startRawServer((response) =>
      events(response, [
        piece({ id: "a", function: { name: "fs_list", arguments: '{"pa' } }),
        piece({ function: { arguments: 'th":1}' } }),
        piece({ id: "b", function: { name: "fs_read", arguments: "{}" } }),
        delta({}, "tool_calls"),
        "[DONE]",
      ]),
    );
    expect(await createChatModel().complete(request(server.baseUrl, { stream: true }))).toMatchObject({
      toolCalls: [
        { id: "a", name: "fs_list", argumentsJson: '{"path":1}' },
        { id: "b", name: "fs_read", argumentsJson: "{}" },
      ],
    });
  });

  test("a stream with a call of another kind", async () => {
    const piece = (value: object) => delta({ tool_calls: [{ index: 0, ...value }] });
    const server = await startRawServer((response) =>
      events(response, [
        piece({ id: "a", type: "custom", custom: { name: "fs_read", input: "" } }),
        piece({ custom: { input: "some" } }),
        piece({ custom: { input: " words" } }),
        delta({}, "tool_calls"),
        "[DONE]",
      ]),
    );
    expect(await createChatModel().complete(request(server.baseUrl, { stream: true }))).toMatchObject({
      toolCalls: [{ id: "a", name: "custom_fs_read", argumentsJson: "some words" }],
    });
  });

  test("a stream without an end, of a model that has told none so far", async () => {
    const server = await startRawServer((response, { body }) => {
      const isOther = (body as ModelSettings).model === "other";
      events(response, [delta({ content: "x" }), ...(isOther ? [delta({}, "stop")] : []), "[DONE]"]);
    });
    const model = createChatModel();
    await model.complete(request(server.baseUrl, { stream: true, model: "other" }));
    for (const _ of [1, 2])
      expect(await model.complete(request(server.baseUrl, { stream: true }))).toMatchObject({ content: "x" });
  });

  test("no stream without an end, once the model has told one: a gateway has said that it is over", async () => {
    let asked = 0;
    const server = await startRawServer((response) => {
      asked += 1;
      const end = asked === 2 || asked === 3 ? [] : [delta({}, "stop")];
      events(response, [delta({ content: "I will fir" }), ...end, "[DONE]"]);
    });
    const model = createChatModel();
    const ask = () => model.complete(request(server.baseUrl, { stream: true }));
    await ask();
    await expect(ask()).rejects.toMatchObject({ code: "LLM_BAD_RESPONSE", retryable: true });
    expect(await ask()).toMatchObject({ finishReason: "stop" });
  });

  test("a stream with chunks that hold nothing", async () => {
    const server = await startRawServer((response) =>
      events(response, [
        {},
        { choices: [] },
        { choices: [{ index: 0 }] },
        delta({ content: "x" }),
        delta(null, "stop"),
        "[DONE]",
      ]),
    );
    expect(await createChatModel().complete(request(server.baseUrl, { stream: true }))).toMatchObject({
      content: "x",
      finishReason: "stop",
    });
  });

  test("one token, where the settings let it have no more; else there was no room for it", async () => {
    const usage = { prompt_tokens: 2_000, completion_tokens: 1 };
    const cutOff = { ...choice({ content: "" }, "length"), usage };
    const server = await startRawServer((response) => json(response, cutOff));
    const asked = (maxTokens: number) => createChatModel().complete(request(server.baseUrl, { maxTokens }));
    expect(await asked(1)).toMatchObject({ content: "", finishReason: "length" });
    await expect(asked(2)).rejects.toThrow("no room");
  });
});

describe("answers that are none are LLM_BAD_RESPONSE, worth another try", () => {
  test.each<[string, (response: ServerResponse) => void]>([
    ["malformed JSON", (response) => json(response, '{"choices":[')],
    ["an empty body", (response) => json(response, "")],
    ["null", (response) => json(response, "null")],
    ["a list", (response) => json(response, [])],
    ["no choices", (response) => json(response, {})],
    ["empty choices", (response) => json(response, { choices: [] })],
    ["a choice without a message", (response) => json(response, { choices: [{}] })],
    ["a message that is null", (response) => json(response, { choices: [{ message: null }] })],
    ["calls that are no list", (response) => json(response, choice({ tool_calls: { a: 1 } }))],
    [
      "a web page",
      (response) => {
        response.writeHead(200, { "content-type": "text/html" });
        response.end("<html>Sign in</html>");
      },
    ],
    [
      "no content",
      (response) => {
        response.writeHead(204);
        response.end();
      },
    ],
  ])("%s", async (_, answer) => {
    const server = await startRawServer(answer);
    expect(await errorOf(request(server.baseUrl))).toMatchObject({
      code: "LLM_BAD_RESPONSE",
      retryable: true,
    });
    expect(server.requests).toHaveLength(1);
  });

  test.each<[string, (response: ServerResponse) => void]>([
    ["malformed JSON in a stream", (response) => events(response, ['{"choices":['])],
    ["an error in a stream", (response) => events(response, [{ error: { message: "overloaded" } }])],
    [
      "a stream that ends before the answer does",
      (response) => events(response, [delta({ content: "half" })]),
    ],
    ["an empty stream", (response) => events(response, [])],
    ["only the end of a stream", (response) => events(response, ["[DONE]"])],
    [
      "a web page for a stream",
      (response) => {
        response.writeHead(200, { "content-type": "text/html" });
        response.end("<html></html>");
      },
    ],
  ])("%s", async (_, answer) => {
    const server = await startRawServer(answer);
    expect(await errorOf(request(server.baseUrl, { stream: true }))).toMatchObject({
      code: "LLM_BAD_RESPONSE",
      retryable: true,
    });
  });
});

describe("errors over HTTP, asked once", () => {
  test.each([
    [400, "LLM_HTTP_ERROR", false],
    [401, "LLM_AUTH_FAILED", false],
    [403, "LLM_AUTH_FAILED", false],
    [404, "LLM_HTTP_ERROR", false],
    [408, "LLM_TIMEOUT", true],
    [409, "LLM_HTTP_ERROR", true],
    [429, "LLM_RATE_LIMITED", true],
    [500, "LLM_HTTP_ERROR", true],
    [503, "LLM_HTTP_ERROR", true],
  ])("%i is %s", async (status, code, retryable) => {
    for (const stream of [false, true]) {
      const server = await startRawServer((response) => {
        response.writeHead(status, { "content-type": "application/json" });
        response.end(JSON.stringify({ error: { message: "scripted" } }));
      });
      const error = await errorOf(request(server.baseUrl, { stream }));
      expect([error.code, error.retryable, error.message]).toEqual([
        code,
        retryable,
        `The model endpoint ${server.baseUrl}/chat/completions answered ${status} scripted`,
      ]);
      expect(server.requests).toHaveLength(1);
    }
  });

  // Words of filters speak of contents, prompts and types, as refusals of a form do.
  test.each<[string, number]>([
    ["as a status", 400],
    ["in place of an answer", 200],
  ])("what a filter has refused is asked once, %s", async (_, status) => {
    const message =
      "The response was filtered due to the prompt triggering the content management policy. Please modify your prompt.";
    const error = { message, type: null, param: "prompt", code: "content_filter" };
    const server = await startRawServer((response) => {
      response.writeHead(status, { "content-type": "application/json" });
      response.end(JSON.stringify({ error }));
    });
    const failure = await errorOf(request(server.baseUrl));
    expect(failure).toMatchObject({ code: "LLM_CONTENT_FILTERED", retryable: false });
    expect(server.requests).toHaveLength(1);
  });

  test.each([false, true])(
    "a wait that a gateway passes on from the provider behind it is heeded, in a stream: %s",
    async (stream) => {
      const server = await startRawServer((response) => {
        response.writeHead(429, {
          "llm_provider-retry-after": "7",
          "llm_provider-content-type": "text/html",
        });
        response.end(JSON.stringify({ error: { message: "litellm.RateLimitError: slow down" } }));
      });
      const failure = await errorOf(request(server.baseUrl, { stream }));
      expect(failure).toMatchObject({ code: "LLM_RATE_LIMITED", retryable: true, retryAfterMs: 7_000 });
    },
  );

  test("so is one in the headers of an answer that an error breaks off", async () => {
    const server = await startRawServer((response) => {
      response.setHeader("llm_provider-retry-after", "7");
      events(response, [delta({ content: "half" }), { error: { message: "slow down", code: "429" } }]);
    });
    const failure = await errorOf(request(server.baseUrl, { stream: true }));
    expect(failure).toMatchObject({ code: "LLM_RATE_LIMITED", retryable: true, retryAfterMs: 7_000 });
  });

  test("a request whose answer had begun is not to blame for what breaks it off, but for a used-up quota", async () => {
    const said = (message: string, code: string, begin: readonly object[] = [delta({ content: "half" })]) =>
      startRawServer((response) => events(response, [...begin, { error: { message, code } }]));
    const broken = await said("Got unexpected response: runner has stopped", "400");
    expect(await errorOf(request(broken.baseUrl, { stream: true }))).toMatchObject({
      code: "LLM_HTTP_ERROR",
      retryable: true,
    });
    for (const { baseUrl } of [
      await said("Got unexpected response: runner has stopped", "400", []),
      await said("Your credit balance is too low", "400"),
      await said("no", "401"),
    ]) {
      expect(await errorOf(request(baseUrl, { stream: true }))).toMatchObject({ retryable: false });
    }
  });

  test("a key that the provider repeats does not come back", async () => {
    const server = await startRawServer((response, { headers }) => {
      response.writeHead(401, { "content-type": "application/json" });
      response.end(JSON.stringify({ error: { message: `wrong: ${headers.authorization}` } }));
    });
    expect((await errorOf(request(server.baseUrl, { apiKey: "plain" }))).message).not.toContain("plain");
  });

  test.each<[string, (key: string) => string]>([
    ["as it is", (key) => key],
    ["percent-encoded", (key) => encodeURIComponent(key)],
    ["in base64 of a header", (key) => Buffer.from(`Bearer ${key}`).toString("base64")],
    ["in hex", (key) => Buffer.from(key).toString("hex")],
  ])("a key that comes back %s enters neither messages nor answers", async (_, encode) => {
    const apiKey = "key/with+signs=0123456789";
    const echoed = encode(apiKey);
    const asError = await startRawServer((response) => {
      response.writeHead(401, { "content-type": "application/json" });
      response.end(JSON.stringify({ error: { message: `wrong: ${echoed}` } }));
    });
    expect((await errorOf(request(asError.baseUrl, { apiKey }))).message).toContain("wrong: <secret>");
    const calls = [
      { id: echoed, type: "function", function: { name: echoed, arguments: `{"a":"${echoed}"}` } },
    ];
    const asAnswer = await startRawServer((response) =>
      json(response, choice({ content: `your key is ${echoed}`, tool_calls: calls })),
    );
    const answer = await createChatModel().complete(request(asAnswer.baseUrl, { apiKey }));
    expect(JSON.stringify(answer)).not.toContain(echoed);
    expect(answer.content).toBe("your key is <secret>");
  });

  test("a web page for an error is an error of its status", async () => {
    const server = await startRawServer((response) => {
      response.writeHead(502, { "content-type": "text/html" });
      response.end(`<html>${"x".repeat(100_000)}</html>`);
    });
    const error = await errorOf(request(server.baseUrl));
    expect([error.code, error.retryable, error.message.length < 400]).toEqual(["LLM_HTTP_ERROR", true, true]);
  });
});

describe("connections", () => {
  test("that are refused are LLM_HTTP_ERROR, and say where and why", async () => {
    const closed = `http://127.0.0.1:${await freePort()}/v1`;
    expect(await errorOf(request(closed))).toMatchObject({
      code: "LLM_HTTP_ERROR",
      retryable: true,
      message: `The model endpoint ${closed}/chat/completions cannot be reached: nothing listens there (ECONNREFUSED).`,
    });
  });

  test.each([
    ["before any answer", false, (response: ServerResponse) => response.destroy()],
    [
      "in the middle of an answer",
      false,
      (response: ServerResponse) => {
        response.writeHead(200, { "content-type": "application/json", "content-length": "1000" });
        response.write("{", () => response.destroy());
      },
    ],
    [
      "in the middle of a stream",
      true,
      (response: ServerResponse) => {
        events(response, [delta({ content: "half" })], false);
        setImmediate(() => response.destroy());
      },
    ],
  ])("that break %s are LLM_HTTP_ERROR", async (_, stream, answer) => {
    const server = await startRawServer(answer);
    expect(await errorOf(request(server.baseUrl, { stream }))).toMatchObject({
      code: "LLM_HTTP_ERROR",
      retryable: true,
    });
  });

  test.each([
    ["never answer", false, "did not answer", () => undefined],
    [
      "stall in the middle of an answer",
      false,
      "had begun its answer, and did not end it",
      (response: ServerResponse) => {
        response.writeHead(200, { "content-type": "application/json" });
        response.write("{");
      },
    ],
    [
      "stall in the middle of a stream",
      true,
      "had begun its answer, and did not end it",
      (response: ServerResponse) => events(response, [delta({ content: "half" })], false),
    ],
  ])("that %s are LLM_TIMEOUT after the longest wait", async (_, stream, what, answer) => {
    const server = await startRawServer(answer);
    expect(await errorOf(request(server.baseUrl, { stream, timeoutMs: 150 }))).toMatchObject({
      code: "LLM_TIMEOUT",
      retryable: true,
      message: `The model endpoint ${server.baseUrl}/chat/completions ${what} within 0.15 s.`,
    });
  });

  test.each([
    ["an answer", false, (response: ServerResponse) => json(response, choice({ content: "x" }))],
    [
      "a refusal",
      false,
      (response: ServerResponse) => {
        response.writeHead(429, { "content-type": "application/json" });
        response.end('{"error":"later"}');
      },
    ],
    [
      "a stream whose connection ends behind its last event",
      true,
      (response: ServerResponse) => {
        events(response, [delta({ content: "x" }, "stop"), "[DONE]"], false);
        setImmediate(() => response.end(": over\n\n"));
      },
    ],
  ])("serve another request after %s", async (_, stream, answer) => {
    const sockets = new Set<unknown>();
    const server = await startRawServer((response) => {
      sockets.add(response.socket);
      answer(response);
    });
    const model = createChatModel();
    // The next request may go out before the end of the one before has arrived: it has a connection of its own.
    for (let asked = 0; asked < 20 && sockets.size === asked; asked += 1) {
      await model.complete(request(server.baseUrl, { stream })).catch(() => undefined);
    }
    expect(sockets.size).toBeLessThan(server.requests.length);
  });

  test.each([
    ["resets", (socket: Socket) => socket.resetAndDestroy()],
    ["ends", (socket: Socket) => socket.end()],
  ])("that were kept, and that the server %s as the next request comes, are made anew", async (_, close) => {
    let asked = 0;
    const body = JSON.stringify(choice({ content: "x" }));
    const server = createServer((socket) => {
      let isUsed = false;
      socket.on("error", () => undefined);
      socket.on("data", () => {
        asked += 1;
        if (isUsed) close(socket);
        else socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${body.length}\r\n\r\n${body}`);
        isUsed = true;
      });
    });
    const baseUrl = `http://127.0.0.1:${await listen(server)}/v1`;
    const model = createChatModel();
    await model.complete(request(baseUrl));
    expect(await model.complete(request(baseUrl))).toMatchObject({ content: "x" });
    expect(asked).toBe(3);
  });

  test.each([
    ["text", delta({ content: "x" }), { content: "x", finishReason: "stop" }],
    [
      "a call",
      delta({ tool_calls: [{ index: 0, id: "c", function: { name: "x", arguments: "{}" } }] }),
      { toolCalls: [{ name: "x" }] },
    ],
  ])("that stay open behind the end of an answer are left: %s", async (_, piece, expected) => {
    let closed: Promise<unknown> | undefined;
    const server = await startRawServer((response) => {
      closed = once(response, "close");
      events(response, [piece, delta({}, "stop")], false);
    });
    const answer = await impatient().complete(request(server.baseUrl, { stream: true, timeoutMs: 60_000 }));
    expect(answer).toMatchObject(expected);
    await closed;
  });

  test("are read to their end where each piece says that it is the last", async () => {
    const server = await startRawServer((response) => {
      events(response, [delta({ content: "Hello " }, "stop")], false);
      setTimeout(() => {
        response.write(`data: ${JSON.stringify(delta({ content: "world" }, "stop"))}\n\n`);
        response.end("data: [DONE]\n\n");
      }, 600);
    });
    const answer = await createChatModel({ patience: { lastWordsMs: 500, errorWordsMs: 500 } }).complete(
      request(server.baseUrl, { stream: true }),
    );
    expect(answer).toMatchObject({ content: "Hello world", finishReason: "stop" });
  });

  test("that break behind the end of an answer have brought it", async () => {
    const server = await startRawServer((response) => {
      events(response, [delta({ content: "x" }), delta({}, "stop")], false);
      setImmediate(() => response.destroy());
    });
    const answer = await createChatModel().complete(request(server.baseUrl, { stream: true }));
    expect(answer).toMatchObject({ content: "x", finishReason: "stop" });
    expect(server.requests).toHaveLength(1);
  });

  test("that stay open behind an error are left, and its words are told", async () => {
    let closed: Promise<unknown> | undefined;
    const server = await startRawServer((response) => {
      closed = once(response, "close");
      response.writeHead(401, { "content-type": "application/json" });
      response.write('{"error":{"message":"no such key"}}');
    });
    const error = await errorOf(request(server.baseUrl, { timeoutMs: 60_000 }), impatient());
    expect(error).toMatchObject({ code: "LLM_AUTH_FAILED", retryable: false });
    expect(error.message).toContain("answered 401 no such key");
    await closed;
  });

  test("whose stream goes on behind its end are not waited for", async () => {
    let closed: Promise<unknown> | undefined;
    const server = await startRawServer((response) => {
      closed = once(response, "close");
      events(response, [delta({ content: "x" }, "stop"), "[DONE]"], false);
      const more = (): void => {
        while (!response.destroyed && response.write(": more\n\n".repeat(1_000)));
        response.once("drain", more);
      };
      more();
    });
    expect(await createChatModel().complete(request(server.baseUrl, { stream: true }))).toMatchObject({
      content: "x",
    });
    await closed;
  });

  test.each([
    ["gzip", gzipSync],
    ["x-gzip", gzipSync],
    ["deflate", deflateSync],
    ["br", brotliCompressSync],
    ["utf-8", (text: string) => text],
  ])("may bring an answer in %s", async (encoding, pack) => {
    const server = await startRawServer((response) => {
      response.writeHead(200, { "content-type": "application/json", "content-encoding": encoding });
      response.end(pack(JSON.stringify(choice({ content: "packed" }))));
    });
    expect(await createChatModel().complete(request(server.baseUrl))).toMatchObject({ content: "packed" });
  });

  test.each([
    ["zstd", (text: string) => text, "it is in an encoding that was not asked for: zstd"],
    [
      "gzip, br",
      (text: string) => brotliCompressSync(gzipSync(text)),
      "it is in an encoding that was not asked for: gzip, br",
    ],
    ["gzip", (text: string) => text, "incorrect header check"],
    ["gzip", (text: string) => gzipSync(text).subarray(0, 20), "unexpected end of file"],
  ])("that bring what is no answer in %s say why", async (encoding, pack, why) => {
    const server = await startRawServer((response) => {
      response.writeHead(200, { "content-type": "application/json", "content-encoding": encoding });
      response.end(pack(JSON.stringify(choice({ content: "packed" }))));
    });
    const { message } = await errorOf(request(server.baseUrl));
    expect(message).toContain(`The model's answer could not be read: ${why}.`);
  });

  test.each(["“sk-0123456789”", "sk-0123456789\n"])(
    "are not made with the key %j, and that is final",
    async (apiKey) => {
      const server = await startRawServer((response) => json(response, choice({ content: "x" })));
      const error = await errorOf(request(server.baseUrl, { apiKey }));
      expect(error).toMatchObject({ code: "LLM_AUTH_FAILED", retryable: false });
      expect(error.message).toMatch(/chat\/completions cannot be asked: its key holds characters/u);
      expect(error.message).not.toContain("0123456789");
      expect(server.requests).toEqual([]);
    },
  );

  test("that turn into another protocol are over", async () => {
    const server = await startRawServer((response) => {
      response.socket?.write(
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
      );
    });
    const error = await errorOf(request(server.baseUrl, { timeoutMs: 20_000 }));
    expect(error).toMatchObject({ code: "LLM_HTTP_ERROR", retryable: true });
    expect(error.message).toContain("broke the connection (ECONNRESET)");
  });

  test("to a port that is never connected to are not tried again, and say so", async () => {
    const error = await errorOf(request("http://127.0.0.1:6000/v1"));
    expect(error).toMatchObject({ code: "LLM_HTTP_ERROR", retryable: false });
    expect(error.message).toContain("The model's base URL names port 6000, which other protocols have");
  });

  test("whose name nobody knows say so", async () => {
    expect((await errorOf(request("http://nowhere.invalid/v1"))).message).toMatch(
      /^The model endpoint http:\/\/nowhere\.invalid\/v1\/chat\/completions cannot be reached: its name is not known \((?:ENOTFOUND|EAI_AGAIN)\)\.$/,
    );
  });

  test("name an endpoint without what is secret in its address", async () => {
    const server = await startRawServer((response) => {
      response.writeHead(500);
      response.end();
    });
    const apiKey = "0123456789abcdefghij";
    const baseUrl = server.baseUrl.replace("/v1", `/${apiKey}/sk-abcdefghijklmnopqrst/v1?key=hidden`);
    const { message } = await errorOf(request(baseUrl, { apiKey }));
    expect(message).toContain("/<secret>/<secret>/v1/chat/completions answered 500");
    expect(message).not.toMatch(/hidden|0123456789|abcdefgh/);
  });

  test("repeat no key of an address's query, whoever says it", async () => {
    const server = await startRawServer((response, { url, headers }) => {
      response.writeHead(404, { "content-type": "application/json" });
      const value = new URL(url, "http://x").searchParams.get("subscription-key");
      const message = `no http://${headers.host}${url}, nor ${value} for 2024-10-21`;
      response.end(JSON.stringify({ error: { message } }));
    });
    const baseUrl = `${server.baseUrl}?api-version=2024-10-21&subscription-key=abcdef0123456789`;
    const { message } = await errorOf(request(baseUrl));
    expect(message).toContain(" answered 404 no http://");
    expect(message).toMatch(/api-version=2024-10-21.*for 2024-10-21/u);
    expect(message).not.toContain("abcdef");
  });

  test.each([false, true])("to a web page that is no endpoint say so, streamed: %s", async (stream) => {
    const server = await startRawServer((response) => {
      response.writeHead(200, { "content-type": "text/html; charset=utf-8" });
      response.end("<!doctype html><title>Welcome to\u202e nginx</title><p>x");
    });
    const error = await errorOf(request(server.baseUrl, { stream }));
    expect([error.code, error.retryable]).toEqual(["LLM_BAD_RESPONSE", true]);
    expect(error.message).toBe(
      `The model endpoint ${server.baseUrl}/chat/completions answered 200 with a web page, not a chat completion: Welcome to\\u{202e} nginx`,
    );
  });

  test("a wait longer than a timer can hold is a long wait, not none", async () => {
    const warnings: string[] = [];
    const listen = ({ name }: Error) => warnings.push(name);
    process.on("warning", listen);
    onTestFinished(() => void process.off("warning", listen));
    const server = await startRawServer((response) => json(response, choice({ content: "x" })));
    expect(await createChatModel().complete(request(server.baseUrl, { timeoutMs: 1e12 }))).toMatchObject({
      content: "x",
    });
    expect(warnings).not.toContain("TimeoutOverflowWarning"); // such a timer ends at once
  });

  test.each([
    ["before an answer", false, () => undefined],
    [
      "in the middle of a stream",
      true,
      (response: ServerResponse) => events(response, [delta({ content: "half" })], false),
    ],
  ])("that we abort %s end with the reason of the abort", async (_, stream, answer) => {
    const controller = new AbortController();
    const reason = new Error("cancelled");
    const server = await startRawServer((response) => {
      answer(response);
      setImmediate(() => controller.abort(reason));
    });
    const aborted = createChatModel().complete(
      request(server.baseUrl, { stream }, { signal: controller.signal }),
    );
    await expect(aborted).rejects.toBe(reason);
  });

  test("that we abort say what was counted of their answers", async () => {
    const controller = new AbortController();
    const usage = { prompt_tokens: 3, completion_tokens: 4 };
    const server = await startRawServer((response) =>
      events(response, [{ ...delta({ reasoning_content: "Let me" }), usage }], false),
    );
    const onPiece = () => controller.abort(new Error("cancelled"));
    const error = await errorOf(
      request(server.baseUrl, { stream: true }, { signal: controller.signal, onPiece }),
    );
    expect(error).toMatchObject({ code: "ENGINE_ABORTED", usage: { promptTokens: 3, completionTokens: 4 } });
  });

  test("that were aborted before are not made", async () => {
    const server = await startRawServer(() => undefined);
    const signal = AbortSignal.abort(new Error("before"));
    await expect(createChatModel().complete(request(server.baseUrl, {}, { signal }))).rejects.toThrow(
      "before",
    );
    expect(server.requests).toEqual([]);
  });
});
