import { describe, expect, test } from "vitest";
import { mostNudges, whyNoQuestion } from "../../../src/core/run/no-question.js";

const TOOLS = ["fs_read", "fs_write"];

describe("an answer without calls is", () => {
  test.each([
    ["", "empty"],
    [" \n\t", "empty"],
    ["I will now continue.", "asks-nothing"],
    ["All of it is done.", "asks-nothing"],
    ["Let me look at how the project is structured.", "asks-nothing"],
    ["I'll now read the file and decide what to do.", "asks-nothing"],
    ["Next, I will select the story, confirm its scope and answer its questions.", "asks-nothing"],
    ["Okay, let me check which files exist.", "asks-nothing"],
    ["I have finished the step. The next one follows, which I will do now.", "asks-nothing"],
    ["Proceeding to provide the summary when the file is read.", "asks-nothing"],
    ["Step complete. Moving on to what comes next.", "asks-nothing"],
    ["**Now** I choose the first story.", "asks-nothing"],
    ["Ich sehe jetzt nach, welche Dateien es gibt.", "asks-nothing"],
    ["Je regarde quels fichiers existent, et quelle est la suite.", "asks-nothing"],
    ["Stuck.", undefined],
    ["Which colour do you want", undefined],
    ["I have two drafts. Choose one", undefined],
    ["Choose: A or B", undefined],
    ["Ok, what should the title be", undefined],
    ["All is read. Shall we go on", undefined],
    ["Are these correct", undefined],
    ["Would you like A or B", undefined],
    ["All is ready. Awaiting your instructions.", undefined],
    ["Enter the story's id:", undefined],
    ["The file is read to name the story.", "asks-nothing"],
    ["To continue, choose A or B.", undefined],
    ["The colour is missing. Provide it so that I can go on.", undefined],
    ["I'll wait for your decision.", undefined],
    ["I cannot go on without the story; please name it.", undefined],
    ["Let me know which one is meant.", undefined],
    ["I need to know which colour to paint.", undefined],
    ["We are not sure who signs the report.", undefined],
    ["I'd like to know what the budget is.", undefined],
    ["I can't tell which of both is meant.", undefined],
    ["I need a decision on the colour.", undefined],
    ["I am waiting for approval.", undefined],
    ["I'll wait for the user's confirmation before proceeding.", undefined],
    ["Press C when ready.", undefined],
    ["Sag mir, welches Format du willst.", undefined],
    ["I need to read what the file says.", "asks-nothing"],
    ["Two ways are open:\n- a\n- b\nWaiting for an answer.", undefined],
    ['<tool_call>{"name": "fs_read", "arguments": {}}</tool_call>', "written-call"],
    ['```json\n{"name": "fs_read", "arguments": {"path": "@pkg/x"}}\n```', "written-call"],
    ['{"tool": "fs.write", "path": "x"}', "written-call"],
    ["<function=fs_read><parameter=path>x</parameter></function>", "written-call"],
    ["[TOOL_CALLS][{}]", "written-call"],
    ['fs_read(path="@pkg/x")', "written-call"],
    ['[fs_read(path="@pkg/x"), fs_write(path="y")]', "written-call"],
    ['```tool_code\nprint(default_api.fs_read(path="x"))\n```', "written-call"],
    [
      "<|tool_calls_section_begin|><|tool_call_begin|>functions.fs_read:0<|tool_call_argument_begin|>{}",
      "written-call",
    ],
    ['<minimax:tool_call><invoke name="fs_read"></invoke></minimax:tool_call>', "written-call"],
    ['<｜DSML｜function_calls><｜DSML｜invoke name="fs_read">', "written-call"],
    ["<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function", "written-call"],
    ["<start_function_call>call:fs_read{path:x}<end_function_call>", "written-call"],
    ["<longcat_tool_call>fs_read</longcat_tool_call>", "written-call"],
    ["<TOOLCALL>[{}]</TOOLCALL>", "written-call"],
    ["<|channel|>commentary to=functions.fs_read <|constrain|>json<|message|>{}", "written-call"],
    ["Thought: I read.\nAction: fs_read\nAction Input: {}", "written-call"],
    ["{'name': 'fs_read', 'arguments': {}}", "written-call"],
    ['{"recipient_name": "functions.fs_read"}', "written-call"],
    ["<fs_write>\n<content>Which colour?</content>\n</fs_write>", "written-call"],
    ['<fs_write path="which.md?"/>', "written-call"],
    ["<tool_use><name>fs_read</name><path>what?</path></tool_use>", "written-call"],
    ["<tool><tool_name> fs_read </tool_name><path>what?</path></tool>", "written-call"],
    ['<|tools_prefix|>[{"fs_read": {"path": "who?"}}]<|tools_suffix|>', "written-call"],
    ['{"fs_write": {"content": "Which colour?"}}', "written-call"],
    ['{"function_name": "fs_write", "arguments": {"content": "Which?"}}', "written-call"],
    ['**fs_write**\n```json\n{"content": "Which?"}\n```', "written-call"],
    ['fs_write {"content": "Which?"}', "written-call"],
    ['Tool call: fs_write {"content": "Which?"}', "written-call"],
    ['commentary to=fs_write json{"content": "Which?"}', "written-call"],
    ['`fs_write(content="Which?")`', "written-call"],
    ["Shall I call fs_read or fs_write?", undefined],
    ["Should `fs_write` be allowed to change {this}?", undefined],
    ["Is <name> the author? I have read it with fs_read.", undefined],
    ['Which of these settings is meant: {"colour": {"name": "red"}}?', undefined],
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
