import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../../src/core/json.js";
import type { WorkflowGraph } from "../../../src/core/package/graph.js";
import {
  NO_FACTS,
  effectiveNodeId,
  validateWorkflowStateUpdate,
} from "../../../src/core/state/transition-guard.js";
import { FROM_DRAFT, GRAPH, graphOf, state } from "./graphs.js";

const at = (currentNodeId: string, changes: JsonObject = {}) => state({ currentNodeId, ...changes });

function judge(previous: JsonObject, next: JsonObject, graph: WorkflowGraph = GRAPH) {
  const verdict = validateWorkflowStateUpdate(previous, next, graph);
  return verdict.ok ? undefined : verdict.error;
}

describe("where a run stands", () => {
  test.each([
    ["", "draft"],
    ["  ", "draft"],
    ["\t\n", "draft"],
    ["review", "review"],
    [" review ", "review"],
    ["Review", "Review"],
  ])("%j means %s", (raw, effective) => {
    expect(effectiveNodeId(raw, GRAPH)).toBe(effective);
  });
});

describe("a move that the graph allows is accepted", () => {
  test.each([
    ["nothing changes", at(""), at("")],
    ["the entry is written out", at(""), at("draft")],
    ["the entry is left blank again", at("draft"), at(" ")],
    ["the default edge is taken", at(""), at("review")],
    ["the other edge is taken", at("draft"), at("publish")],
    ["the id has spaces around it", at("draft"), at(" review ")],
    ["an edge leads back", at("review"), at("draft")],
    ["the run stays where no edge leaves", at("publish"), at("publish")],
    ["a step is added", at("draft", { stepsCompleted: ["a"] }), at("draft", { stepsCompleted: ["a", "b"] })],
    [
      "the steps change places",
      at("draft", { stepsCompleted: ["a", "b"] }),
      at("draft", { stepsCompleted: ["b", "a"] }),
    ],
    [
      "a step stands twice",
      at("draft", { stepsCompleted: ["a"] }),
      at("draft", { stepsCompleted: ["a", "a"] }),
    ],
    ["step ids are no nodes", at("draft"), at("draft", { stepsCompleted: ["anything at all"] })],
    ["keys of its own are added", at("draft"), at("draft", { surprise: [1, { a: null }] })],
    ["what may be missing is missing", at("draft"), { schemaVersion: "1.1", workflowType: "x" }],
    ["the version is unquoted", at("draft"), at("draft", { schemaVersion: 1.1 })],
    ["the old state has no node yet", {}, at("review")],
    ["the old node is no text", { currentNodeId: 7 }, at("review")],
  ])("when %s", (_, previous, next) => {
    expect(judge(previous, next)).toBeUndefined();
  });
});

