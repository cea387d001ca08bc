import { describe, expect, test } from "vitest";
import type { RunPhase } from "../../../src/core/run/phase.js";
import { RunRecord } from "../../../src/core/run/run-record.js";
import type { TaskLoad } from "../../../src/core/run/task-load.js";
import { NO_USAGE } from "../../../src/core/run/usage.js";
import { OPENED, RESUMED, RUN_ID, USAGE, openedRecord, standAt, storyRecord } from "./record-world.js";

const TERMS = { runId: RUN_ID };

describe("before it is open, a run", () => {
  test("shows what it was started with, and nothing of a package", () => {
    const record = new RunRecord({ ...TERMS, budget: { run: { turns: 3 } } }, false);
    expect(record.toRunState()).toMatchObject({
      runId: RUN_ID,
      projectId: "",
      packageId: "",
      workflowRef: "",
      phase: "idle",
      currentNodeId: "",
      allowedNext: [],
      budget: { run: { turns: 3 } },
    });
    expect(() => record.opened).toThrow("not open");
  });
});

describe("a run of a large graph", () => {
  test("knows a part of it, and takes up more on its way", () => {
    const [draft, review] = OPENED.graph.nodes;
    if (draft === undefined || review === undefined) throw new Error("the graph has both");
    const record = new RunRecord(TERMS, false);
    const border = { ...review, isBorder: true } as const;
    const edges = OPENED.graph.edges.slice(0, 1);
    record.begin({ ...OPENED, graph: { ...OPENED.graph, partOf: 4, nodes: [draft, border], edges } });
    standAt(record, "review");
    expect(record.toRunState().allowedNext).toEqual([]);
    record.addPart({ ...OPENED.graph, partOf: 4, nodes: [review], edges: OPENED.graph.edges.slice(2) });
    expect(record.toRunState().allowedNext).toEqual([{ to: "done", label: "end" }]);
    expect(record.opened.graph.nodes.map(({ id }) => id)).toEqual(["draft", "review"]);
  });
});

describe("a run begins", () => {
  test("anew with nothing done", () => {
    const record = new RunRecord(TERMS, false);
    expect(record.begin(OPENED)).toBe("begun");
    expect(record.toRunState()).toMatchObject({
      projectId: "project",
      packageId: "package",
      workflowRef: "main",
      currentNodeId: "draft",
      allowedNext: [{ to: "review" }, { to: "aside" }],
      visit: 0,
      usage: NO_USAGE,
    });
  });

  test("with the models that were chosen for it, each agent with its own", () => {
    const common = { model: "big", endpoint: "https://models.example/v1" };
    const own = { name: "careful", model: "slow", endpoint: "https://other.example/v1" };
    const models = { chain: [common], agents: [{ agentId: "reviewer", chain: [own] }] };
    const record = new RunRecord(TERMS, false);
    record.begin({ ...OPENED, models });
    expect(record.modelsAt("draft")).toEqual([common]);
    expect(record.toRunState().model).toEqual({ chain: [common] });
    record.update({ answeredBy: { name: "careful", model: "slow" } });
    expect(record.toRunState().model).toEqual({
      chain: [common],
      answeredBy: { name: "careful", model: "slow" },
    });
  });

  test("as what it carries where it has continued as new", () => {
    const { carried } = openedRecord({ carried: { visit: 5, usage: USAGE } });
    const next = new RunRecord({ ...TERMS, carried }, false);
    expect(next.begin(OPENED)).toBe("continued");
    expect(next.carried).toEqual(carried);
  });

  test("from what its folder says where it resumes", () => {
    const { story } = storyRecord().carried;
    const record = new RunRecord({ ...TERMS, budget: { run: { turns: 3 } } }, false);
    const answers = [{ id: "a", answer: { nodeId: "draft" } }];
    expect(record.begin({ ...OPENED, resumed: { ...RESUMED, answers, ...(story && { story }) } })).toBe(
      "resumed",
    );
    expect(record.carried).toMatchObject({
      visit: 2,
      turn: 1,
      usage: USAGE,
      phaseChanges: 7,
      audit: { lines: 9 },
      budget: { run: { turns: 3 } },
      taken: answers,
      story: { unmetPreconditions: 0 },
    });
    expect(record.carried).not.toHaveProperty("raises");
  });

  test("with the raised budget where it was raised before it resumes", () => {
    const record = new RunRecord({ ...TERMS, budget: { run: { turns: 3 } } }, false);
    record.begin({ ...OPENED, resumed: { ...RESUMED, budget: { run: { turns: 9 } }, raises: ["r"] } });
    expect(record.carried).toMatchObject({ budget: { run: { turns: 9 } }, raises: ["r"] });
  });

  test("without what an execution knew that was reset", () => {
    const { carried } = storyRecord({ carried: { paused: true, ended: true, taken: [{ id: "old" }] } });
    const visiting = { nodeId: "draft", intent: "start" } as const;
    const question = { nodeId: "draft", text: "?" };
    const record = new RunRecord({ ...TERMS, carried: { ...carried, visiting, question } }, false);
    record.begin({ ...OPENED, openedFor: "later", resumed: RESUMED });
    expect(record.question).toBeUndefined();
    expect(record.carried).toMatchObject({
      executionId: "later",
      paused: true,
      ended: false,
      taken: [{ id: "old" }],
    });
    expect(record.carried).not.toHaveProperty("visiting");
    expect(record.carried).not.toHaveProperty("story");
  });
});

