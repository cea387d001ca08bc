import { describe, expect, test } from "vitest";
import type { JsonObject, JsonValue } from "../../src/core/json.js";
import { holds } from "../../src/core/package/json-logic.js";
import { variablesFor } from "../../src/rehearsal/conditions.js";

const over = (variables: JsonObject, gateDecisions: JsonObject = {}) => ({
  variables,
  gateDecisions,
  routingFlags: {},
});
const v = (name: string): JsonObject => ({ var: `variables.${name}` });

describe("the variables that a condition needs", () => {
  test.each<[JsonObject, JsonObject]>([
    [{ "==": [v("approved"), true] }, { approved: true }],
    [{ "===": ["final", v("status")] }, { status: "final" }],
    [{ "!=": [v("status"), "draft"] }, { status: "rehearsal" }],
    [{ ">=": [v("score"), 8] }, { score: 8 }],
    [{ ">": [v("score"), 8] }, { score: 9 }],
    [{ "<": [3, v("score"), 10] }, { score: 4 }],
    [{ in: [v("colour"), ["red", "blue"]] }, { colour: "red" }],
    [{ in: ["red", v("colours")] }, { colours: "red" }],
    [{ "!": { missing: ["variables.title"] } }, { title: true }],
    [{ "!": v("blocked") }, {}],
    [v("done"), { done: true }],
    [{ var: ["variables.done", false] }, { done: true }],
    [{ and: [v("a"), { "!!": [v("b")] }, { "==": [v("c"), 3] }] }, { a: true, b: true, c: 3 }],
    [{ or: [{ "==": [{ var: "gateDecisions.qaGate" }, "PASS"] }, v("waived")] }, { waived: true }],
    [{ and: [{ ">": [v("score"), 3] }, { "<": [v("score"), 6] }, { "!=": [v("score"), 4] }] }, { score: 5 }],
    [{ "==": [{ var: "variables.review.status" }, "ok"] }, { review: { by: "ada", status: "ok" } }],
    [{ "!": { or: [{ "==": [v("open"), 1] }, v("kept")] } }, { kept: false }],
  ])("%j", (condition, expected) => {
    const data = over({ review: { by: "ada" }, kept: true, status: "draft" });
    expect(variablesFor(condition, data)).toEqual(expected);
    expect(holds(condition, over({ ...data.variables, ...expected }))).toBe(true);
  });

  test.each<[JsonObject, JsonObject]>([
    [{ ">=": [v("round"), v("limit")] }, { round: 3 }],
    [{ "<": [v("left"), v("limit")] }, { left: 2 }],
    [{ "===": [v("chosen"), v("wanted")] }, { chosen: "blue" }],
    [{ ">=": [{ "+": [v("round"), v("left")] }, 10] }, { round: 10, left: 10 }],
    [{ ">=": [{ "/": [v("left"), v("round")] }, 0.8] }, { left: 0.8, round: 0.8 }],
    [{ "==": [{ "%": [v("limit"), 2] }, 0] }, { limit: 2 }],
    [{ all: [v("tasks"), { "==": [{ var: "status" }, "done"] }] }, { tasks: [{ status: "done" }] }],
    [{ some: [v("tasks"), { var: "is.open" }] }, { tasks: [{ is: { open: true } }] }],
    [{ all: [v("scores"), { ">": [{ var: "" }, 7] }] }, { scores: [8] }],
  ])(
    "may be more than one, what another one holds, or a list of what its items need: %j",
    (condition, expected) => {
      const data = over({ limit: 3, wanted: "blue", round: "rehearsal", left: "rehearsal" });
      expect(variablesFor(condition, data)).toEqual(expected);
    },
  );

  test.each<[JsonObject]>([
    [{ and: [v("a"), { "!": v("a") }] }],
    [{ "==": [{ var: "gateDecisions.qaGate" }, "PASS"] }],
    [{ approves: [v("a")] }],
    [{ "==": [v("workflowStatus"), "complete"] }],
    [{ "==": [{ var: "variables.__proto__.x" }, 1] }],
  ])("are none where nothing that a step may set is enough: %j", (condition) => {
    expect(variablesFor(condition, over({}))).toBeUndefined();
  });

  test("are values that the step names, where one of them is enough", () => {
    const preferred = new Map<string, readonly JsonValue[]>([["status", ["draft", "final"]]]);
    expect(variablesFor({ "!=": [v("status"), "draft"] }, over({ status: "draft" }), preferred)).toEqual({
      status: "final",
    });
  });

  test("are looked for within a bound, whatever the condition is like", () => {
    const parts = Array.from({ length: 300 }, (_, index) => ({
      or: [{ "==": [v("x"), `${index}`] }, { "==": [v("y"), `${index}`] }],
    }));
    expect(variablesFor({ and: parts }, over({}))).toBeUndefined();
  });
});