describe("a move that the graph does not allow is E_INVALID_TRANSITION", () => {
  const fromDraft = "From draft you may go to: review, publish.";
  test.each([
    [
      "no edge leads there",
      at("draft"),
      at("lost"),
      `draft → lost: the graph has no such edge. ${fromDraft}`,
      { from: "draft", to: "lost", allowedNext: FROM_DRAFT },
    ],
    [
      "the entry is only implied",
      at(""),
      at("lost"),
      `draft → lost: the graph has no such edge. ${fromDraft}`,
      { from: "draft", to: "lost", allowedNext: FROM_DRAFT },
    ],
    [
      "the edge points the other way",
      at("publish"),
      at("review"),
      "publish → review: the graph has no such edge. No edge leaves publish.",
      { from: "publish", to: "review", allowedNext: [] },
    ],
    [
      "the new node is blank and the entry cannot be reached",
      at("publish"),
      at(""),
      "publish → draft: the graph has no such edge. No edge leaves publish.",
      { from: "publish", to: "draft", allowedNext: [] },
    ],
    [
      "the node does not exist",
      at("draft"),
      at("nowhere"),
      `draft → nowhere: the graph has no node "nowhere". ${fromDraft}`,
      { from: "draft", to: "nowhere", allowedNext: FROM_DRAFT },
    ],
    [
      "the node differs by case",
      at("draft"),
      at("Review"),
      `draft → Review: the graph has no node "Review". ${fromDraft}`,
      { from: "draft", to: "Review", allowedNext: FROM_DRAFT },
    ],
    [
      "the run stands at a node that does not exist",
      at("gone"),
      at("gone"),
      'gone → gone: the graph has no node "gone". No edge leaves gone.',
      { from: "gone", to: "gone", allowedNext: [] },
    ],
    [
      "a step is taken back",
      at("draft", { stepsCompleted: ["a", "b", "c"] }),
      at("review", { stepsCompleted: ["b"] }),
      `draft → review: completed steps cannot be taken back (a, c). ${fromDraft}`,
      { from: "draft", to: "review", allowedNext: FROM_DRAFT, removedSteps: ["a", "c"] },
    ],
    [
      "a step that stood twice is taken back",
      at("draft", { stepsCompleted: ["a", "a"] }),
      at("draft", { stepsCompleted: [] }),
      `draft → draft: completed steps cannot be taken back (a). ${fromDraft}`,
      { from: "draft", to: "draft", allowedNext: FROM_DRAFT, removedSteps: ["a"] },
    ],
    [
      "the list of steps is left out",
      at("draft", { stepsCompleted: ["a"] }),
      { schemaVersion: "1.1", workflowType: "x" },
      `draft → draft: completed steps cannot be taken back (a). ${fromDraft}`,
      { from: "draft", to: "draft", allowedNext: FROM_DRAFT, removedSteps: ["a"] },
    ],
  ])("when %s", (_, previous, next, message, details) => {
    expect(judge(previous, next)).toEqual({ code: "E_INVALID_TRANSITION", message, details });
  });

  test.each(["__proto__", "constructor", "toString", "hasOwnProperty"])(
    "when the node is called %s as every object's member is",
    (name) => {
      expect(judge(at("draft"), at(name))).toMatchObject({
        code: "E_INVALID_TRANSITION",
        details: { to: name, allowedNext: FROM_DRAFT },
      });
    },
  );

  test("when such a name is a node of the graph, it is a node like any other", () => {
    const graph = graphOf("constructor", [{ from: "constructor", to: "toString", label: "x" }]);
    expect(judge(at(""), at("toString"), graph)).toBeUndefined();
    expect(judge(at("toString"), at("constructor"), graph)?.details).toEqual({
      from: "toString",
      to: "constructor",
      allowedNext: [],
    });
  });
});

describe("a frontmatter that breaks the schema is E_SCHEMA_VALIDATION", () => {
  test.each([
    ["currentNodeId", { currentNodeId: null }, "Invalid input: expected string, received null"],
    ["currentNodeId", { currentNodeId: 7 }, "Invalid input: expected string, received number"],
    ["currentNodeId", { currentNodeId: ["review"] }, "Invalid input: expected string, received array"],
    ["stepsCompleted", { stepsCompleted: "draft" }, "Invalid input: expected array, received string"],
    ["stepsCompleted", { stepsCompleted: null }, "Invalid input: expected array, received null"],
    ["stepsCompleted.1", { stepsCompleted: ["a", 1] }, "Invalid input: expected string, received number"],
    ["workflowType", { workflowType: "" }, "Too small: expected string to have >=1 characters"],
    ["schemaVersion", { schemaVersion: "1.2" }, 'must be "1.1" or "1.1.<patch>"'],
    ["schemaVersion", { schemaVersion: 1.2 }, "Invalid input: expected string, received number"],
    ["variables", { variables: [] }, "Invalid input: expected record, received array"],
    ["artifacts.0", { artifacts: [{}] }, "Invalid input: expected string, received object"],
    ["updatedAt", { updatedAt: "yesterday" }, "Invalid ISO datetime"],
    ["updatedAt", { updatedAt: "2026-01-02" }, "Invalid ISO datetime"],
    ["decisionLog.0", { decisionLog: [{ from: "a", to: "b", label: "c", x: 1 }] }, 'Unrecognized key: "x"'],
    [
      "decisionLog.0.label",
      { decisionLog: [{ from: "a", to: "b" }] },
      "Invalid input: expected string, received undefined",
    ],
  ])("%s: %j", (path, changes, message) => {
    expect(judge(at("draft"), at("draft", changes))).toEqual({
      code: "E_SCHEMA_VALIDATION",
      message: `The state document's frontmatter is not valid: ${path}: ${message}`,
      details: { errors: [{ path, message }] },
    });
  });

  test("all errors are listed, up to twenty", () => {
    const fault = judge(at("draft"), { stepsCompleted: Array.from({ length: 50 }, () => 1) });
    expect(fault?.details?.["errors"]).toHaveLength(20);
  });

  test.each([
    [
      "the schema before the transition",
      at("nowhere", { stepsCompleted: [1] }),
      "E_SCHEMA_VALIDATION",
      undefined,
    ],
    [
      "the transition before monotonicity",
      at("lost", { stepsCompleted: [] }),
      "E_INVALID_TRANSITION",
      undefined,
    ],
    ["monotonicity last", at("review", { stepsCompleted: [] }), "E_INVALID_TRANSITION", ["a"]],
  ])("the order of checks: %s", (_, next, code, removedSteps) => {
    const fault = judge(at("draft", { stepsCompleted: ["a"] }), next);
    expect([fault?.code, fault?.details?.["removedSteps"]]).toEqual([code, removedSteps]);
  });
});

