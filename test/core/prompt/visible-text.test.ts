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
])("%j is seen as %j", (text, seen) => {
  expect(visibleText(text)).toBe(seen);
});
