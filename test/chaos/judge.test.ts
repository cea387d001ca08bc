import { describe, expect, test } from "vitest";
import { FAILPOINTS } from "../../src/core/failpoint.js";
import { FAULT_KINDS, reasonsToRefuse } from "./judge.js";
import { planChaos } from "./plan.js";

describe("the judge", () => {
  const every = (names: readonly string[]) => Object.fromEntries(names.map((name) => [name, 1]));
  const figures = { faults: every(FAULT_KINDS), hits: every(FAILPOINTS), struck: {} };
  const runs = (ok: number, other: "lost" | "doubled" | "unknown", count: number) => [
    ...Array.from({ length: ok }, () => ({ runId: "", verdict: "ok" as const, findings: [] })),
    ...Array.from({ length: count }, () => ({ runId: "", verdict: other, findings: [] })),
  ];

  test("passes when nine of ten are confirmed and nothing is lost", () => {
    expect(reasonsToRefuse(runs(9, "unknown", 1), [], figures)).toEqual([]);
  });

  test.each([
    [
      "too few are confirmed",
      runs(8, "unknown", 2),
      figures,
      "Only 8 of 10 runs were confirmed; at least 90 % must be.",
    ],
    ["there were none", [], figures, "Only 0 of 0 runs were confirmed; at least 90 % must be."],
    ["one has lost something", runs(99, "lost", 1), figures, "1 runs have lost something."],
    ["one has something twice", runs(99, "doubled", 1), figures, "1 runs have something twice."],
    [
      "a fault never happened",
      runs(9, "unknown", 0),
      { ...figures, faults: { ...figures.faults, "500": 0 } },
      "These faults never happened: 500.",
    ],
    [
      "a failpoint was never hit",
      runs(9, "unknown", 0),
      { ...figures, hits: { ...figures.hits, "call.done": 0 } },
      "These failpoints were never hit: call.done.",
    ],
  ])("refuses when %s", (_why, verdicts, seen, sentence) => {
    expect(reasonsToRefuse(verdicts, [], seen)).toContain(sentence);
  });
});

describe("a plan", () => {
  test("is the same for the same seed, and another for another one", () => {
    expect(planChaos("a", 20)).toEqual(planChaos("a", 20));
    expect(planChaos("b", 20).runs.map(({ runId }) => runId)).not.toEqual(
      planChaos("a", 20).runs.map(({ runId }) => runId),
    );
  });

  test("has decisions, loops, questions, refusals, subdirectories and files written again", () => {
    const { runs } = planChaos("a", 100);
    const turns = runs.flatMap(({ visits }) => visits).flatMap((visit) => visit.turns);
    const calls = turns.flatMap((turn) => ("calls" in turn ? turn.calls : []));
    const nodes = runs.map(({ visits }) => visits.map(({ nodeId }) => nodeId));
    expect(nodes.filter((ids) => new Set(ids).size < ids.length).length).toBeGreaterThan(10);
    expect(turns.filter((turn) => "question" in turn).length).toBeGreaterThan(20);
    for (const expected of [
      "E_INVALID_TRANSITION",
      "E_SANDBOX_VIOLATION",
      "TOOL_ARGS_INVALID_JSON",
      "ENOENT",
    ]) {
      expect(calls.some(({ expect: code }) => code === expected)).toBe(true);
    }
    expect(runs.some(({ end }) => end.artifacts.some((path) => path.includes("/deep/")))).toBe(true);
    expect(calls.some(({ write }) => write?.path.endsWith("old.md") === true)).toBe(true);
  });
});
