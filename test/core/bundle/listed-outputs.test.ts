import { expect, test } from "vitest";
import { listOutput, newestOutputs } from "../../../src/core/bundle/listed-outputs.js";
import { utf8Length } from "../../../src/core/text.js";

test("a file that is saved again stays where it is", () => {
  expect(listOutput(["a", "b"], "a")).toEqual(["a", "b"]);
  expect(listOutput(["a", "b"], "c")).toEqual(["a", "b", "c"]);
});

test("the newest 200 are kept, and of long names as many as fit into one value", () => {
  const many = Array.from({ length: 300 }, (_, index) => `f${index}`);
  expect(newestOutputs(many)).toEqual(many.slice(100));
  const long = Array.from({ length: 300 }, (_, index) => `${"é".repeat(1000)}${index}`);
  const kept = newestOutputs(long);
  expect(kept).toEqual(long.slice(-24));
  expect(utf8Length(kept.join(""))).toBeLessThanOrEqual(48 * 1024);
});
