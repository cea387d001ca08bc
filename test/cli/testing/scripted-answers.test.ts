import { describe, expect, test } from "vitest";
import { scriptedAnswers, SCRIPTED_SETTINGS } from "../../../src/cli/testing/scripted-answers.js";
import { FILE_FUNCTION_TOOLS } from "../../../src/core/tools/tool-specs.js";
import type { ChatMessage, ChatRequest } from "../../../src/model/chat.js";

const at = (nodeId: string, ...more: readonly ChatMessage[]): ChatRequest => ({
  settings: SCRIPTED_SETTINGS,
  messages: [{ role: "user", content: `NODE_BRIEF\n- currentNodeId: ${nodeId} (type=step)` }, ...more],
  tools: FILE_FUNCTION_TOOLS,
  signal: new AbortController().signal,
});
const said = (content: string): ChatMessage => ({ role: "assistant", content, toolCalls: [] });

describe("scripted answers", () => {
  test("are given in order, and again to the same request", async () => {
    const model = scriptedAnswers([{ text: "one" }, { text: "two" }]);
    const texts: string[] = [];
    for (const request of [at("a"), at("a"), at("a", said("one")), at("a", said("one"))]) {
      texts.push((await model.complete(request)).content);
    }
    expect(texts).toEqual(["one", "one", "two", "two"]);
    expect(model.unused()).toEqual([]);
  });

  test("of nodes are given where the run stands; a user who quotes a brief changes nothing", async () => {
    const model = scriptedAnswers({ a: [{ text: "at a" }], b: [{ text: "at b" }, {}] });
    const quoting = {
      role: "user",
      content: "USER_INPUT\n- forNodeId: b\nNODE_BRIEF\n- currentNodeId: a",
    } as const;
    expect((await model.complete(at("b", quoting))).content).toBe("at b");
    expect(model.unused()).toEqual([
      { nodeId: "a", count: 1 },
      { nodeId: "b", count: 1 },
    ]);
  });

  test("that have run out are a failure for good, with the node's name", async () => {
    const model = scriptedAnswers({ a: [] });
    await expect(model.complete(at("a"))).rejects.toMatchObject({
      retryable: false,
      message: 'The test has no answer left for the node "a".',
    });
  });

  const result = (content: string): ChatMessage => ({ role: "tool", toolCallId: "1", content });
  const worked = result('{"ok":true}');
  const failed = result(
    '{"ok":false,"error":{"code":"TOOL_NOT_AVAILABLE","message":"There is no fs.writ."}}',
  );

  test.each<[string, readonly ChatMessage[], string]>([
    ["a call that failed", [failed, worked], "There is no fs.writ."],
    ["a text that asks nothing", [{ role: "system", content: "You asked nothing." }], "You asked nothing."],
    ["calls that worked", [worked], ""],
    ["a reply", [failed, { role: "user", content: "USER_INPUT\n- forNodeId: a\nYes." }], ""],
  ])("that have run out after %s: it is said what the model was told last", async (_, messages, told) => {
    const why = told === "" ? "" : ` The model was told last: ${told}`;
    await expect(scriptedAnswers([]).complete(at("a", said("I go on."), ...messages))).rejects.toMatchObject({
      message: `The test has no answer left for the node "a".${why}`,
    });
  });

  test("call tools as the request spells them; what it does not offer is called as it is", async () => {
    const model = scriptedAnswers([
      {
        calls: [
          { tool: "fs.read", arguments: "{" },
          { tool: "fs_list", arguments: {} },
          { tool: "x.y", arguments: {} },
        ],
      },
    ]);
    const { toolCalls, finishReason } = await model.complete(at("a"));
    expect(toolCalls.map(({ name, argumentsJson }) => [name, argumentsJson])).toEqual([
      ["fs_read", "{"],
      ["fs_list", "{}"],
      ["x.y", "{}"],
    ]);
    expect(finishReason).toBe("tool_calls");
  });

  test("name the newest hash that the conversation told of a file; a file it told nothing of stays a mark", async () => {
    const mark = (path: string) => `{{sha256 ${path}}}`;
    const given = { path: "@state/a.md", deep: [mark("@state/a.md"), mark("@state/b.md"), "text"] };
    const model = scriptedAnswers([{ calls: [{ tool: "fs.write", arguments: given }] }]);
    const told = (id: string, result: object): readonly ChatMessage[] => [
      {
        role: "assistant",
        content: "",
        toolCalls: [{ id, name: "fs_read", argumentsJson: '{"path":"@state/a.md"}' }],
      },
      { role: "tool", toolCallId: id, content: JSON.stringify(result) },
    ];
    const request = at(
      "a",
      ...told("1", { ok: true, sha256: "old" }),
      ...told("2", { ok: true, sha256Before: "old", sha256After: "new" }),
      { role: "tool", toolCallId: "3", content: "no JSON" },
    );
    const [made] = (await model.complete(request)).toolCalls;
    expect(JSON.parse(made?.argumentsJson ?? "")).toEqual({
      path: "@state/a.md",
      deep: ["new", mark("@state/b.md"), "text"],
    });
  });
});
