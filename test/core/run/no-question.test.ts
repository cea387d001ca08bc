import { describe, expect, test } from "vitest";
import { mostNudges, whyNoQuestion } from "../../../src/core/run/no-question.js";

const TOOLS = ["fs_read", "fs_write"];

describe("an answer without calls is", () => {
  test.each([
    ["", "empty"],
    [" \n\t", "empty"],
    ["I will now continue.", "asks-nothing"],
    ["All of it is done.", "asks-nothing"],
    ["Stuck.", undefined],
    ['<tool_call>{"name": "fs_read", "arguments": {}}</tool_call>', "written-call"],
    ['```json\n{"name": "fs_read", "arguments": {"path": "@pkg/x"}}\n```', "written-call"],
    ['{"tool": "fs.write", "path": "x"}', "written-call"],
    ["<function=fs_read><parameter=path>x</parameter></function>", "written-call"],
    ["[TOOL_CALLS][{}]", "written-call"],
    ['fs_read(path="@pkg/x")', "written-call"],
    ["Which colour?", undefined],
    ["Tell me the colour.", undefined],
    ["Please choose one of these:\n1. red\n2. blue", undefined],
    ["Welche Farbe soll es sein", undefined],
    ["何色にしますか？", undefined],
    ['Shall I call fs_read, or is {"name": "Ada"} enough?', undefined],
  ])("%j: %s", (text, why) => {
    expect(whyNoQuestion(text, TOOLS)).toBe(why);
  });

  test("judged by a bounded part of it", () => {
    expect(whyNoQuestion(`${"x ".repeat(50_000)}?`, TOOLS)).toBe("asks-nothing");
  });
});

test("a run whose user is not there has the model told more often before it waits", () => {
  expect([mostNudges(false), mostNudges(true)]).toEqual([1, 3]);
});
