import { describe, expect, test } from "vitest";
import type { RunPhase } from "../../../src/core/run/phase.js";
import { RunRecord } from "../../../src/core/engine/run-record.js";
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
