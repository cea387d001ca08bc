import { describe, expect, test } from "vitest";
import { correctionOf, estimateTokens } from "../../../src/core/run/token-estimate.js";

describe("an estimate of a text's tokens", () => {
  test.each([
    ["nothing", "", 0],
    ["English, four characters to a token", "The model reads a file.\n".repeat(100), 600],
    ["Cyrillic, two", "слово".repeat(10), 25],
    ["Chinese, one", "模型的上下文".repeat(10), 60],
    ["emoji, two tokens each", "🙂🙂🙂", 6],
    ["a mix", "ab 模", 2],
  ])("of %s", (_, text, tokens) => {
    expect(estimateTokens(text)).toBe(tokens);
  });
});

describe("what providers count corrects estimates", () => {
  const counted = (promptTokens: number, sentTokens?: number, estimated = false) => ({
    promptTokens,
    estimated,
    ...(sentTokens === undefined ? {} : { sentTokens }),
  });

  test.each([
    ["not at all before the first answer", [], 1],
    ["by the newest request that was counted", [counted(100, 100), counted(150, 100)], 1.5],
    ["also downwards", [counted(80, 100)], 0.8],
    ["not by what was estimated itself", [counted(150, 100), counted(100, 100, true)], 1.5],
    ["not by requests whose estimate nobody has written down", [counted(150, 100), counted(900)], 1.5],
    ["not by a count without what was cached", [counted(30, 100)], 1],
    ["by no more than four", [counted(900, 100)], 4],
  ])("%s", (_, requests, correction) => {
    expect(correctionOf(requests)).toBe(correction);
  });
});
