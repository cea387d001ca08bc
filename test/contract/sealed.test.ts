import { expect, test } from "vitest";
import { attributesOfRuns } from "../../src/contract/sealed.js";

test("sealed runs are searched for by their phase alone, and only where the namespace has it", () => {
  expect(attributesOfRuns(["RunPhase", "RunNode"], false)).toEqual(["RunPhase", "RunNode"]);
  expect(attributesOfRuns(["RunPhase", "RunNode"], true)).toEqual(["RunPhase"]);
  expect(attributesOfRuns([], true)).toEqual([]);
});
