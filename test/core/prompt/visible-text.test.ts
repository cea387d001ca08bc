import { expect, test } from "vitest";
import { visibleText } from "../../../src/core/prompt/visible-text.js";

test.each([
  ["Which colour?", "Which colour?"],
  ["<think>hm</think>\n\nWhich colour?", "Which colour?"],
  ["\n<think>\nhm\n</think>Which?", "Which?"],
  ["<THINK>hm</THINK>Which?", "Which?"],
  ["<thinking>a</thinking><think>b</think> c", "c"],
  ["<reasoning>a</reasoning>b", "b"],
  ["<think>never closed", ""],
  ["the server began it</think>Which?", "Which?"],
  ["<think></think>", ""],
  ["Use <think> tags? I do <think>.", "Use <think> tags? I do <think>."],
  ["  spaces stay", "  spaces stay"],
  ["<Think>hm</Think>Which?", "Which?"],
  ["[THINK]hm[/THINK]Which?", "Which?"],
  ["◁think▷hm◁/think▷Which?", "Which?"],
  ["<seed:think>hm</seed:think>Which?", "Which?"],
  ["<|begin_of_thought|>hm<|end_of_thought|>Which?", "Which?"],
  ["<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>final<|message|>Which?", "Which?"],
  ["<|START_THINKING|>hm<|END_THINKING|>Which?", "Which?"],
  ["<longcat_think>hm</longcat_think>Which?", "Which?"],
  ["<|channel>thought\nhm\n<channel|>Which?", "Which?"],
  [
    "<|open|>think<|sep|>hm<|close|>think<|sep|><|open|>response<|sep|>Which?<|close|>response<|sep|>",
    "Which?",
  ],
  ["hm<|close|>think<|open|>response<|sep|>Which?<|close|>response<|sep|><|close|>message<|sep|>", "Which?"],
  ["hm<|open|>response<|sep|>Which?<|close|>message<|sep|><|end_of_msg|>", "Which?"],
  ["<|open|>response<|sep|>Which?", "Which?"],
  ["Which?<|close|>message<|sep|>", "Which?"],
  ["<|channel>\nhm\n<channel|>\nWhich?", "Which?"],
  ["<|inner_prefix|>hm<|inner_suffix|>Which?", "Which?"],
  ["<mm:think>hm</mm:think>Which?", "Which?"],
  ["I see.\n<think>hm</think>\nWhich?", "I see.\n\nWhich?"],
  ["I see. <think>hm `</think> Which?", "I see.  Which?"],
  ["Which?\n<think>Now I", "Which?\n"],
  ["Between <think> and </think>: which?", "Between <think> and </think>: which?"],
  ["Is `</think>` the end?", "Is `</think>` the end?"],
  ["Is `<think>a</think>` right?", "Is `<think>a</think>` right?"],
  ["Like this?\n```\n<think>a</think>\n```", "Like this?\n```\n<think>a</think>\n```"],
  ["thought with `a tick\n</think>\nWhich?", "\nWhich?"],
  ["Which?<turn|>", "Which?"],
  ["Which?<|im_end|>\n", "Which?"],
  ["Which?</s><|endoftext|>", "Which?"],
  ["Which?\n<end_of_turn>\n<eos>", "Which?\n"],
  ["Which?<｜end▁of▁sentence｜>", "Which?"],
  ["<|eot_id|>", ""],
  ["<think>hm</think>Which?<|im_end|>", "Which?"],
  ["<|START_THINKING|>hm<|END_THINKING|><|START_RESPONSE|>Which?<|END_RESPONSE|>", "Which?"],
  ["<|begin_of_thought|>hm<|end_of_thought|>\n<|begin_of_solution|>Which?<|end_of_solution|>", "Which?"],
  ["<|im_start|>assistant\n<think>hm</think>Which?<|im_end|>", "Which?"],
  ["<start_of_turn>model\nWhich?<end_of_turn>", "Which?"],
  ["<|im_start|>assistants?", "<|im_start|>assistants?"],
  ["Is it <s>red</s>", "Is it <s>red</s>"],
  ["Which file? <|tool_call|>", "Which file? <|tool_call|>"],
  ["Which file?\n<｜tool▁calls▁begin｜>", "Which file?\n<｜tool▁calls▁begin｜>"],
  ['Is it <s class="old">red</s>', 'Is it <s class="old">red</s>'],
  ["Is it `<|im_end|>`", "Is it `<|im_end|>`"],
  ["Which of <a> and <b>", "Which of <a> and <b>"],
])("%j is seen as %j", (text, seen) => {
  expect(visibleText(text)).toBe(seen);
});

test.each([
  "<|im_end|>\n",
  "</think>\n",
  "x</think>",
  "<think>x</think>",
  "</think>`",
  "</think></thinking>",
])("%j a hundred thousand times, as a model in a loop writes it, is seen through", (repeated) => {
  expect(visibleText(`${repeated.repeat(100_000)}\nWhich?`)).toMatch(/Which\?$/);
});

test("a hundred thousand ends of a turn are none of what is seen", () => {
  expect(visibleText(`Which?${"</s> <|im_end|>\n".repeat(100_000)}`)).toBe("Which?");
});