describe("a visit begins", () => {
  const resumed = RESUMED;
  test.each([
    ["as the start of the run", {}, {}, { intent: "start" }],
    ["as its continuation", {}, { visit: 1, usage: USAGE }, { intent: "continue" }],
    ["again where it was cut short", { resumed }, {}, { intent: "resume", resumes: "visit-2" }],
    ["as the next one of a resumed run", { resumed }, { visit: 3 }, { intent: "continue" }],
    ["under way in a fork", { forkedAfter: 2 }, {}, { intent: "resume" }],
  ] as const)("%s", (_, opened, carried, visiting) => {
    const record = openedRecord({ opened, carried });
    const { visit } = record.carried;
    record.beginVisit(`visit-${visit}`);
    expect(record.carried).toMatchObject({ visit: visit + 1, turn: 0, visitUsage: NO_USAGE });
    expect(record.carried.visiting).toEqual({ nodeId: "draft", ...visiting });
    record.endVisit();
    expect(record.carried).not.toHaveProperty("visiting");
  });
});

test.each([
  ["are said first", {}, {}, "hello"],
  ["are not said twice", {}, { usage: USAGE }, undefined],
  ["are not said in the midst of a visit", {}, { turn: 1 }, undefined],
  ["are not said in a fork that is under way", { forkedAfter: 1 }, {}, undefined],
  ["are said in a fork from the beginning", { forkedAfter: 0 }, {}, "hello"],
])("the user's first words %s", (_, opened, carried, said) => {
  expect(openedRecord({ terms: { input: "hello" }, opened, carried }).firstWords).toBe(said);
});

test("a run carries which one below it waits for that goes on by itself, until it waits for none", () => {
  const record = openedRecord();
  record.noteAwaited("run-below");
  expect(record.carried.awaits).toBe("run-below");
  record.noteAwaited(undefined);
  expect(record.carried).not.toHaveProperty("awaits");
});

test("a run tells its activities how far it has seen its audit log", () => {
  const record = openedRecord();
  record.noteAudit({ lines: 7, sha256: "b" });
  record.noteAudit({ lines: 6, sha256: "a" });
  expect(record.scope).toEqual({ run: OPENED.run, auditLines: 7 });
});

test("a run without first words says none", () => {
  expect(openedRecord().firstWords).toBeUndefined();
});

test.each([
  ["where its starter says so, and nobody has looked", true, undefined, true],
  ["not where its starter says so, and the worker has found that it is not there", true, [], false],
  ["not where its starter says no", false, ["RunPhase"], false],
  ["where the worker has found the attribute", undefined, ["RunPhase"], true],
  ["not where the worker has not", undefined, [], false],
  ["where nobody has looked", undefined, undefined, true],
])("an open run may be searched for %s", (_, isSaid, found, may) => {
  const terms = isSaid === undefined ? {} : { searchAttributes: isSaid };
  const opened = found === undefined ? {} : { searchAttributes: found };
  expect(openedRecord({ terms, opened }).mayBeSearchedBy("RunPhase")).toBe(may);
});

