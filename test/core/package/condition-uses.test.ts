import { expect, test } from "vitest";
import { readsPath } from "../../../src/core/package/condition-uses.js";

const isGate = (path: string): boolean => path.startsWith("gateDecisions");

test("a condition reads a path wherever it stands in it, and none of a list's items", () => {
  const gate = { "==": [{ var: "gateDecisions.qaGate" }, "PASS"] };
  expect(readsPath({ or: [{ var: "variables.waived" }, gate] }, isGate)).toBe(true);
  expect(readsPath({ some: [{ var: "variables.tasks" }, gate] }, isGate)).toBe(false);
});
