import { describe, expect, test } from "vitest";
import { RunRecord } from "../../../src/core/engine/run-record.js";
import type { TaskLoad } from "../../../src/core/engine/task-load.js";
import { OPENED, RUN_ID, openedRecord, standAt, storyRecord } from "./record-world.js";

test.each([
  ["by turns", {}, { recordsReads: true as const }, false],
  ["by nodes, opened by an earlier version", { steps: "nodes" as const }, {}, false],
  ["by nodes", { steps: "nodes" as const }, { recordsReads: true as const }, true],
])("whether the history holds each reading of the document: a run %s", (_, terms, opened, expected) => {
  expect(openedRecord({ terms, opened }).pace.recordsReads).toBe(expected);
});

describe("lists and searches are told where a run stands", () => {
  const opened = { tellsSeldom: true as const };
  const byNodes = () => openedRecord({ terms: { steps: "nodes" }, opened });

  test.each([
    ["by turns", openedRecord({ opened })],
    ["opened by an earlier version", openedRecord({ terms: { steps: "nodes" } })],
  ])("at each visit of a run %s", (_, record) => {
    record.pace.noteTold(10_000);
    standAt(record, "review");
    expect([record.pace.isPlaceDue(10_001), record.pace.isPlaceOld]).toEqual([true, false]);
  });

  test("by nodes every five seconds of its turns, whatever the clock says", () => {
    const record = openedRecord({
      terms: { steps: "nodes" },
      opened: { ...opened, timesTurns: true as const },
    });
    expect(record.pace.isPlaceDue(10_000)).toBe(true);
    for (let turn = 1; turn <= 4; turn += 1) record.pace.timeTurn(900);
    record.pace.noteTold(10_000);
    for (let turn = 1; turn <= 5; turn += 1) record.pace.timeTurn(999);
    expect(record.pace.isPlaceDue(99_000)).toBe(false);
    record.pace.timeTurn(5);
    expect(record.pace.isPlaceDue(10_000)).toBe(true);
  });

  test("by nodes every five seconds of the clock in a run of an earlier version, and where it stays for longer than a moment", () => {
    const record = byNodes();
    expect(record.pace.isPlaceDue(10_000)).toBe(true);
    record.pace.noteTold(10_000);
    expect([record.pace.isPlaceDue(14_999), record.pace.isPlaceDue(15_000), record.pace.isPlaceOld]).toEqual([
      false,
      true,
      false,
    ]);
    standAt(record, "review");
    expect([record.pace.isPlaceDue(14_999), record.pace.isPlaceOld]).toEqual([false, true]);
    record.pace.noteTold(14_999);
    expect(record.pace.isPlaceOld).toBe(false);
  });

  test("by nodes at each visit while turns are slow", () => {
    const record = byNodes();
    record.pace.noteTold(10_000);
    record.update({ isSlow: true });
    expect(record.pace.isPlaceDue(10_001)).toBe(true);
  });
});

/** Whether the next turn is quick after results that say slow, quick and nothing, each against the clock. */
function quickAfterResults({ pace }: ReturnType<typeof openedRecord>): readonly boolean[] {
  const results = [
    [1_001, 0],
    [1_000, 99_000],
    [undefined, 0],
  ] as const;
  return results.map(([tookMs, passedMs]) => {
    pace.timeTurn(tookMs, passedMs);
    return pace.isQuickTurn;
  });
}

describe("a turn is waited for inside a workflow task", () => {
  const BY_NODE = { terms: { steps: "nodes" } } as const;

  test("only in a run whose steps are nodes: whoever starts it says so, else its package", () => {
    expect(openedRecord({}).stepsByNode).toBe(false);
    expect(openedRecord(BY_NODE).stepsByNode).toBe(true);
    expect(openedRecord({ opened: { steps: "nodes" } }).stepsByNode).toBe(true);
    expect(openedRecord({ terms: { steps: "turns" }, opened: { steps: "nodes" } }).stepsByNode).toBe(false);
  });

  test("in none that was opened by a version which knew of no such steps: it went by turns, whatever it was asked for", () => {
    const { keepsMemo: _, ...opened } = OPENED;
    const record = new RunRecord({ runId: RUN_ID, steps: "nodes" }, false);
    record.begin(opened);
    expect(record.stepsByNode).toBe(false);
  });

  test("until one is slow, and again once one is quick", () => {
    const record = openedRecord({ ...BY_NODE, carried: { turn: 1 } });
    expect(record.pace.isQuickTurn).toBe(true);
    record.pace.timeTurn(undefined, 1_001);
    expect(record.pace.isQuickTurn).toBe(false);
    record.pace.timeTurn(undefined, 1_000);
    expect(record.pace.isQuickTurn).toBe(true);
  });

  test("as its result says, whatever the clock does; one whose result says nothing is slow", () => {
    const record = openedRecord({ ...BY_NODE, opened: { timesTurns: true }, carried: { turn: 1 } });
    expect(quickAfterResults(record)).toEqual([false, true, false]);
  });

  test("as its result says in a run of an earlier version too, once this one goes on with it", () => {
    const record = openedRecord({ ...BY_NODE, carried: { turn: 1 } });
    expect(record.pace.goesByClock).toBe(true);
    record.pace.leaveClock();
    expect(record.pace.goesByClock).toBe(false);
    expect(quickAfterResults(record)).toEqual([false, true, false]);
    expect(openedRecord({ ...BY_NODE, opened: { timesTurns: true } }).pace.goesByClock).toBe(false);
    expect(openedRecord({}).pace.goesByClock).toBe(false);
  });

  test("not where a worker has left it to others, and not each 32nd time", () => {
    expect(openedRecord({ ...BY_NODE, carried: { turn: 1, isLeft: true } }).pace.isQuickTurn).toBe(false);
    const quick = Array.from(
      { length: 64 },
      (_, index) => openedRecord({ ...BY_NODE, carried: { turn: index + 1 } }).pace.isQuickTurn,
    );
    expect(quick.flatMap((isQuick, index) => (isQuick ? [] : [index + 1]))).toEqual([32, 64]);
  });

  test("by no clock of a run whose steps are turns", () => {
    const record = openedRecord({});
    record.pace.timeTurn(5_000, 5_000);
    expect(record.carried).not.toHaveProperty("isSlow");
  });
});