test("where the worker seals, it alone says what a run is searched by", () => {
  const opened = { searchAttributes: ["RunPhase"], seals: true as const };
  const record = openedRecord({ terms: { searchAttributes: true }, opened });
  expect(["RunPhase", "RunNode"].map((name) => record.mayBeSearchedBy(name))).toEqual([true, false]);
});

test("a run that is not open may be searched for only where its starter says so", () => {
  expect(new RunRecord(TERMS, false).mayBeSearchedBy("RunPhase")).toBe(false);
  expect(new RunRecord({ ...TERMS, searchAttributes: true }, false).mayBeSearchedBy("RunPhase")).toBe(true);
});

test.each([
  ["by turns", {}, { recordsReads: true as const }, false],
  ["by nodes, opened by an earlier version", { steps: "nodes" as const }, {}, false],
  ["by nodes", { steps: "nodes" as const }, { recordsReads: true as const }, true],
])("whether the history holds each reading of the document: a run %s", (_, terms, opened, expected) => {
  expect(openedRecord({ terms, opened }).recordsReads).toBe(expected);
});

describe("lists and searches are told where a run stands", () => {
  const opened = { tellsSeldom: true as const };
  const byNodes = () => openedRecord({ terms: { steps: "nodes" }, opened });

  test.each([
    ["by turns", openedRecord({ opened })],
    ["opened by an earlier version", openedRecord({ terms: { steps: "nodes" } })],
  ])("at each visit of a run %s", (_, record) => {
    record.noteTold(10_000);
    standAt(record, "review");
    expect([record.isPlaceDue(10_001), record.isPlaceOld]).toEqual([true, false]);
  });

  test("by nodes every five seconds of its turns, whatever the clock says", () => {
    const record = openedRecord({
      terms: { steps: "nodes" },
      opened: { ...opened, timesTurns: true as const },
    });
    expect(record.isPlaceDue(10_000)).toBe(true);
    for (let turn = 1; turn <= 4; turn += 1) record.timeTurn(900);
    record.noteTold(10_000);
    for (let turn = 1; turn <= 5; turn += 1) record.timeTurn(999);
    expect(record.isPlaceDue(99_000)).toBe(false);
    record.timeTurn(5);
    expect(record.isPlaceDue(10_000)).toBe(true);
  });

  test("by nodes every five seconds of the clock in a run of an earlier version, and where it stays for longer than a moment", () => {
    const record = byNodes();
    expect(record.isPlaceDue(10_000)).toBe(true);
    record.noteTold(10_000);
    expect([record.isPlaceDue(14_999), record.isPlaceDue(15_000), record.isPlaceOld]).toEqual([
      false,
      true,
      false,
    ]);
    standAt(record, "review");
    expect([record.isPlaceDue(14_999), record.isPlaceOld]).toEqual([false, true]);
    record.noteTold(14_999);
    expect(record.isPlaceOld).toBe(false);
  });

  test("by nodes at each visit while turns are slow", () => {
    const record = byNodes();
    record.noteTold(10_000);
    record.update({ isSlow: true });
    expect(record.isPlaceDue(10_001)).toBe(true);
  });
});

test("a run is complete by its graph, or because it was ended", () => {
  const record = openedRecord();
  expect(record.isComplete).toBe(false);
  standAt(record, "done", ["done"]);
  expect(record.isComplete).toBe(true);
  expect(openedRecord({ carried: { ended: true } }).isComplete).toBe(true);
});

test.each<[RunPhase, boolean]>([
  ["idle", false],
  ["running", false],
  ["waiting-user", false],
  ["completed", true],
  ["failed", true],
])("a run that is %s is over: %s", (phase, isOver) => {
  expect(openedRecord({ carried: { phase } }).isOver).toBe(isOver);
});

test("conditions see variables and the graph state where they are evaluated, else nothing", () => {
  expect(openedRecord().conditionData).toBeUndefined();
  const record = storyRecord({ evaluatesConditions: true });
  expect(record.conditionData).toMatchObject({ variables: {}, gateDecisions: {}, routingFlags: {} });
});

