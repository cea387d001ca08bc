import { describe, expect, test } from "vitest";
import { costBefore, toUsage } from "../../src/model/read-usage.js";

describe("the usage of an answer", () => {
  test.each([
    [
      "OpenAI",
      { prompt_tokens: 100, completion_tokens: 5, prompt_tokens_details: { cached_tokens: 64 } },
      [100, 5, 64],
    ],
    [
      "DeepSeek",
      { prompt_tokens: 100, completion_tokens: 5, prompt_cache_hit_tokens: 64, prompt_cache_miss_tokens: 36 },
      [100, 5, 64],
    ],
    [
      "DeepSeek without a sum",
      { completion_tokens: 5, prompt_cache_hit_tokens: 64, prompt_cache_miss_tokens: 36 },
      [100, 5, 64],
    ],
    ["Mistral", { prompt_tokens: 100, completion_tokens: 5, num_cached_tokens: 64 }, [100, 5, 64]],
    [
      "Mistral, in its details",
      {
        prompt_tokens: 100,
        completion_tokens: 5,
        prompt_tokens_details: null,
        prompt_token_details: { cached_tokens: 64 },
      },
      [100, 5, 64],
    ],
    ["Moonshot", { prompt_tokens: 100, completion_tokens: 5, cached_tokens: 64 }, [100, 5, 64]],
    [
      "a proxy with Anthropic's names",
      { prompt_tokens: 100, completion_tokens: 5, cache_read_input_tokens: 64 },
      [100, 5, 64],
    ],
    [
      "one that leaves out what was cached",
      { prompt_tokens: 20, completion_tokens: 5, cache_read_input_tokens: 64 },
      [84, 5, 64],
    ],
    [
      "Anthropic",
      { input_tokens: 20, output_tokens: 5, cache_read_input_tokens: 64, cache_creation_input_tokens: 16 },
      [100, 5, 64],
    ],
    [
      "Responses",
      { input_tokens: 100, output_tokens: 5, input_tokens_details: { cached_tokens: 64 } },
      [100, 5, 64],
    ],
    [
      "no cache",
      { prompt_tokens: 100, completion_tokens: 5, prompt_tokens_details: { cached_tokens: 0 } },
      [100, 5, undefined],
    ],
    ["a gateway, as texts", { prompt_tokens: "100", completion_tokens: "5" }, [100, 5, undefined]],
    ["a gateway, in other letters", { promptTokens: 100, completionTokens: 5 }, [100, 5, undefined]],
    ["llama.cpp, in its times", { cache_n: 64, prompt_n: 36, prompt_ms: 31.5, predicted_n: 5 }, [100, 5, 64]],
    [
      "llama.cpp, both ways",
      { prompt_tokens: 100, completion_tokens: 5, cache_n: 64, prompt_n: 36, predicted_n: 5 },
      [100, 5, 64],
    ],
    ["words", { prompt_tokens: "many", completion_tokens: "1e9" }, [0, 0, undefined]],
    [
      "xAI, whose thoughts are in the total alone",
      {
        prompt_tokens: 32,
        completion_tokens: 9,
        total_tokens: 135,
        completion_tokens_details: { reasoning_tokens: 94 },
      },
      [32, 103, undefined],
    ],
    [
      "a gateway to it that leaves the total out",
      { prompt_tokens: 32, completion_tokens: 9, completion_tokens_details: { reasoning_tokens: 94 } },
      [32, 103, undefined],
    ],
    [
      "one whose thoughts are in its answer, without a total",
      { prompt_tokens: 32, completion_tokens: 103, completion_tokens_details: { reasoning_tokens: 94 } },
      [32, 103, undefined],
    ],
    [
      "Gemini, likewise",
      { prompt_tokens: 32, completion_tokens: 0, total_tokens: 135 },
      [32, 103, undefined],
    ],
    [
      "one whose thoughts are in its answer",
      {
        prompt_tokens: 32,
        completion_tokens: 103,
        total_tokens: 135,
        completion_tokens_details: { reasoning_tokens: 94 },
      },
      [32, 103, undefined],
    ],
    [
      "one whose total has what was cached",
      { prompt_tokens: 20, completion_tokens: 5, total_tokens: 89, cache_read_input_tokens: 64 },
      [84, 5, 64],
    ],
    [
      "one whose total tells that what was cached is beside the rest",
      { prompt_tokens: 100, completion_tokens: 5, total_tokens: 169, cache_read_input_tokens: 64 },
      [164, 5, 64],
    ],
    [
      "one whose total tells so under OpenAI's name for it",
      {
        prompt_tokens: 100,
        completion_tokens: 5,
        total_tokens: 169,
        prompt_tokens_details: { cached_tokens: 64 },
      },
      [164, 5, 64],
    ],
    [
      "one whose total tells so of what was written to the cache",
      { prompt_tokens: 100, completion_tokens: 5, total_tokens: 1105, cache_creation_input_tokens: 1000 },
      [1100, 5, undefined],
    ],
    ["a total alone", { total_tokens: 10 }, [0, 0, undefined]],
    ["nothing", undefined, [0, 0, undefined]],
    ["null", { prompt_tokens: null, completion_tokens: "5", prompt_tokens_details: [] }, [0, 5, undefined]],
    [
      "numbers that no tokens are",
      { prompt_tokens: 1e300, completion_tokens: 9e15, total_tokens: 2e300 },
      [0, 0, undefined],
    ],
    ["nonsense", { prompt_tokens: -1, completion_tokens: Number.NaN }, [0, 0, undefined]],
  ])("in the words of %s", (_, usage, [promptTokens, completionTokens, cached]) => {
    const { cachedPromptTokens, ...tokens } = toUsage(usage);
    expect([tokens, cachedPromptTokens]).toEqual([{ promptTokens, completionTokens }, cached]);
  });

  test.each([
    [0.0021, 0.0021],
    [0, undefined],
    [-1, undefined],
    [1e300, undefined],
    ["0.1", undefined],
    [{ total_cost: 0.1 }, undefined],
  ])("has what OpenRouter says that it has cost: %j", (cost, expected) => {
    expect(toUsage({ prompt_tokens: 1, completion_tokens: 1, cost }).cost).toBe(expected);
  });

  test.each([
    ["the fee and what the provider takes, with a key of one's own there", 0.0018, true, 0.036, 0.0378],
    ["what the provider takes, where there is no fee", 0, true, 0.0360795, 0.0360795],
    ["no more than it says, with a key of the router's", 0.036, false, 0.036, 0.036],
    ["the fee, where nobody knows what the provider takes", 0.0018, true, null, 0.0018],
  ])("behind OpenRouter costs %s", (_, cost, isOwnKey, upstream, expected) => {
    const usage = {
      prompt_tokens: 1,
      cost,
      is_byok: isOwnKey,
      cost_details: { upstream_inference_cost: upstream },
    };
    expect(toUsage(usage).cost).toBeCloseTo(expected, 12);
  });

  test.each([
    [37_756_000, 0.0037756],
    [0, undefined],
    ["37756000", undefined],
  ])("has what xAI says that it has cost, in ticks: %j", (ticks, expected) => {
    expect(toUsage({ prompt_tokens: 1, completion_tokens: 1, cost_in_usd_ticks: ticks }).cost).toBe(expected);
  });

  test.each([
    ["4.4e-05", 0.000044],
    ["0", undefined],
    ["", undefined],
    ["None", undefined],
    ["-1", undefined],
  ])("has what LiteLLM says before it that it has cost: %j", (cost, expected) => {
    expect(costBefore(new Headers({ "x-litellm-response-cost": cost })).cost).toBe(expected);
    expect(costBefore(undefined).cost).toBeUndefined();
  });
});
