import { describe, expect, test } from "vitest";
import { type ChatMessage, type ModelSettings, createChatModel } from "../../src/model/chat-model.js";
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