test("a node has its own agent, else the run's", () => {
  expect(["draft", "review", "nowhere"].map((node) => openedRecord().agentOf(node))).toEqual([
    "writer",
    "author",
    "author",
  ]);
});

test("what is used counts for the run and for the visit", () => {
  const record = openedRecord({ carried: { usage: USAGE } });
  record.use({ modelTurns: 1, promptTokens: 10, completionTokens: 2, cost: 0.25 });
  record.use({ toolCalls: 1 });
  expect(record.carried.usage).toEqual({
    modelTurns: 4,
    toolCalls: 5,
    promptTokens: 60,
    completionTokens: 8,
    cost: 0.75,
  });
  expect(record.carried.visitUsage).toMatchObject({ modelTurns: 1, toolCalls: 1, promptTokens: 10 });
});

describe("the live view", () => {
  test("has lines that are short and counted", () => {
    const record = new RunRecord(TERMS, false);
    record.note("x".repeat(400), "n".repeat(300));
    record.note("second");
    expect(record.toRunState().progress).toEqual([
      { seq: 1, nodeId: "n".repeat(200), text: "x".repeat(300) },
      { seq: 2, nodeId: "", text: "second" },
    ]);
  });

  test.each([
    ["its newest 60 lines", "line", 60],
    ["8,000 characters", "x".repeat(300), 26],
  ])("keeps at most %s", (_, text, kept) => {
    const record = openedRecord();
    for (let line = 0; line < 100; line += 1) record.note(text, "draft");
    expect(record.carried.progress).toHaveLength(kept);
    expect(record.carried.progress.at(-1)?.seq).toBe(100);
    expect(record.toRunState().progress).toEqual(record.carried.progress);
  });

  test.each([
    ["400 more lines", "line", 460],
    ["64,000 characters more", "x".repeat(300), 26 + 209],
  ])("of a run by nodes keeps %s, which are not carried over", (_, text, kept) => {
    const record = openedRecord({ terms: { steps: "nodes" } });
    for (let line = 0; line < 500; line += 1) record.note(text, "draft");
    const { progress } = record.toRunState();
    expect(progress.map(({ seq }) => seq)).toEqual(
      Array.from({ length: kept }, (_line, at) => 501 - kept + at),
    );
    expect(record.carried.progress.length).toBeLessThan(61);
  });
});

test("the newest head of the audit log is kept, in whatever order heads arrive", () => {
  const record = openedRecord();
  record.noteAudit({ lines: 4, sha256: "four" });
  record.noteAudit({ lines: 3, sha256: "three" });
  expect(record.carried.audit).toEqual({ lines: 4, sha256: "four" });
});

test("a change of pause or budget is recorded with the next phase", () => {
  const record = openedRecord();
  expect(record.isRecorded).toBe(true);
  record.update({ paused: true });
  expect(record.isRecorded).toBe(false);
  record.setPhase("running");
  expect(record.isRecorded).toBe(true);
  record.update({ budget: { run: { turns: 1 } } });
  expect(record.isRecorded).toBe(false);
  expect(record.carried.phaseChanges).toBe(1);
});

