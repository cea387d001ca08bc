import type { ServerResponse } from "node:http";
import { describe, expect, test } from "vitest";
import type { ChatMessage, ModelSettings } from "../../src/model/chat.js";
import { createChatModel } from "../../src/model/chat-model.js";
import { startRawServer } from "./raw-server.js";

type Model = ReturnType<typeof createChatModel>;

function ask(
  baseUrl: string,
  settings: Partial<ModelSettings>,
  messages: readonly ChatMessage[],
  model: Model,
) {
  return model.complete({
    settings: { model: "m", baseUrl, apiKey: "k", stream: false, timeoutMs: 30_000, ...settings },
    messages,
    tools: [],
    signal: new AbortController().signal,
  });
}

const ANSWER = { model: "m", choices: [{ index: 0, message: { content: "x" }, finish_reason: "stop" }] };

/** A server that answers this once it is asked in a form that it takes. */
async function taking(isTaken: (sent: string) => boolean, message: string, answer: unknown = ANSWER) {
  return startRawServer((response, { body }) => {
    const taken = isTaken(JSON.stringify(body));
    response.writeHead(taken ? 200 : 400, { "content-type": "application/json" });
    response.end(JSON.stringify(taken ? answer : { error: { message } }));
  });
}

/** What another model has called, and its result. */
const called = (id: string): readonly ChatMessage[] => [
  { role: "user", content: "words" },
  { role: "assistant", content: "", toolCalls: [{ id, name: "x", argumentsJson: "{}" }] },
  { role: "tool", toolCallId: id, content: "{}" },
];

describe("what an answer of another model is given so that a server takes it", () => {
  test.each([
    ["deepseek", "reasoning_content", "Unknown field: reasoning_content is not permitted in messages[1]."],
    ["gemini", "extra_content", "messages.1.tool_calls.0.extra_content: Extra inputs are not permitted"],
  ] as const)("is left out for one of the family %s that refuses it", async (dialect, field, message) => {
    const server = await taking((sent) => !sent.includes(field), message);
    const model = createChatModel();
    await ask(server.baseUrl, { dialect }, called("call_1"), model);
    await ask(server.baseUrl, { dialect }, called("call_1"), model);
    expect(server.requests.map(({ body }) => JSON.stringify(body).includes(field))).toEqual([
      true,
      false,
      false,
    ]);
  });
});

test.each([
  "Function call is missing a thought_signature in functionCall parts.",
  "Function call `default_api:x` in the 2. content block is missing a `thought_signature`.",
])("a gateway to Gemini gets a signature for what another has called: %s", async (message) => {
  const server = await taking((sent) => sent.includes("skip_thought_signature_validator"), message);
  await ask(server.baseUrl, {}, called("call_1"), createChatModel());
  expect(server.requests).toHaveLength(2);
});

test("a gateway to Gemini that has lost its signature on the way gets one all the same, and a kept one goes back", async () => {
  const message = "Function call is missing a thought_signature in functionCall parts.";
  const server = await taking((sent) => sent.includes("thought_signature"), message);
  const own = { endpoint: `${server.baseUrl}/chat/completions`, dialect: "plain", model: "m" };
  const withProvider = (more: object): readonly ChatMessage[] =>
    called("call_1").map((said) =>
      said.role === "assistant" ? { ...said, provider: { ...own, ...more } } : said,
    );
  const kept = { extra_content: { google: { thought_signature: "kept" } } };
  const model = createChatModel();
  await ask(server.baseUrl, {}, withProvider({ message: { reasoning: "I look." } }), model);
  await ask(server.baseUrl, {}, withProvider({ calls: [kept] }), model);
  const signed = server.requests.map(
    ({ body }) => /"thought_signature":"(\w+)"/.exec(JSON.stringify(body))?.[1],
  );
  expect(signed).toEqual([undefined, "skip_thought_signature_validator", "kept"]);
});