describe("the boundary of a node is kept in the task at hand", () => {
  const BY_NODE = { terms: { steps: "nodes" }, opened: { keepsQuickly: true } } as const;

  test("while its turns are quick, in a run that a worker of this version has opened", () => {
    expect(openedRecord(BY_NODE).pace.isQuickBoundary).toBe(true);
    expect(openedRecord({ terms: BY_NODE.terms }).pace.isQuickBoundary).toBe(false);
    expect(openedRecord({ ...BY_NODE, carried: { isSlow: true } }).pace.isQuickBoundary).toBe(false);
    expect(openedRecord({ ...BY_NODE, carried: { isLeft: true } }).pace.isQuickBoundary).toBe(false);
  });

  test("by the turn that leads on, in a run that carries no story", () => {
    expect(openedRecord(BY_NODE).pace.keepsInTurn).toBe(true);
    expect(openedRecord({ terms: BY_NODE.terms }).pace.keepsInTurn).toBe(false);
    expect(storyRecord(BY_NODE).pace.keepsInTurn).toBe(false);
  });

  test("not where entries of the document are to be moved", () => {
    const record = openedRecord(BY_NODE);
    const artifacts = Array.from({ length: 400 }, (_, index) => `artifacts/${index}-${"a".repeat(100)}`);
    record.update({ frontmatter: { ...record.frontmatter, artifacts } });
    expect(record.pace.isQuickBoundary).toBe(false);
  });

  test.each([
    ["its turns took half a second together", (load: TaskLoad) => load.noteTurns(500)],
    ["it holds as much as one turn may say", (load: TaskLoad) => load.noteSaid(256 * 1_024)],
    ["it has passed sixteen", (load: TaskLoad) => Array.from({ length: 16 }, () => load.noteBoundary())],
  ])("until %s, and again in the next one", (_, burden) => {
    const record = openedRecord(BY_NODE);
    record.pace.taskLoad.noteTurns(499);
    record.pace.taskLoad.noteSaid(1_000);
    expect(record.pace.isQuickBoundary).toBe(true);
    burden(record.pace.taskLoad);
    expect(record.pace.isQuickBoundary).toBe(false);
    record.pace.taskLoad.clear();
    expect(record.pace.isQuickBoundary).toBe(true);
  });

  test("and no turn is taken in a task that says a megabyte already: Temporal ends a run whose task says four", () => {
    const record = openedRecord({ ...BY_NODE, carried: { turn: 1 } });
    const early = openedRecord({ terms: BY_NODE.terms, carried: { turn: 1 } });
    for (const { pace } of [record, early]) pace.taskLoad.noteSaid(1_024 * 1_024 - 1);
    expect(record.pace.isQuickTurn).toBe(true);
    for (const { pace } of [record, early]) pace.taskLoad.noteSaid(1);
    expect(record.pace.isQuickTurn).toBe(false);
    expect(early.pace.isQuickTurn).toBe(true); // an earlier version did not ask
    record.pace.taskLoad.endTask();
    expect(record.pace.isQuickTurn).toBe(true);
  });

  test("whose count goes on where a task has ended with its bars under way", () => {
    const record = openedRecord(BY_NODE);
    for (let count = 1; count < 16; count += 1) record.pace.taskLoad.noteBoundary();
    record.pace.taskLoad.endTask();
    expect(record.pace.isQuickBoundary).toBe(true);
    record.pace.taskLoad.noteBoundary();
    expect(record.pace.isQuickBoundary).toBe(false);
  });
});
