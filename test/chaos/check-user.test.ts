import { describe, expect, test } from "vitest";
import type { StepSize } from "../../src/core/step-size.js";
import { checkSteering } from "./check-user.js";
import type { ModelRequest, RunOperations } from "./evidence.js";
import { planChaos } from "./plan.js";
import { LEFT_ALONE } from "./plan-user.js";

describe("the user's deeds", () => {
  const [planned] = planChaos("deeds", 1).runs;
  const runId = planned?.runId ?? "";
  const request = (turn: string, at: number): ModelRequest => ({
    runId,
    turn,
    worker: "first",
    at,
    name: `answer-${at}`,
  });

  function findingsFor(
    requests: readonly ModelRequest[],
    changes: Partial<RunOperations> = {},
    steps: StepSize = "turns",
  ) {
    if (planned === undefined) throw new Error("There is no run.");
    const budget = { run: { turns: 2 }, node: { turns: 1 }, raise: 30 };
    const user = changes.raises === undefined ? LEFT_ALONE : { budget };
    const operations = {
      runId,
      projectId: "",
      status: "COMPLETED",
      failures: [],
      answers: [],
      pauses: [],
      raises: [],
      ...changes,
    };
    const findings = checkSteering({ ...planned, steps, user }, operations, requests);
    return findings.map(({ kind, sentence }) => `${kind}: ${sentence}`);
  }

  const pauses = [{ from: 1_000, to: 9_000 }];

  test("a turn that is begun while the run is paused is doubled", () => {
    const turns = [request("1.1.0", 900), request("2.1.0", 2_000), request("3.1.0", 3_000)];
    expect(findingsFor(turns, { pauses })).toEqual([
      "doubled: turn 3.1.0 was begun 2000 ms after the run was paused.",
    ]);
    expect(findingsFor(turns, { pauses: [{ from: 1_000 }] })).toHaveLength(1);
  });

  test("the turn under way, one asked for again, and one after the pause are not", () => {
    const turns = [request("1.1.0", 900), request("2.1.0", 2_000), request("2.1.0", 3_000)];
    const later = [request("1.1.0", 4_000), request("3.1.0", 9_500)];
    expect(findingsFor([...turns, ...later], { pauses })).toEqual([]);
  });

  test("by nodes those are not that one activity takes with the turn under way; by turns, later or elsewhere they are", () => {
    const together = [request("1.1.0", 2_000), request("1.2.0", 2_020), request("1.3.0", 2_050)];
    const [elsewhere, beyond] = [{ ...request("1.2.0", 2_020), worker: "second" }, request("1.9.0", 2_100)];
    const others = [[elsewhere], [beyond], [request("2.1.0", 2_020)], [request("1.2.0", 3_100)]];
    expect(findingsFor(together, { pauses }, "nodes")).toEqual([]);
    expect(findingsFor(together, { pauses }, "turns")).toHaveLength(2);
    for (const other of others) {
      expect(findingsFor([request("1.1.0", 2_000), ...other], { pauses }, "nodes")).toHaveLength(1);
    }
  });

  const raise = { raiseId: "raise-at-1", at: 4_000, scope: "run", turns: 30, isAccepted: true } as const;
  const many = Array.from({ length: 33 }, (_, index) => `${index + 1}.1.0`);

  test("a turn beyond the budget, before it was raised or after it, is doubled", () => {
    const early = [request("1.1.0", 1_000), request("2.1.0", 2_000), request("3.1.0", 3_000)];
    expect(findingsFor(early, { raises: [raise] })).toEqual([
      "doubled: turn 3.1.0 is number 3, and the budget per run was 2.",
    ]);
    const late = many.map((turn, index) => request(turn, 4_000 + index));
    expect(findingsFor(late, { raises: [raise] })).toEqual([
      "doubled: turn 33.1.0 is number 33, and the budget per run was 32.",
    ]);
    expect(findingsFor([request("1.1.0", 1), request("1.2.0", 2)], { raises: [raise] })).toEqual([
      "doubled: turn 1.2.0 is number 2, and the budget per node was 1.",
    ]);
  });

  test("turns within the budget, and the same turn again, are not", () => {
    const turns = many.slice(0, 32).map((turn, index) => request(turn, 4_000 + index));
    expect(findingsFor([...turns, request("5.1.0", 9_000)], { raises: [raise] })).toEqual([]);
  });
});