describe("thoughts that a server gives under one name and wants back under another", () => {
  const MISSING =
    "thinking is enabled but reasoning_content is missing in assistant tool call message at index 1";
  const CALL = { id: "call_1", type: "function", function: { name: "x", arguments: "{}" } };
  type Sent = { readonly messages: readonly Record<string, unknown>[] };
  const answersOf = (body: unknown) => (body as Sent).messages.filter(({ role }) => role === "assistant");

  test.each(["reasoning", "reasoning_text"])("go back so: %s", async (given) => {
    const message = { role: "assistant", content: "", [given]: "I look.", tool_calls: [CALL] };
    const server = await startRawServer((response, { body }) => {
      const refused = answersOf(body).flatMap((answer) => {
        if (Object.hasOwn(answer, given))
          return [`Extra inputs are not permitted, field: 'messages[1].${given}'`];
        return answer["reasoning_content"] === "I look." ? [] : [MISSING];
      });
      response.writeHead(refused.length === 0 ? 200 : 400, { "content-type": "application/json" });
      const choices = [{ index: 0, message, finish_reason: "tool_calls" }];
      response.end(JSON.stringify(refused.length === 0 ? { choices } : { error: { message: refused[0] } }));
    });
    const model = createChatModel();
    const user: ChatMessage = { role: "user", content: "words" };
    const { content, toolCalls, provider } = await ask(server.baseUrl, {}, [user], model);
    if (provider === undefined) throw new Error("nothing was kept");
    const messages: readonly ChatMessage[] = [
      user,
      { role: "assistant", content, toolCalls, provider },
      { role: "tool", toolCallId: "call_1", content: "{}" },
    ];
    await ask(server.baseUrl, {}, messages, model);
    await ask(server.baseUrl, {}, messages, model);
    expect(server.requests.slice(-2).map(({ body }) => answersOf(body))).toEqual([
      [{ role: "assistant", content: null, reasoning_content: "I look.", tool_calls: [CALL] }],
      [{ role: "assistant", content: null, reasoning_content: "I look.", tool_calls: [CALL] }],
    ]);
    expect(server.requests).toHaveLength(5);
  });
});

describe("a server that wants thoughts of each answer gets a text that is not empty where there are none", () => {
  const MISSING = "The `reasoning_content` in the thinking mode must be passed back to the API.";
  const CALL = { id: "call_1", name: "x", argumentsJson: "{}" };
  const isThought = ({ reasoning_content: thought }: Record<string, unknown>) =>
    typeof thought === "string" && thought !== "";

  const SGLANG =
    "ThinkingMode: thinking, invalid message without reasoning_content/tool_calls `{'role': 'assistant', 'content': 'x', 'reasoning_content': None}` after last user message";

  test.each([
    ["deepseek", MISSING, 1],
    [undefined, MISSING, 2],
    [undefined, SGLANG, 2],
  ] as const)("dialect %s: %s", async (dialect, message, asked) => {
    const server = await startRawServer((response, { body }) => {
      const { messages } = body as { messages: readonly Record<string, unknown>[] };
      const answers = messages.filter(({ role }) => role === "assistant");
      const taken = answers.every(isThought);
      response.writeHead(taken ? 200 : 400, { "content-type": "application/json" });
      response.end(JSON.stringify(taken ? ANSWER : { error: { message } }));
    });
    const own = { endpoint: `${server.baseUrl}/chat/completions`, dialect: dialect ?? "plain", model: "m" };
    const answers: readonly ChatMessage[] = [
      { role: "assistant", content: "Of another model.", toolCalls: [] },
      {
        role: "assistant",
        content: "",
        toolCalls: [CALL],
        provider: { ...own, message: { reasoning_content: "" } },
      },
      { role: "tool", toolCallId: "call_1", content: "{}" },
      { role: "assistant", content: "Own.", toolCalls: [], provider: { ...own, message: { extra: 1 } } },
      { role: "user", content: "words" },
    ];
    await ask(server.baseUrl, dialect === undefined ? {} : { dialect }, answers, createChatModel());
    expect(server.requests).toHaveLength(asked);
  });
});

describe("ids that another server has given its calls", () => {
  test.each([
    [
      "chatcmpl-tool-0123456789abcdef0123456789abcdef",
      "Invalid 'messages[1].tool_calls[0].id': string too long. Expected a string with maximum length 40, but got a string with length 46 instead.",
    ],
    [
      "chatcmpl-tool-0123456789abcdef0123456789abcdef",
      "Invalid 'messages[2].tool_call_id': string too long. Expected a string with maximum length 40, but got a string with length 46 instead.",
    ],
    [
      "chatcmpl-tool-0123456789abcdef0123456789abcdef",
      "litellm.ContextWindowExceededError: litellm.BadRequestError: Invalid 'messages[1].tool_calls[0].id': string too long. Expected a string with maximum length 40, but got a string with length 46 instead.",
    ],
    [
      "functions.fs_read:0",
      "messages.1.content.0.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'",
    ],
    [
      "functions.fs_read:0",
      "messages.2.content.0.tool_result.tool_use_id: String should match pattern '^[a-zA-Z0-9_-]+$'",
    ],
    [
      "functions.fs_read:0",
      "1 validation error detected: Value 'functions.fs_read:0' at 'messages.2.member.content.1.member.toolUse.toolUseId' failed to satisfy constraint: Member must satisfy regular expression pattern: [a-zA-Z0-9_-]+",
    ],
  ])("are others where this one refuses them, from then on: %s: %s", async (id, message) => {
    const server = await taking((sent) => !sent.includes(id), message);
    const model = createChatModel();
    await ask(server.baseUrl, {}, called(id), model);
    await ask(server.baseUrl, { dialect: "openai" }, called(id), model);
    expect(server.requests).toHaveLength(3);
    const sent = JSON.stringify(server.requests[2]?.body);
    const [made, answered] = [/"id":"([A-Za-z0-9]{9})"/, /"tool_call_id":"([^"]+)"/].map(
      (place) => place.exec(sent)?.[1],
    );
    expect(made).toBeDefined();
    expect(answered).toBe(made);
  });
});

