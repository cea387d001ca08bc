import { randomUUID } from "node:crypto";
import { appendFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { MAX_ANSWER_BYTES, MAX_STREAMS, type PageFault } from "../../src/page/api.js";
import type { RunEvent } from "../../src/core/run/run-event.js";
import { eventually } from "../fakes/eventually.js";
import { gatePackage } from "../fakes/gate-package.js";
import { valueOf } from "../fakes/run-world.js";
import { call, patch } from "../fakes/scripted-model.js";
import { twoNodePackage } from "../fakes/two-node-package.js";
import { step } from "../fakes/walk.js";
import { type Bench, askedRun, openBench, until, writeTree } from "./harness.js";
import { openPage } from "./open-page.js";

/** Writes a file twice, tries a way that is closed, asks, and goes on. */
const STORY = [
  {
    calls: [
      call("fs_write", { path: "@project/artifacts/out.md", content: "# First\n" }),
      call("fs_write", { path: "@project/artifacts/out.md", content: "# Second\n" }),
      patch({ currentNodeId: { set: "finish" } }),
    ],
    content: "I **write** <script>alert(1)</script>",
  },
  { content: "Which way?\nLeft or right?" },
  { calls: [patch({ variables: { set: { way: "left" } } }), step("ask", "middle")] },
  { calls: [step("middle", "finish")] },
  { calls: [patch({ stepsCompleted: { append: ["finish"] } })] },
];

function errorIn(body: string): PageFault["error"] {
  return (JSON.parse(body) as PageFault).error;
}

test("the list of runs goes on from where a page of it has ended, none of them left out", async () => {
  const bench = await openBench([]);
  const { browser } = await openPage(bench);
  const since = new Date().toISOString();
  const { workflow } = bench.client.temporal;
  const ids: string[] = [];
  for (let begun = 0; begun < 12; begun += 1) {
    const workflowId = `run-${randomUUID()}`; // one after the other: more than a page of one moment ends the list
    await workflow.start("graphRun", { workflowId, taskQueue: "nobody", args: [{}] });
    ids.push(workflowId);
  }
  await workflow.getHandle(ids[3] ?? "").terminate();
  const found = new Set<string>();
  let before: string | undefined;
  await eventually(async () => {
    const asked = { since, limit: 5, ...(before === undefined ? {} : { before }) };
    const { runs, more } = await browser.ask("runs", asked);
    for (const { workflowId } of runs) found.add(workflowId);
    before = more ? runs.at(-1)?.startedAt : undefined; // Temporal lists a run a moment after it has begun
    return ids.every((id) => found.has(id));
  });
  expect([...found]).toEqual(expect.arrayContaining(ids));
});

test("a run is found, looked at from all sides, answered, and followed to its end", async () => {
  const bench = await openBench(STORY);
  const { browser } = await openPage(bench);
  const { runId } = await askedRun(bench);
  const run = { run: runId };

  // The list, and what waits on top of it.
  const project = bench.projectRoot.split("/").at(-1) ?? "";
  await eventually(async () => {
    const { questions } = await browser.ask("questions", { project });
    return questions.some((question) => question.runId === runId);
  });
  const { runs } = await browser.ask("runs", {
    phase: "waiting-user,running",
    package: "two-nodes",
    limit: 200,
  });
  expect(runs.find((row) => row.runId === runId)).toMatchObject({
    kind: "graph",
    phase: "waiting-user",
    question: "Which way?",
    asked: "1.2",
    nodeId: "ask",
    project,
  });

  // The run.
  const described = await browser.ask("run", run);
  expect(described).toMatchObject({ row: { runId, phase: "waiting-user" }, polled: true, pending: [] });
  expect(described.webUrl).toContain(`/namespaces/default/workflows/run-${runId}/`);
  const standing = await browser.ask("standing", run);
  expect(standing).toMatchObject({
    phase: "waiting-user",
    question: { id: "1.2", nodeId: "ask", text: "Which way?\nLeft or right?" },
    artifacts: ["artifacts/out.md"],
    stored: { packageId: expect.stringMatching(/^two-nodes/) },
    projectRoot: bench.projectRoot,
    model: { chain: [{ model: "scripted" }] },
  });
  const { graph } = await browser.ask("graph", run);
  expect(graph?.refusedMoves).toEqual([{ from: "ask", to: "finish", count: 1 }]);
  expect(graph?.nodes.map(({ id, visits, isCurrent }) => [id, visits, isCurrent])).toEqual([
    ["ask", 1, true],
    ["middle", 0, false],
    ["finish", 0, false],
  ]);
  expect(graph?.visits).toEqual([{ visit: 1, nodeId: "ask", conversation: "visit-1" }]);
  const { events } = await browser.ask("events", run);
  expect(events.filter(({ kind }) => kind === "model.turn")).toHaveLength(2);

  // A visit: what was said, called, written.
  const said = await browser.ask("conversation", { ...run, name: "visit-1" });
  const [turn] = said.entries.flatMap((entry) => (entry.type === "assistant" ? [entry] : []));
  expect(turn).toMatchObject({
    turn: 1,
    text: { text: "I **write** <script>alert(1)</script>", isCut: false },
  });
  expect(turn?.calls.map(({ outcome }) => outcome)).toEqual(["ok", "ok", "E_INVALID_TRANSITION"]);
  const write = turn?.calls[1]?.id ?? "";
  expect(await browser.ask("call", { ...run, name: "visit-1", id: write })).toMatchObject({
    arguments: { json: { path: "@project/artifacts/out.md", content: "# Second\n" } },
    result: { json: { ok: true } },
  });
  const { writes } = await browser.ask("writes", run);
  expect(writes.map(({ path, isKept, bytes }) => [path, isKept, bytes])).toEqual([
    ["@project/artifacts/out.md", true, 8],
    ["@project/artifacts/out.md", true, 9],
  ]);
  const before = await browser.ask("content", { ...run, sha256: writes[1]?.previousSha256 ?? "" });
  expect(before).toEqual({ text: { text: "# First\n", bytes: 8, isCut: false } });

  // The answer, once, to that question alone.
  const answer = { ...run, nodeId: "ask", question: "1.2", text: "Left." };
  await browser.ask("answer", answer);
  await browser.ask("answer", answer);
  expect(await browser.send("answer", { ...answer, text: "Right." })).toMatchObject({ status: 409 });
  const watching = await browser.watch(runId, { seq: 1 });
  await watching.ended;
  expect(watching.of("end")).toEqual([{ event: "end", id: undefined, data: { phase: "completed" } }]);
  const streamed = watching.of("events").flatMap(({ data }) => (data as { events: RunEvent[] }).events);
  expect(streamed.map(({ seq }) => seq)).toEqual(
    (await bench.auditEvents(bench.client.handle(runId))).map((_, index) => index + 1),
  );
  expect(streamed.find((event) => event.kind === "user.input")).toMatchObject({ by: "somebody@page" });
  const again = await browser.watch(runId, { lastId: watching.of("events").at(-1)?.id ?? "" });
  await again.ended;
  expect(again.messages.map(({ event }) => event)).toEqual(["end"]);

  // The document before and after.
  const [first, second, now] = await Promise.all([
    browser.ask("document", { ...run, visit: 0 }),
    browser.ask("document", { ...run, visit: 1 }),
    browser.ask("document", run),
  ]);
  expect([first.text.text.includes('"way":"left"'), second.text.text.includes('"way":"left"')]).toEqual([
    false,
    true,
  ]);
  expect(now).toMatchObject({ visit: null, nodeId: "finish" });
  const done = (await browser.ask("graph", run)).graph;
  expect(done?.edges.map(({ from, to, taken }) => [from, to, taken])).toEqual([
    ["ask", "middle", 1],
    ["middle", "finish", 1],
  ]);
  expect(done?.visits.map(({ nodeId, next }) => [nodeId, next])).toEqual([
    ["ask", "middle"],
    ["middle", "finish"],
    ["finish", "finish"],
  ]);

  // A fork with another variable, once.
  const point = await browser.ask("forkPoint", { ...run, visit: 1 });
  expect(point).toMatchObject({ nodeId: "middle", variables: { way: "left" } });
  const fork = { ...run, visit: 1, newRunId: randomUUID(), set: { way: "right" } };
  expect((await browser.ask("fork", fork)).runId).toBe(fork.newRunId);
  await browser.ask("fork", fork);
  await eventually(async () => {
    const { status, body } = await browser.send("document", { run: fork.newRunId, visit: 0 });
    return status === 200 && body.includes('way\\":\\"right');
  });
});

test("a run is started, rehearsed, paused, given more, cancelled and retried from forms", async () => {
  const bench = await openBench([{ content: "Which way?" }, { content: "Still?" }]);
  const { browser } = await openPage(bench);
  const { packageId } = valueOf(await bench.store.packages.install(await packageIn(bench)));
  const { taskQueue } = bench.store;
  expect((await browser.ask("packages", { taskQueue })).packages.map((known) => known.packageId)).toEqual([
    packageId,
  ]);
  const shown = await browser.ask("package", { taskQueue, packageId });
  expect(shown.agents.map(({ id, role }) => [id, role.text])).toEqual([
    ["author", "tester"],
    ["closer", "tester"],
  ]);
  expect(shown.workflows[0]?.edges.map(({ label }) => label)).toEqual(["onwards", "done"]);
  expect(shown.findings).toEqual(expect.arrayContaining([]));

  const start = { taskQueue, packageId, projectRoot: bench.projectRoot };
  const rehearsed = { ...start, newRunId: randomUUID(), rehearse: { branches: false } };
  await browser.ask("start", rehearsed);
  const newRunId = randomUUID();
  const budget = { run: { turns: 1 } };
  await browser.ask("start", { ...start, newRunId, input: "Begin.", budget });
  await browser.ask("start", { ...start, newRunId, input: "Begin.", budget });
  const run = { run: newRunId };
  const handle = bench.client.handle(newRunId);
  await until(handle, "waiting-user");
  await browser.ask("answer", { ...run, nodeId: "ask", question: "1.1", text: "Left." });
  await eventually(async () => (await browser.ask("standing", run)).question?.code === "BUDGET_EXCEEDED");
  await browser.ask("pause", run);
  expect((await browser.ask("standing", run)).paused).toBe(true);
  const raise = { ...run, add: { turns: 1 }, raiseId: randomUUID() };
  expect(await browser.ask("raise", raise)).toEqual({ budget: { run: { turns: 2 } } });
  expect(await browser.ask("raise", raise)).toEqual({ budget: { run: { turns: 2 } } });
  await browser.ask("resume", run);
  await eventually(async () => (await browser.ask("standing", run)).question?.text === "Still?");
  expect(await browser.send("finish", run)).toMatchObject({ status: 409 });
  expect(await browser.send("retry", run)).toMatchObject({ status: 409 });
  await browser.ask("cancel", run);
  await eventually(async () => (await browser.ask("run", run)).row.phase === "failed");
  expect((await browser.ask("run", run)).failure).toMatchObject({ code: "ENGINE_ABORTED" });
  await browser.ask("retry", run);
  await eventually(async () => (await browser.ask("run", run)).row.phase !== "failed");
  await until(bench.client.handle(rehearsed.newRunId), "completed");
});

async function packageIn(bench: Bench): Promise<string> {
  const dir = `${bench.dir}/package`;
  await writeTree(dir, twoNodePackage());
  return dir;
}

test(
  "without a worker the page says so and lives; what Temporal knows is there, and the rest comes back",
  { tags: "slow" },
  async () => {
    const bench = await openBench(STORY);
    const { browser } = await openPage(bench);
    const { runId } = await askedRun(bench);
    const run = { run: runId };
    const watching = await browser.watch(runId);
    await bench.stopWorker();
    expect(await browser.ask("run", run)).toMatchObject({
      row: { phase: "waiting-user", question: "Which way?" },
    });
    const needing = ["standing", "graph", "events", "writes"] as const;
    const answers = await Promise.all(needing.map((name) => browser.send(name, run)));
    for (const { status, body } of answers) {
      expect([status, errorIn(body).code]).toEqual([503, "NO_WORKER"]);
    }
    const answer = { ...run, nodeId: "ask", question: "1.2", text: "Left." };
    const refused = await browser.send("answer", answer);
    const { code, message } = errorIn(refused.body);
    expect([refused.status, code]).toEqual([503, "NO_WORKER"]);
    expect(message).toMatch(/may still be taken.*: interlock worker$/);
    const unknown = await browser.send("run", { run: randomUUID() });
    expect([unknown.status, JSON.parse(unknown.body)]).toMatchObject([
      404,
      { error: { code: "NOT_IN_TEMPORAL" } },
    ]);
    await bench.startAnotherWorker();
    await browser.ask("answer", answer);
    await watching.ended;
    expect(watching.messages.at(-1)).toMatchObject({ event: "end", data: { phase: "completed" } });
    expect((await browser.ask("standing", run)).phase).toBe("completed");
  },
);

test("of 2,000 calls every answer is a bounded page, and the pages are all of them", async () => {
  const bench = await openBench(STORY);
  const { browser } = await openPage(bench);
  const { runId } = await askedRun(bench);
  const run = { run: runId };
  const files = await bench.filesOf({ runId });
  const long = "\u{1F600}\u0001ß".repeat(20_000);
  const usage = { promptTokens: 1, completionTokens: 1, cost: 0 };
  const turns = Array.from({ length: 200 }, (_, turn) => ({
    type: "assistant" as const,
    visit: 1,
    turn: turn + 10,
    content: turn < 20 || turn === 199 ? long : "Said.",
    calls: Array.from({ length: 10 }, (_, index) => ({
      id: `made-${turn}-${index}`,
      name: "fs_write",
      argumentsJson: JSON.stringify({
        path: "@project/artifacts/out.md",
        content: index === 0 && turn < 10 ? long : "x",
      }),
    })),
    finishReason: "tool_calls",
    usage,
    model: "scripted",
  }));
  await files.conversation("visit-1").append(turns);
  const lines = turns.flatMap(({ calls }) =>
    calls.map(({ id }) => {
      const output = {
        ok: true,
        path: "@project/artifacts/out.md",
        bytesWritten: 1,
        sha256After: "0".repeat(64),
      };
      const about = { toolName: "fs.write", agentId: "author", nodeId: "ask", input: {}, durationMs: 1 };
      return JSON.stringify({ ts: "", kind: "tool.exec", toolCallId: id, ...about, output });
    }),
  );
  await appendFile(files.logFile, `${lines.join("\n")}\n`);
  await files.calls.record("made-7-0", { result: { ok: true, content: long } });

  const said: string[] = [];
  for (let from = 0, total = 1; from < total;) {
    const { status, body } = await browser.send("conversation", { ...run, name: "visit-1", from });
    expect([status, Buffer.byteLength(body) <= MAX_ANSWER_BYTES]).toEqual([200, true]);
    const page = JSON.parse(body) as { entries: { calls?: { id: string }[] }[]; total: number };
    said.push(...page.entries.flatMap(({ calls = [] }) => calls.map(({ id }) => id)));
    from += page.entries.length;
    total = page.total;
  }
  expect(said.filter((id) => id.startsWith("made-"))).toHaveLength(2_000);
  const alone = await browser.ask("conversation", { ...run, name: "visit-1", from: -1, limit: 1 });
  expect(alone.entries).toMatchObject([{ turn: 209, text: { text: long, isCut: false } }]);

  const seen: number[] = [];
  for (let at = {}, more = true; more;) {
    const { status, body } = await browser.send("events", { ...run, ...at });
    expect([status, Buffer.byteLength(body) <= MAX_ANSWER_BYTES]).toEqual([200, true]);
    const page = JSON.parse(body) as { events: RunEvent[]; next: object; more: boolean };
    seen.push(...page.events.map(({ seq }) => seq));
    at = page.next;
    more = page.more;
  }
  expect(seen).toEqual(Array.from({ length: seen.length }, (_, index) => index + 1));
  expect(seen.length).toBeGreaterThan(2_000);
  expect((await browser.ask("writes", run)).writes).toHaveLength(1_000);
  const { arguments: made, result } = await browser.ask("call", { ...run, name: "visit-1", id: "made-7-0" });
  expect([made, result]).toMatchObject([{ text: { isCut: false } }, { text: { isCut: false } }]);
  expect((await browser.ask("graph", run)).graph?.visits).toHaveLength(1);
});

test("an answer is seen while it is given, by few streams at once", async () => {
  let goOn: (() => void) | undefined;
  const script = [
    {
      content: "The first words, then what?",
      beforeEnd: () => new Promise<void>((resolve) => (goOn = resolve)),
    },
  ];
  const bench = await openBench(script, { INTERLOCK_MODEL_STREAM: "true" });
  const { browser } = await openPage(bench);
  const { runId } = await bench.start(twoNodePackage());
  await eventually(() => goOn !== undefined);
  const watching = await browser.watch(runId);
  const textOf = () =>
    watching
      .of("piece")
      .map(({ data }) => (data as { text: string }).text)
      .join("");
  // Of a word that is not ended, nothing is told yet: it may be a key.
  await eventually(() => textOf() === "The first words, then ");
  const others = [];
  for (let count = 1; count < MAX_STREAMS; count += 1) others.push(await browser.watch(runId));
  const refused = await browser.watch(runId);
  expect([watching, ...others, refused].map(({ status }) => status)).toEqual([200, 200, 200, 200, 503]);
  others[0]?.close();
  await eventually(async () => {
    const next = await browser.watch(runId);
    next.close();
    return next.status === 200;
  });
  goOn?.();
  await eventually(() => watching.of("pieceEnd").length === 1);
  await eventually(() =>
    watching.of("events").some(({ data }) => JSON.stringify(data).includes('"phase":"waiting-user"')),
  );
});

test("a visit's change of the graph state is shown with the edges it closes, and none for a run without a story", async () => {
  const bench = await openBench([
    { content: "Which way?" },
    { calls: [step("build", "qa")] },
    { calls: [call("state_record", { gateDecisions: { qaGate: "FAIL" } }), step("qa", "finish")] },
    { content: "What now?" },
  ]);
  const { browser } = await openPage(bench);
  const plain = await bench.start(twoNodePackage());
  await until(plain, "waiting-user");
  expect(await browser.ask("graphState", { run: plain.runId })).toEqual({ change: null });
  const story = await bench.start(gatePackage(), { storyId: "wrkf-1010", evaluateConditions: true });
  await until(story, "waiting-user");
  const run = { run: story.runId };
  expect((await browser.ask("graphState", { ...run, visit: 1 })).change).toMatchObject({
    fromVisit: 0,
    toVisit: 1,
  });
  expect((await browser.ask("graphState", run)).change).toMatchObject({
    fromVisit: 0,
    toVisit: null,
    added: [{ path: "gateDecisions.qaGate", newValue: "FAIL" }],
    isCut: false,
  });
  expect(await browser.send("graphState", { ...run, visit: 2 })).toMatchObject({ status: 404 });
  const { graph } = await browser.ask("graph", run);
  expect(graph?.edges.map(({ to, taken, refused, isClosed }) => [to, taken, refused, isClosed])).toEqual([
    ["qa", 1, 0, false],
    ["finish", 0, 1, true],
    ["build", 0, 0, false],
  ]);
});

test("a bundle run has its steps and its session folder instead of a graph", async () => {
  const bench = await openBench([
    { calls: [call("read_file", { file_path: "{bundle-root}/workflows/intake/instructions.md" })] },
    { calls: [call("save_output", { file_path: "note.md", content: "# Note\n" })] },
    { content: "Which desk?" },
  ]);
  const { browser } = await openPage(bench);
  const started = await bench.startBundle();
  await until(started, "waiting-user");
  const run = { run: started.runId };
  expect(await browser.ask("graph", run)).toEqual({ graph: null });
  const { bundle } = await browser.ask("bundle", run);
  expect(bundle?.files).toMatchObject([{ path: "note.md", bytes: 7 }]);
  expect(bundle?.sessionFolder).toBe((await bench.session(started)).dir);
  expect(bundle?.steps.map(({ path }) => path)).toContain("{bundle-root}/workflows/intake/instructions.md");
  await browser.ask("finish", run);
  await eventually(async () => (await browser.ask("run", run)).row.phase === "completed");
});
