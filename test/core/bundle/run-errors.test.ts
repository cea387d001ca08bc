import { expect, test } from "vitest";
import { namesNoInstructions, runErrors } from "../../../src/core/bundle/run-errors.js";

test("a workflow that only names no instructions is told from one whose instructions are not there", () => {
  const errorsOf = (...missing: readonly string[]) => runErrors({ instructions: null, missing }).errors;
  expect(namesNoInstructions(errorsOf("instructions: the workflow names none", "config: x"))).toBe(true);
  expect(namesNoInstructions(errorsOf("instructions: {bundle-root}/x.md"))).toBe(false);
  expect(namesNoInstructions([])).toBe(false);
});
