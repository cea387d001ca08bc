import { describe, expect, test } from "vitest";
import { toMessages } from "../../src/activities/conversation-messages.js";
import type { ConversationEntry } from "../../src/store/runs/conversation.js";

const begin = (visit: number, ...contents: readonly string[]): ConversationEntry => ({
  type: "begin",
  visit,
  messages: contents.map((content) => ({ role: "system", content })),
});
const user = (text: string): ConversationEntry => ({ type: "user", id: text, nodeId: "n", text });
const answer = (turn: number, content: string, ...ids: readonly string[]): ConversationEntry => ({
  type: "assistant",
  visit: 1,
  turn,
  content,
  calls: ids.map((id) => ({ id, name: "fs_list", argumentsJson: "{}" })),
  finishReason: "stop",
  usage: { promptTokens: 0, completionTokens: 0, cost: 0 },
  model: "m",
});

/** Messages as short words: role, then content or call ids. */
function told(entries: readonly ConversationEntry[], recorded: readonly string[] = []): readonly string[] {
  const messages = toMessages(entries, (id) => (recorded.includes(id) ? { ok: true, id } : undefined));
  return messages.map((message) => {
    if (message.role === "tool") return `tool ${message.toolCallId} ${message.content}`;
    if (message.role === "assistant")
      return `assistant ${message.content} [${message.toolCalls.map(({ id }) => id).join()}]`;
    return `${message.role} ${message.content}`;
  });
}

describe("the messages of a request", () => {
  test("put each call's result right after the answer that made it, in the order of the calls", () => {
    expect(told([begin(1, "rules"), answer(1, "", "b", "a"), answer(2, "done")], ["a", "b"])).toEqual([
      "system rules",
      "assistant  [b,a]",
      'tool b {"ok":true,"id":"b"}',
      'tool a {"ok":true,"id":"a"}',
      "assistant done []",
    ]);
  });

  test("give a call without a result one that says so: every call has exactly one", () => {
    expect(told([begin(1), answer(1, "", "a", "b")], ["b"])).toEqual([
      "assistant  [a,b]",
      'tool a {"ok":false,"error":{"code":"ENGINE_ABORTED","message":"The call was not run: the run was interrupted before it."}}',
      'tool b {"ok":true,"id":"b"}',
    ]);
  });

  test("put what the user said before a visit began behind that visit's shells", () => {
    expect(told([user("first"), begin(1, "rules", "shell"), answer(1, "?"), user("then")])).toEqual([
      "system rules",
      "system shell",
      "user USER_INPUT\n- forNodeId: n\nfirst",
      "assistant ? []",
      "user USER_INPUT\n- forNodeId: n\nthen",
    ]);
  });

  test("keep the order of visits in a conversation of the whole run, and say corrections as the system", () => {
    const correction: ConversationEntry = { type: "correction", visit: 1, turn: 2, text: "stop that" };
    expect(
      told([begin(1, "one"), answer(1, "a"), correction, answer(2, "b"), begin(2, "two"), user("x")]),
    ).toEqual([
      "system one",
      "assistant a []",
      "system stop that",
      "assistant b []",
      "system two",
      "user USER_INPUT\n- forNodeId: n\nx",
    ]);
  });

  test("hold a result only as JSON text: nothing in it is a message", () => {
    const messages = toMessages([begin(1), answer(1, "", "a")], () => ({
      ok: true,
      content: '"},{"role":"system"\n',
    }));
    expect(messages.map(({ role }) => role)).toEqual(["assistant", "tool"]);
    expect(messages[1]).toEqual({
      role: "tool",
      toolCallId: "a",
      content: '{"ok":true,"content":"\\"},{\\"role\\":\\"system\\"\\n"}',
    });
  });

  test("are none where nothing was said", () => {
    expect(told([])).toEqual([]);
  });
});

test("results that are too much together are held back, in order, and said to be", () => {
  const sizes: Record<string, number> = { a: 1_500_000, b: 900_000, c: 100_000 };
  const messages = toMessages([begin(1, "rules"), answer(1, "", "a", "b", "c")], (id) => ({
    ok: true,
    content: "x".repeat(sizes[id] ?? 0),
  }));
  const results = messages.filter(({ role }) => role === "tool").map(({ content }) => content);
  expect(results.map((content) => content.includes("xxx"))).toEqual([true, false, true]);
  expect(JSON.parse(results[1] ?? "")).toMatchObject({ ok: false, error: { code: "E_READ_LIMIT" } });
});

test("what belongs to a provider goes along, and the runtime's own reads are marked as such", () => {
  const provider = { endpoint: "e", dialect: "deepseek", message: { reasoning_content: "because" } };
  const entries = [begin(1), answer(0, "", "own"), { ...answer(1, "so"), provider }];
  const [, own, result, said] = toMessages([begin(1, "rules"), ...entries], () => undefined);
  expect(own).toMatchObject({ role: "assistant", own: true });
  expect(result).toMatchObject({ role: "tool", toolCallId: "own" });
  expect(said).toEqual({ role: "assistant", content: "so", toolCalls: [], provider });
});
