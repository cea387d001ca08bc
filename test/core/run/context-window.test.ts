import { describe, expect, test } from "vitest";
import {
  type FoldableResult,
  foldToFit,
  isCredible,
  learnedContext,
  roomForAnswer,
  contextRoom,
} from "../../../src/core/run/context-window.js";

const result = (callId: string, tokens: number, more: Partial<FoldableResult> = {}): FoldableResult => ({
  callId,
  tokens,
  foldedTokens: 10,
  withheldTokens: 20,
  isNewest: false,
  isInstruction: false,
  ...more,
});
const ROOM = { wanted: 1_000, most: 1_100 };

describe("the room of a request", () => {
  test.each([
    ["of a long context leaves 4,096 for the answer", { contextTokens: 32_768 }, 4_096, 27_238, 32_512],
    ["of a short one a quarter", { contextTokens: 4_096 }, 1_024, 2_918, 3_840],
    ["with maxTokens what is beside them", { contextTokens: 8_192, maxTokens: 6_000 }, 6_000, 2_082, 2_192],
    ["is none where maxTokens take it all", { contextTokens: 4_096, maxTokens: 8_192 }, 8_192, 0, 0],
  ])("%s", (_, limits, answer, wanted, most) => {
    expect([roomForAnswer(limits), contextRoom(limits)]).toEqual([answer, { wanted, most }]);
  });
});

describe("folding", () => {
  test("leaves a request alone that has the room it wants", () => {
    expect(foldToFit(1_000, ROOM, [result("a", 900)])).toEqual({ calls: [], withheld: [], size: 1_000 });
  });

  test("leaves out the oldest first, in one large step: down to half of the room", () => {
    const results = ["a", "b", "c", "d"].map((id) => result(id, 210));
    expect(foldToFit(1_001, ROOM, results)).toEqual({ calls: ["a", "b", "c"], withheld: [], size: 401 });
  });

  test("keeps what was asked for just now, while the request is not sure to overflow", () => {
    const results = [result("a", 110), result("b", 900, { isNewest: true })];
    expect(foldToFit(1_150, ROOM, results)).toEqual({ calls: ["a"], withheld: [], size: 1_050 });
  });

  test("then withholds the largest of what was asked for just now, in the order of the request", () => {
    const newest = { isNewest: true };
    const results = [result("a", 300, newest), result("b", 900, newest), result("c", 400, newest)];
    expect(foldToFit(1_700, ROOM, results)).toEqual({ calls: [], withheld: ["b"], size: 820 });
    expect(foldToFit(2_200, ROOM, results)).toEqual({ calls: [], withheld: ["b", "c"], size: 940 });
  });

  test("keeps instructions longer than other results, up to a quarter of the room, the first of them longest", () => {
    const instruction = { isInstruction: true };
    const results = [result("step", 150, instruction), result("b", 100), result("more", 200, instruction)];
    expect(foldToFit(1_010, ROOM, results).calls).toEqual(["b", "more"]);
    const two = [result("step", 120, instruction), result("side", 120, instruction), result("c", 15)];
    expect(foldToFit(1_200, ROOM, two)).toEqual({ calls: ["side", "c"], withheld: [], size: 1_085 });
  });

  test("leaves what its line is no shorter than", () => {
    const results = [result("a", 10), result("b", 20, { isNewest: true }), result("c", 9)];
    expect(foldToFit(2_000, ROOM, results)).toEqual({ calls: [], withheld: [], size: 2_000 });
  });
});

describe("what a refusal teaches of the context's length", () => {
  test.each([
    ["what it names, where that explains it", 9_000, 8_192, undefined, 8_192],
    ["what it names beside a long answer", 1_000, 8_192, 8_000, 8_192],
    ["no more than was refused, where our estimate was too low", 5_000, 8_192, undefined, 5_000],
    ["the same beside an answer", 2_000, 8_192, 3_000, 5_000],
    ["no more than was refused, where it names nothing", 5_000, undefined, undefined, 5_000],
    ["and where what it names is no context", 5_000, 5, undefined, 5_000],
  ])("%s", (_, size, named, maxTokens, learned) => {
    expect(learnedContext(size, named, maxTokens)).toBe(learned);
  });

  test("a length of a few tokens is none", () => {
    expect([undefined, 511, 512].map(isCredible)).toEqual([false, false, true]);
  });
});
