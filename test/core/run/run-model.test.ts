import { describe, expect, test } from "vitest";
import { DEFAULT_ENGINE_LIMITS } from "../../../src/core/run/limits.js";
import { attemptsAt, modelLabel, modelsOf, nextModel, pauseAfter } from "../../../src/core/run/run-model.js";

const CHAIN = ["a", "b", "c"].map((model) => ({ model, endpoint: "https://h.test/v1" }));

describe("the models of a run", () => {
  test("are asked one after the other, for failures of the model alone", () => {
    expect([0, 1, 2].map((place) => nextModel(CHAIN, place, "LLM_AUTH_FAILED"))).toEqual([1, 2, undefined]);
    for (const code of ["LLM_TIMEOUT", "LLM_RATE_LIMITED", "LLM_HTTP_ERROR", "LLM_BAD_RESPONSE"]) {
      expect(nextModel(CHAIN, 0, code)).toBe(1);
    }
    for (const code of ["E_INTERNAL", "E_PRECONDITION_FAILED", "ENGINE_ABORTED", "WrongStore", ""]) {
      expect(nextModel(CHAIN, 0, code)).toBeUndefined();
    }
    expect(nextModel([], 0, "LLM_TIMEOUT")).toBeUndefined();
  });

  test("but the last one are asked less often before the next one is", () => {
    const attempts = (place: number, changes = {}) =>
      attemptsAt(CHAIN, place, { ...DEFAULT_ENGINE_LIMITS, ...changes });
    expect([0, 1, 2].map((place) => attempts(place))).toEqual([3, 3, 8]);
    expect(attempts(0, { maxModelAttempts: 2 })).toBe(2);
    expect(attemptsAt([], 0, DEFAULT_ENGINE_LIMITS)).toBe(8);
  });

  test("are an agent's own where it has some", () => {
    const models = { chain: CHAIN, agents: [{ agentId: "x", chain: CHAIN.slice(1) }] };
    expect(modelsOf(models, "x")).toEqual(CHAIN.slice(1));
    expect(modelsOf(models, "y")).toEqual(CHAIN);
    expect(modelsOf(undefined, "x")).toEqual([]);
  });

  test("are named by what people know of them", () => {
    expect(modelLabel({ model: "m", endpoint: "http://h:1/v1" })).toBe("m at h:1");
    expect(modelLabel({ name: "n", model: "m", endpoint: "http://h/v1" })).toBe("n (m at h)");
    expect(modelLabel({ name: "n", model: "m" })).toBe("n (m)");
  });

  test("that nobody has are asked for again after pauses that grow to a bound", () => {
    expect([1, 2, 3, 20, 9_000].map((times) => pauseAfter(times, 30_000))).toEqual([
      200, 400, 800, 30_000, 30_000,
    ]);
  });
});
