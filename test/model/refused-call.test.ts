import { describe, expect, test } from "vitest";
import { createChatModel } from "../../src/model/chat-model.js";
import { startRawServer } from "./raw-server.js";

const refused = (generated: string) => ({
  error: {
    message:
      "tool call validation failed: attempted to call tool 'web_search' which was not in request.tools",
    type: "invalid_request_error",
    code: "tool_use_failed",
    failed_generation: generated,
  },
});
const CALL = { name: "web_search", arguments: { query: "tea" } };

const whole = (generated: string) => ({ status: 400, body: JSON.stringify(refused(generated)) });
const inStream = (generated: string) => ({
  status: 200,
  body: `data: ${JSON.stringify({ choices: [{ index: 0, delta: { role: "assistant", reasoning: "Hm." } }] })}\n\nevent: error\ndata: ${JSON.stringify(refused(generated))}\n\n`,
});

async function ask({ status, body }: { status: number; body: string }) {
  const server = await startRawServer((response) => {
    response.writeHead(status);
    response.end(body);
  });
  return createChatModel().complete({
    settings: { model: "m", baseUrl: server.baseUrl, stream: true, timeoutMs: 30_000 },
    messages: [],
    tools: [],
    signal: new AbortController().signal,
  });
}

describe.each([
  ["in place of an answer", whole],
  ["in the middle of a stream", inStream],
])("a call that its own server refuses %s", (_, from) => {
  test.each([
    [JSON.stringify(CALL), [CALL.name]],
    [JSON.stringify({ name: "fs_read", parameters: { path: 1 } }), ["fs_read"]],
    [JSON.stringify([CALL, { ...CALL, name: "browser.open" }]), [CALL.name, "browser.open"]],
  ])("is the answer, to be told like any other what is wrong: %s", async (generated, names) => {
    const answer = await ask(from(generated));
    expect(answer).toMatchObject({ finishReason: "tool_calls" });
    expect(answer.toolCalls.map(({ name }) => name)).toEqual(names);
    expect(answer.toolCalls.map(({ argumentsJson }) => argumentsJson)).not.toContain("{}");
  });

  test.each([
    "",
    'web_search{"query":"tea"}</function>',
    '{"name":"web_search","arguments":{"que',
    '["web_search"]',
    "I cannot do that.",
  ])("and cannot be read is asked for again: %s", async (generated) => {
    await expect(ask(from(generated))).rejects.toMatchObject({
      code: "LLM_BAD_RESPONSE",
      retryable: true,
    });
  });
});

test("words of a call that was refused, without their code, are of an answer that is asked for again", async () => {
  const message = "Tool call validation failed: parameters for tool fs_read did not match schema";
  const body = JSON.stringify({ error: { message, type: "invalid_request_error" } });
  await expect(ask({ status: 400, body })).rejects.toMatchObject({
    code: "LLM_BAD_RESPONSE",
    retryable: true,
  });
});