describe("conditions of edges", () => {
  const graph = graphOf("a", [
    { from: "a", to: "b", label: "ready", conditionExpr: { "==": [{ var: "variables.ready" }, true] } },
    { from: "a", to: "c", label: "always" },
  ]);
  const move = (to: string, variables: JsonObject, facts?: typeof NO_FACTS) => {
    const verdict = validateWorkflowStateUpdate(at("a"), at(to, { variables }), graph, facts);
    return verdict.ok ? undefined : verdict.error;
  };

  test("are guidance only by default, and not spoken of", () => {
    expect(move("b", {})).toBeUndefined();
    expect(judge(at("a"), at("z"), graph)?.details?.["allowedNext"]).toEqual([
      { to: "b", label: "ready" },
      { to: "c", label: "always" },
    ]);
  });

  test("decide when they are evaluated, over the variables of the new state", () => {
    expect(move("b", { ready: true }, NO_FACTS)).toBeUndefined();
    expect(move("b", {}, NO_FACTS)).toEqual({
      code: "E_INVALID_TRANSITION",
      message:
        "a → b: the edge's condition does not hold: variables.ready is not set. From a you may go to: c.",
      details: {
        from: "a",
        to: "b",
        allowedNext: [
          { to: "b", label: "ready", satisfied: false },
          { to: "c", label: "always", satisfied: true },
        ],
      },
    });
  });
});

describe("a refusal stays small and on one line, whatever the model wrote", () => {
  const huge = `x\n\u2028\u001b[2J${"y".repeat(200_000)}`;
  test.each([
    ["a huge node id", at("draft"), at(huge)],
    ["a huge old node id", at(huge), at("review")],
    [
      "many removed steps",
      at("draft", { stepsCompleted: Array.from({ length: 20_000 }, (_, i) => `s${i}`) }),
      at("draft"),
    ],
    ["huge removed steps", at("draft", { stepsCompleted: [huge, `${huge}2`] }), at("draft")],
    [
      "a huge unknown key",
      at("draft"),
      at("draft", { decisionLog: [{ from: "", to: "", label: "", [huge]: 1 }] }),
    ],
  ])("%s", (_, previous, next) => {
    const fault = judge(previous, next);
    expect(fault?.message).toMatch(/^[^\p{Cc}\u2028]{1,800}$/u);
    expect(JSON.stringify(fault).length).toBeLessThan(60_000);
  });

  test("allowedNext is listed whole, the message names the first twenty", () => {
    const edges = Array.from({ length: 60 }, (_, index) => ({ from: "a", to: `n${index}`, label: "l" }));
    const fault = judge(at("a"), at("z"), graphOf("a", edges));
    expect(fault?.details?.["allowedNext"]).toHaveLength(60);
    expect(fault?.message).toContain("n19, and 40 more.");
  });
});