test("thoughts go back to the model that had them, and to no other behind the same gateway", async () => {
  const details = [{ type: "reasoning.encrypted", data: "of-the-first", index: 0 }];
  const thought = { role: "assistant", content: "Which?", reasoning_details: details };
  const answer = { choices: [{ index: 0, message: thought, finish_reason: "stop" }] };
  const server = await taking(() => true, "", answer);
  const model = createChatModel();
  const { content, toolCalls, provider } = await ask(server.baseUrl, { model: "first" }, [], model);
  if (provider === undefined) throw new Error("nothing was kept");
  const { model: _, ...ofEarlierVersion } = provider;
  const after = (part: typeof provider): readonly ChatMessage[] => [
    { role: "assistant", content, toolCalls, provider: part },
    { role: "user", content: "The blue one." },
  ];
  await ask(server.baseUrl, { model: "first" }, after(provider), model);
  await ask(server.baseUrl, { model: "second" }, after(provider), model);
  await ask(server.baseUrl, { model: "second" }, after(ofEarlierVersion), model);
  const sent = server.requests.map(({ body }) => JSON.stringify(body).includes("of-the-first"));
  expect(sent).toEqual([false, true, false, true]);
});

test("blocks that a gateway has streamed in pieces go back whole, as Anthropic wants them", async () => {
  const piece = (index: number, delta: object) => ({ content_blocks: [{ index, delta }] });
  const deltas = [
    piece(0, { thinking: "", signature: "" }),
    piece(0, { thinking: "It is " }),
    piece(0, { thinking: "there." }),
    piece(0, { signature: "SIG" }),
    piece(1, { data: "hidden" }),
    piece(2, { text: "" }),
    { content: "I look.", ...piece(2, { text: "I look." }) },
    piece(3, { text: "" }),
    { tool_calls: [{ index: 0, id: "c", type: "function", function: { name: "x", arguments: "{}" } }] },
  ];
  const chunks = deltas.map((delta) => ({ choices: [{ index: 0, delta }] }));
  const end = { choices: [{ index: 0, delta: {}, finish_reason: "tool_calls" }] };
  const server = await startRawServer((response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    for (const event of [...chunks, end]) response.write(`data: ${JSON.stringify(event)}\n\n`);
    response.end("data: [DONE]\n\n");
  });
  const model = createChatModel();
  const { content, toolCalls, provider } = await ask(server.baseUrl, { stream: true }, [], model);
  if (provider === undefined) throw new Error("nothing was kept");
  await ask(server.baseUrl, { stream: true }, [{ role: "assistant", content, toolCalls, provider }], model);
  expect(server.requests[1]?.body).toMatchObject({
    messages: expect.arrayContaining([
      expect.objectContaining({
        content_blocks: [
          { type: "thinking", thinking: "It is there.", signature: "SIG" },
          { type: "redacted_thinking", data: "hidden" },
          { type: "text", text: "I look." },
        ],
      }),
    ]) as unknown,
  });
});

