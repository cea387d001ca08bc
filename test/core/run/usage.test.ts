import { describe, expect, test } from "vitest";
import {
  NO_USAGE,
  about,
  addUsage,
  costInWords,
  tokensInWords,
  workInWords,
} from "../../../src/core/run/usage.js";

describe("usage", () => {
  test("adds up, and says nothing of a cache or of estimates where nobody did", () => {
    const used = { modelTurns: 1, promptTokens: 100, completionTokens: 10, cost: 0.5 };
    const twice = addUsage(addUsage(NO_USAGE, used), used);
    expect(twice).toEqual({
      modelTurns: 2,
      toolCalls: 0,
      promptTokens: 200,
      completionTokens: 20,
      cost: 1,
    });
    expect(addUsage(twice, { toolCalls: 3 })).toEqual({ ...twice, toolCalls: 3 });
  });

  test("of which some was estimated is estimated, and stays so", () => {
    const estimated = addUsage(NO_USAGE, { promptTokens: 7, estimated: true });
    expect(addUsage(estimated, { promptTokens: 1 })).toMatchObject({ promptTokens: 8, estimated: true });
  });

  test("adds up what came from a cache", () => {
    const cached = addUsage(NO_USAGE, { promptTokens: 100, cachedPromptTokens: 64 });
    expect(addUsage(cached, { promptTokens: 10 })).toMatchObject({
      promptTokens: 110,
      cachedPromptTokens: 64,
    });
  });

  test.each([
    [{}, "120+30 tokens"],
    [{ cachedPromptTokens: 64 }, "120+30 tokens (64 cached)"],
    [{ estimated: true }, "~120+30 tokens"],
  ])("in words: %j", (more, words) => {
    expect(tokensInWords({ ...NO_USAGE, promptTokens: 120, completionTokens: 30, ...more })).toBe(words);
  });

  test.each([
    [{ modelTurns: 1, toolCalls: 1 }, "1 model turn, 1 tool call"],
    [{ modelTurns: 2 }, "2 model turns, 0 tool calls"],
  ])("of model and tools in words: %j", (used, words) => {
    expect(workInWords({ ...NO_USAGE, ...used })).toBe(words);
  });

  test.each([
    [{ cost: 0.012 }, ", cost 0.0120"],
    [{ cost: 0.012, estimated: true }, ", cost ~0.0120"],
    [{}, ""],
  ])("of money in words: %j", (used, words) => {
    expect(costInWords({ ...NO_USAGE, ...used })).toBe(words);
  });

  test("of estimates stands behind a tilde", () => {
    expect([about(NO_USAGE), about({ ...NO_USAGE, estimated: true })]).toEqual(["", "~"]);
  });
});