describe("properties", () => {
  const ids = ["a", "b", "c", "d", "constructor"];
  const id = fc.constantFrom(...ids);
  const edge = fc.record({ from: id, to: id, label: fc.constantFrom("x", "y") });
  const graph = fc.array(edge, { maxLength: 8 }).map((edges) => graphOf("a", edges));
  const variables = fc.dictionary(fc.string(), fc.jsonValue(), { maxKeys: 3 });
  const version = fc.constantFrom<unknown>("1.1", "1.1.3", 1.1);
  const place = fc.oneof(id, fc.constantFrom("", " a ", "nowhere"));
  const steps = fc.array(id, { maxLength: 4 });
  const frontmatter = fc.record(
    {
      schemaVersion: fc.oneof(version, fc.constant("2")),
      workflowType: fc.constantFrom("w", ""),
      currentNodeId: fc.oneof(place, fc.constant(null)),
      stepsCompleted: fc.oneof(steps, fc.constant(3)),
      variables: fc.oneof(variables, fc.constant([])),
    },
    { requiredKeys: [] },
  ) as fc.Arbitrary<JsonObject>;
  /** Of the right shape: of others hardly one is accepted. */
  const fitting = fc.record(
    {
      schemaVersion: version,
      workflowType: fc.constant("w"),
      currentNodeId: place,
      stepsCompleted: steps,
      variables,
    },
    { requiredKeys: ["schemaVersion", "workflowType"] },
  ) as fc.Arbitrary<JsonObject>;
  const options = { numRuns: 600, seed: 11 };

  test("what was accepted once is accepted again, and with steps added", () => {
    fc.assert(
      fc.property(frontmatter, fitting, graph, fc.array(id), (previous, next, workflow, more) => {
        fc.pre(validateWorkflowStateUpdate(previous, next, workflow).ok);
        expect(judge(next, next, workflow)).toBeUndefined();
        const stepsCompleted = [
          ...((next["stepsCompleted"] as readonly string[] | undefined) ?? []),
          ...more,
        ];
        expect(judge(previous, { ...next, stepsCompleted }, workflow)).toBeUndefined();
      }),
      options,
    );
  });

  test("an accepted update follows an edge or stays, to a node of the graph, and loses no step", () => {
    fc.assert(
      fc.property(frontmatter, fitting, graph, (previous, next, workflow) => {
        fc.pre(validateWorkflowStateUpdate(previous, next, workflow).ok);
        const from =
          (typeof previous["currentNodeId"] === "string" && previous["currentNodeId"].trim()) || "a";
        const to = (typeof next["currentNodeId"] === "string" && next["currentNodeId"].trim()) || "a";
        expect(workflow.nodes.map((node) => node.id)).toContain(to);
        const ways = workflow.edges.map((item) => `${item.from} ${item.to}`);
        expect([...ways, `${from} ${from}`]).toContain(`${from} ${to}`);
        const before = Array.isArray(previous["stepsCompleted"]) ? previous["stepsCompleted"] : [];
        const after = (next["stepsCompleted"] ?? []) as readonly unknown[];
        for (const step of before) expect(after).toContain(step);
      }),
      options,
    );
  });

  test("no verdict changes what it judges", () => {
    fc.assert(
      fc.property(frontmatter, frontmatter, graph, (previous, next, workflow) => {
        const before = JSON.stringify([previous, next, workflow]);
        validateWorkflowStateUpdate(previous, next, workflow, NO_FACTS);
        expect(JSON.stringify([previous, next, workflow])).toBe(before);
      }),
      options,
    );
  });

  test("a refused transition always says what is allowed, by the edges out of the old node", () => {
    fc.assert(
      fc.property(frontmatter, frontmatter, graph, (previous, next, workflow) => {
        const fault = judge(previous, next, workflow);
        if (fault === undefined || fault.code !== "E_INVALID_TRANSITION") return;
        const from =
          (typeof previous["currentNodeId"] === "string" && previous["currentNodeId"].trim()) || "a";
        const expected = workflow.edges
          .filter((item) => item.from === from)
          .map(({ to, label }) => ({ to, label }));
        expect(fault.details?.["allowedNext"]).toEqual(expected);
      }),
      options,
    );
  });
});
