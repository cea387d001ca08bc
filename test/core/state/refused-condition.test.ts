import { expect, test } from "vitest";
import type { JsonObject } from "../../../src/core/json.js";
import { validateWorkflowStateUpdate } from "../../../src/core/state/transition-guard.js";
import { graphOf, state } from "./graphs.js";

function refusal(conditionExpr: JsonObject, variables: JsonObject, gateDecisions: JsonObject = {}): string {
  const verdict = validateWorkflowStateUpdate(
    state({ currentNodeId: "a" }),
    state({ currentNodeId: "b", variables }),
    graphOf("a", [{ from: "a", to: "b", label: "on", conditionExpr }]),
    { gateDecisions, routingFlags: {} },
  );
  if (verdict.ok) throw new Error("not refused");
  return verdict.error.message.replace(" No edge out of a has a condition that holds.", "");
}

const value = (name: string): JsonObject => ({ var: `variables.${name}` });

test.each<[JsonObject, JsonObject, string]>([
  [{ "==": [value("ok"), true] }, {}, ": variables.ok is not set."],
  [{ "==": [value("ok"), true] }, { ok: "yes" }, ': variables.ok is "yes".'],
  [{ ">": [{ var: ["variables.score", 0] }, 8] }, { score: 5 }, ": variables.score is 5."],
  [
    { "!": [{ missing: ["variables.a", "variables.b.c"] }] },
    { b: { c: 1 } },
    ": variables.a is not set, variables.b.c is 1.",
  ],
  [{ "<": [{ missing_some: [1, ["variables.a"]] }, 0] }, { a: null }, ": variables.a is null."],
  [{ "==": [{ var: "gateDecisions.qaGate" }, "PASS"] }, {}, ': gateDecisions.qaGate is "FAIL".'],
  [{ some: [value("list"), { ">": [{ var: "size" }, 1] }] }, { list: [] }, ": variables.list is []."],
  [
    { and: [value("ok"), { approves: value("ok") }] },
    { ok: 1 },
    ': variables.ok is 1; it uses "approves", which is no operator.',
  ],
  [{ "!": [{ or: [value("a"), value("a")] }] }, { a: true }, ": variables.a is true."],
  [{ "!!": [0] }, {}, "."],
])("a refused move names what the condition reads, with the values: %j", (condition, variables, said) => {
  expect(refusal(condition, variables, { qaGate: "FAIL" })).toBe(
    `a → b: the edge's condition does not hold${said}`,
  );
});

test("what a refused move tells of values is bounded, on one line, and names no path of the machine", () => {
  const names = Array.from({ length: 40 }, (_, index) => `v${index}`);
  const message = refusal(
    { and: [{ "==": [value("v0"), 1] }, ...names.map((name) => ({ [`op${name}`]: value(name) }))] },
    { v0: "line\nbreak\u2028 /home/ada/secret.txt", v1: "x".repeat(50_000) },
  );
  expect(message).toMatch(/^[^\p{Cc}\u2028]{1,1500}$/u);
  expect(message).toContain("<path>");
  expect(message).toContain("and 35 more");
});