describe("thoughts that the model's own server refuses", () => {
  const own = { reasoning_details: [{ type: "reasoning.encrypted", data: "signed", index: 0 }] };
  const call = { id: "c", type: "function", function: { name: "x", arguments: "{}" } };
  const thought = { role: "assistant", content: null, tool_calls: [call], ...own };
  const answer = { choices: [{ index: 0, message: thought, finish_reason: "tool_calls" }] };

  test.each([
    "Corrupted thought signature.",
    "Thought signature is not valid",
    "messages.1.content.0: Invalid `signature` in `thinking` block",
    "messages.7.content.2: Invalid signature in thinking block",
    "The model returned the following errors: messages.7.content.0.thinking.signature: Field required",
    "The encrypted content gAAA could not be verified. Reason: Encrypted content could not be decrypted or parsed.",
    "Upstream request failed: [invalid_request_error] reasoning `encrypted_content` was not issued to this caller",
    "messages.1.content.0.thinking: each thinking block must contain thinking",
    "messages.3.content.1: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. These blocks must remain as they were in the original response.",
  ])("are left out of that request, and of no other: %s", async (message) => {
    let refuses = true;
    const server = await taking((sent) => !(refuses && sent.includes("signed")), message, answer);
    const model = createChatModel();
    const { content, toolCalls, provider } = await ask(server.baseUrl, {}, [], model);
    const messages: readonly ChatMessage[] = [
      { role: "assistant", content, toolCalls, ...(provider === undefined ? {} : { provider }) },
      { role: "tool", toolCallId: "c", content: "{}" },
    ];
    await ask(server.baseUrl, {}, messages, model);
    refuses = false;
    await ask(server.baseUrl, {}, messages, model);
    const sent = server.requests.map(({ body }) => JSON.stringify(body).includes("signed"));
    expect(sent).toEqual([false, true, false, true]);
  });

  test("are not asked for again without end where there are none", async () => {
    const server = await taking(() => false, "Corrupted thought signature.");
    await expect(ask(server.baseUrl, {}, called("c"), createChatModel())).rejects.toThrow("Corrupted");
    expect(server.requests).toHaveLength(1);
  });
});

describe("no piece is lost of a stream that comes", () => {
  const piece = (delta: object, reason: string | null = null) =>
    JSON.stringify({ choices: [{ index: 0, delta, finish_reason: reason }] });
  const pieces = [
    piece({ content: "Wh}{" }),
    piece({ tool_calls: [{ index: 0, id: "c", function: { name: "x", arguments: "{}" } }] }),
    piece({ content: "ich?" }, "tool_calls"),
    JSON.stringify({ choices: [], usage: { prompt_tokens: 5, completion_tokens: 2 } }),
  ];
  test.each([
    ["as a list", `[${pieces.join(",")}]`],
    ["as lines of JSON", pieces.join("\n")],
    ["as objects without anything between them", pieces.join("")],
    ["in one event", `data: ${pieces.join("")}\n\ndata: [DONE]\n\n`],
    ["under a mark of another gateway", pieces.map((one) => `data: data: ${one}\n\n`).join("")],
  ])("%s", async (_, body) => {
    const server = await startRawServer((response) => response.end(body));
    const answer = await ask(server.baseUrl, { stream: true }, [], createChatModel());
    expect(answer.content).toBe("Wh}{ich?");
    expect(answer.toolCalls).toEqual([{ id: "c", name: "x", argumentsJson: "{}" }]);
    expect(answer.finishReason).toBe("tool_calls");
    expect(answer.usage).toEqual({ promptTokens: 5, completionTokens: 2 });
  });
});

test.each([
  [" length", "length"],
  ["length\n", "length"],
  ["\tcontent_filter ", "content_filter"],
])("an end with blanks around its word is that end: %j", async (reason, end) => {
  const choice = { index: 0, message: { content: "x" }, finish_reason: reason };
  const server = await taking(() => true, "", { choices: [choice] });
  expect((await ask(server.baseUrl, {}, [], createChatModel())).finishReason).toBe(end);
});

describe("what was counted of half an answer is known where", () => {
  const half = { choices: [{ index: 0, delta: { content: "Half" } }], usage: { prompt_tokens: 7 } };

  async function askedFor(timeoutMs: number, then: (response: ServerResponse) => void) {
    const server = await startRawServer((response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write(`data: ${JSON.stringify(half)}\n\n`, () => then(response));
    });
    const asked = ask(server.baseUrl, { stream: true, timeoutMs }, [], createChatModel());
    return asked.catch((error: unknown) => error);
  }

  test("its connection breaks", async () => {
    const error = await askedFor(30_000, (response) => response.destroy());
    expect(error).toMatchObject({ code: "LLM_HTTP_ERROR", usage: { promptTokens: 7 } });
    expect((error as Error).message).toMatch(/broke the connection \(ECONNRESET\)\.$/);
  });

  test("its time is over", async () => {
    const error = await askedFor(300, () => undefined);
    expect(error).toMatchObject({ code: "LLM_TIMEOUT", usage: { promptTokens: 7 } });
  });
});
