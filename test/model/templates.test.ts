import { describe, expect, test } from "vitest";
import type { ChatMessage } from "../../src/model/chat.js";
import { createChatModel } from "../../src/model/chat-model.js";
import { errorInAnswer } from "../../src/model/model-error.js";
import { startRawServer } from "./raw-server.js";

/* The words of templates that lie beside llama.cpp, as its server of October 2026 puts them. */

const CALLED: readonly ChatMessage[] = [
  { role: "system", content: "rules" },
  { role: "system", content: "persona" },
  { role: "user", content: "directive" },
  {
    role: "assistant",
    content: "",
    own: true,
    toolCalls: [{ id: "own_1", name: "x", argumentsJson: "{}" }],
  },
  { role: "tool", toolCallId: "own_1", content: "{}" },
];

interface Sent {
  readonly role: string;
  readonly tool_calls?: readonly { readonly id: string }[];
}

const hasNineLetters = (messages: readonly Sent[]) =>
  messages.every(({ tool_calls: calls = [] }) => calls.every(({ id }) => /^[a-zA-Z0-9]{9}$/.test(id)));
const hasOneRule = (messages: readonly Sent[]) =>
  messages.filter(({ role }) => role === "system").length <= 1;

const raised = (line: string, words: string) =>
  `\n------------\nWhile executing CallExpression at line 9, column 40 in source:\n...${line}...\n   ^\nError: Jinja Exception: ${words}`;
const NINE = "Tool call IDs should be alphanumeric strings with length 9!";
const SYSTEM = "Only user, assistant and tool roles are supported, got system.";
const OPTIONAL =
  "Only user and assistant roles are supported, with the exception of an initial optional system message!";
const PARSER = "Unable to generate parser for this template. Automatic parser generation failed: ";

const ANSWER = { choices: [{ index: 0, message: { content: "x" }, finish_reason: "stop" }] };

async function served(status: number, message: string, isTaken: (messages: readonly Sent[]) => boolean) {
  const server = await startRawServer((response, { body }) => {
    const { messages } = body as { messages: readonly Sent[] };
    const isAnswered = isTaken(messages);
    const answer = isAnswered ? ANSWER : { error: { code: status, message, type: "server_error" } };
    response.writeHead(isAnswered ? 200 : status, { "content-type": "application/json" });
    response.end(JSON.stringify(answer));
  });
  return { server, ask: askingOf(server.baseUrl) };
}

/** Asks one model there, which learns. */
function askingOf(baseUrl: string) {
  const model = createChatModel();
  return () =>
    model.complete({
      settings: { model: "m", baseUrl, stream: false, timeoutMs: 30_000 },
      messages: CALLED,
      tools: [],
      signal: new AbortController().signal,
    });
}

describe("what a template of a local model does not take is asked in another form", () => {
  test.each<[number, string, string, (messages: readonly Sent[]) => boolean]>([
    [
      400,
      "ids of nine letters",
      PARSER + raised('{{- raise_exception("Tool call IDs should be alphanumeric s', NINE),
      hasNineLetters,
    ],
    [
      500,
      "ids of nine letters",
      raised('{{- raise_exception("Tool call IDs should be alphanumeric s', NINE),
      hasNineLetters,
    ],
    [400, "ids in other words", "The IDs of tool calls are of another kind: tool_call_id.", hasNineLetters],
    [
      500,
      "one system message",
      raised("{{- raise_exception('Only user, assistant and tool roles ar", SYSTEM),
      hasOneRule,
    ],
    [
      400,
      "one system message",
      PARSER + raised('{{- raise_exception("Only user and assistant roles are ', OPTIONAL),
      hasOneRule,
    ],
    [
      500,
      "one system message in other words",
      raised("{{- raise_exception(words)", "There is a second system in this."),
      hasOneRule,
    ],
  ])("%i: %s", async (status, _, message, isTaken) => {
    const { server, ask } = await served(status, message, isTaken);
    expect(await ask()).toMatchObject({ content: "x" });
    const asked = server.requests.length;
    await ask();
    expect(server.requests).toHaveLength(asked + 1);
    expect(asked).toBeLessThan(6);
  });

  test.each<[string, string, (messages: readonly Sent[]) => boolean]>([
    ["one system message", "System message must be at the beginning.", hasOneRule],
    ["no system message", "System role not supported", (sent) => sent.every(({ role }) => role !== "system")],
  ])("404, as MLX's server has it of all its faults: %s", async (_, error, isTaken) => {
    const server = await startRawServer((response, { body }) => {
      const isAnswered = isTaken((body as { messages: readonly Sent[] }).messages);
      const answer = isAnswered ? ANSWER : { error };
      response.writeHead(isAnswered ? 200 : 404, { "content-type": "application/json" });
      response.end(JSON.stringify(answer));
    });
    expect(await askingOf(server.baseUrl)()).toMatchObject({ content: "x" });
  });

  test.each([
    ["llama.cpp's", raised("{{- raise_exception(words)", "Nothing of it is taken.")],
    [
      "one of Go's",
      'template: :12:7: executing "" at <index .Messages 1>: error calling index: index out of range: 1',
    ],
  ])("and one that takes none is not asked again: %s", async (_, message) => {
    const { ask } = await served(500, message, () => false);
    await expect(ask()).rejects.toMatchObject({ code: "LLM_HTTP_ERROR", retryable: false });
  });

  test("nor where it is told in an answer without a status, as LocalAI does in its streams", () => {
    const words = raised("{{- raise_exception(words)", "Nothing of it is taken.");
    const error = { code: "server_error", type: "server_error", message: `rpc error: desc = ${words}` };
    expect(errorInAnswer({ error })).toMatchObject({ code: "LLM_HTTP_ERROR", retryable: false });
  });
});
