import { describe, expect, test } from "vitest";
import { type PrunableRun, prunableRuns, withoutNeeded } from "../../../src/core/run/choose-pruned.js";

const at = (day: number) => `2026-01-0${day}T00:00:00.000Z`;
const run = (runId: string, day: number, more: Partial<PrunableRun> = {}): PrunableRun => ({
  runId,
  phase: "completed",
  createdAt: at(day),
  lastUpdatedAt: at(day),
  ...more,
});
const ids = (runs: readonly PrunableRun[]) => runs.map(({ runId }) => runId).join("");

describe("the runs that a rule means", () => {
  const open = (["idle", "running", "waiting-user"] as const).map((phase) => run(phase, 1, { phase }));
  const runs = [...open, run("a", 2), run("b", 4, { phase: "failed" }), run("c", 3), run("d", 4)];

  test("are over: by when they ended, by how many stay, or both", () => {
    expect(ids(prunableRuns(runs, { endedBefore: at(4) }))).toBe("ca");
    expect(ids(prunableRuns(runs, { keep: 1 }))).toBe("dca");
    expect(ids(prunableRuns(runs, { keep: 3, endedBefore: at(5) }))).toBe("a");
    expect(ids(prunableRuns(runs, { keep: 4 }))).toBe("");
    expect(ids(prunableRuns(runs, {}))).toBe("bdca");
  });
});

describe("what a run is forked from", () => {
  const forkOf = (runId: string, day: number, source: string) =>
    run(runId, day, { forkedFrom: { runId: source } });
  const [root, fork, leaf, other] = [
    run("r", 1),
    forkOf("f", 2, "r"),
    forkOf("l", 3, "f"),
    forkOf("o", 4, "gone"),
  ];
  const all = [root, fork, leaf, other];

  test("stays with it, through forks of forks", () => {
    expect(ids(withoutNeeded(all, [root, fork, other]))).toBe("o");
    expect(ids(withoutNeeded(all, [root, leaf]))).toBe("l");
  });

  test("goes after it", () => {
    expect(ids(withoutNeeded(all, [root, leaf, fork]))).toBe("lfr");
  });
});

test("the run of a subworkflow stays with the run above it, which stays for a fork, and goes with it", () => {
  const above = run("a", 1);
  const [first, second] = [run("b", 2, { parentRunId: "a" }), run("c", 3, { parentRunId: "b" })];
  const fork = run("f", 4, { forkedFrom: { runId: "a" } });
  const all = [above, first, second, fork];
  expect(ids(withoutNeeded(all, [first, second]))).toBe("");
  expect(ids(withoutNeeded(all, [above, first, second]))).toBe("");
  expect(ids(withoutNeeded(all, all))).toBe("fcba");
  expect(ids(withoutNeeded([first, second], [first, second]))).toBe("cb");
});

test("all runs of subworkflows stay with the run above them", () => {
  const above = run("a", 1, { phase: "running" });
  const below = [run("b", 2, { parentRunId: "a" }), run("c", 3, { parentRunId: "a" })];
  expect(ids(withoutNeeded([above, ...below], below))).toBe("");
});