test("a run that has failed shows why and asks nothing", () => {
  const record = openedRecord();
  record.question = { nodeId: "draft", text: "?" };
  expect(record.toRunState()).toHaveProperty("question");
  record.fail({ code: "E_INTERNAL", message: "x" });
  expect(record.toRunState()).toMatchObject({ failure: { code: "E_INTERNAL" } });
  expect(record.toRunState()).not.toHaveProperty("question");
});

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
    const record = new RunRecord({ ...TERMS, steps: "nodes" }, false);
    record.begin(opened);
    expect(record.stepsByNode).toBe(false);
  });

  test("until one is slow, and again once one is quick", () => {
    const record = openedRecord({ ...BY_NODE, carried: { turn: 1 } });
    expect(record.isQuickTurn).toBe(true);
    record.timeTurn(undefined, 1_001);
    expect(record.isQuickTurn).toBe(false);
    record.timeTurn(undefined, 1_000);
    expect(record.isQuickTurn).toBe(true);
  });

  test("as its result says, whatever the clock does; one whose result says nothing is slow", () => {
    const record = openedRecord({ ...BY_NODE, opened: { timesTurns: true }, carried: { turn: 1 } });
    record.timeTurn(1_001, 0);
    expect(record.isQuickTurn).toBe(false);
    record.timeTurn(1_000, 99_000);
    expect(record.isQuickTurn).toBe(true);
    record.timeTurn(undefined, 0);
    expect(record.isQuickTurn).toBe(false);
  });

  test("not where a worker has left it to others, and not each 32nd time", () => {
    expect(openedRecord({ ...BY_NODE, carried: { turn: 1, isLeft: true } }).isQuickTurn).toBe(false);
    const quick = Array.from(
      { length: 64 },
      (_, index) => openedRecord({ ...BY_NODE, carried: { turn: index + 1 } }).isQuickTurn,
    );
    expect(quick.flatMap((isQuick, index) => (isQuick ? [] : [index + 1]))).toEqual([32, 64]);
  });

  test("by no clock of a run whose steps are turns", () => {
    const record = openedRecord({});
    record.timeTurn(5_000, 5_000);
    expect(record.carried).not.toHaveProperty("isSlow");
  });
});

describe("the boundary of a node is kept in the task at hand", () => {
  const BY_NODE = { terms: { steps: "nodes" }, opened: { keepsQuickly: true } } as const;

  test("while its turns are quick, in a run that a worker of this version has opened", () => {
    expect(openedRecord(BY_NODE).isQuickBoundary).toBe(true);
    expect(openedRecord({ terms: BY_NODE.terms }).isQuickBoundary).toBe(false);
    expect(openedRecord({ ...BY_NODE, carried: { isSlow: true } }).isQuickBoundary).toBe(false);
    expect(openedRecord({ ...BY_NODE, carried: { isLeft: true } }).isQuickBoundary).toBe(false);
  });

  test("not where entries of the document are to be moved", () => {
    const record = openedRecord(BY_NODE);
    const artifacts = Array.from({ length: 400 }, (_, index) => `artifacts/${index}-${"a".repeat(100)}`);
    record.update({ frontmatter: { ...record.frontmatter, artifacts } });
    expect(record.isQuickBoundary).toBe(false);
  });

  test.each([
    ["its turns took half a second together", (load: TaskLoad) => load.noteTurns(500)],
    ["it holds as much as one turn may say", (load: TaskLoad) => load.noteSaid(256 * 1_024)],
    ["it has passed sixteen", (load: TaskLoad) => Array.from({ length: 16 }, () => load.noteBoundary())],
  ])("until %s, and again in the next one", (_, burden) => {
    const record = openedRecord(BY_NODE);
    record.taskLoad.noteTurns(499);
    record.taskLoad.noteSaid(1_000);
    expect(record.isQuickBoundary).toBe(true);
    burden(record.taskLoad);
    expect(record.isQuickBoundary).toBe(false);
    record.taskLoad.clear();
    expect(record.isQuickBoundary).toBe(true);
  });

  test("and no turn is taken in a task that says a megabyte already: Temporal ends a run whose task says four", () => {
    const record = openedRecord({ ...BY_NODE, carried: { turn: 1 } });
    const early = openedRecord({ terms: BY_NODE.terms, carried: { turn: 1 } });
    for (const { taskLoad } of [record, early]) taskLoad.noteSaid(1_024 * 1_024 - 1);
    expect(record.isQuickTurn).toBe(true);
    for (const { taskLoad } of [record, early]) taskLoad.noteSaid(1);
    expect(record.isQuickTurn).toBe(false);
    expect(early.isQuickTurn).toBe(true); // an earlier version did not ask
    record.taskLoad.endTask();
    expect(record.isQuickTurn).toBe(true);
  });

  test("whose count goes on where a task has ended with its bars under way", () => {
    const record = openedRecord(BY_NODE);
    for (let count = 1; count < 16; count += 1) record.taskLoad.noteBoundary();
    record.taskLoad.endTask();
    expect(record.isQuickBoundary).toBe(true);
    record.taskLoad.noteBoundary();
    expect(record.isQuickBoundary).toBe(false);
  });
});
