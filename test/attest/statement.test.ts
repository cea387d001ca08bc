import { createHash } from "node:crypto";
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { artifactProblems, logProblems, pathProblems } from "../../src/attest/check-statement.js";
import { storyOf } from "../../src/attest/from-audit.js";
import { type AttestedRun, makeStatement } from "../../src/attest/make-statement.js";
import {
  PREDICATE_TYPE,
  type RunStatement,
  STATEMENT_TYPE,
  parseStatement,
} from "../../src/attest/statement.js";

const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex");
const turn = (nodeId: string, model = "m") => ({ kind: "model.turn", nodeId, model });
const move = (nodeId: string, to: string) => ({
  kind: "tool.exec",
  toolName: "fs.apply_patch",
  nodeId,
  input: { path: "@state/workflow.md", patch: { update: { currentNodeId: { set: to } } } },
  output: { ok: true, path: "@state/workflow.md" },
});
const refusedMove = (nodeId: string, to: string) => ({
  ...move(nodeId, to),
  output: { ok: false, error: { code: "E_INVALID_TRANSITION", details: { from: nodeId, to } } },
});
const write = (path: string, content: string) => ({
  kind: "tool.exec",
  toolName: "fs.write",
  nodeId: "a",
  input: { path },
  output: { ok: true, path, sha256After: sha256(content) },
});
const LOG = [
  turn("a"),
  refusedMove("a", "c"),
  write("@project/artifacts/x.md", "first"),
  {
    kind: "user.input",
    nodeId: "a",
    ts: "2026-11-22T00:00:00.000Z",
    by: "ann",
    input: { content: { sha256: sha256("yes"), bytes: 3, preview: "yes" } },
  },
  undefined,
  turn("a", "n"),
  write("@project/artifacts/x.md", "last"),
  move("a", "b"),
  turn("b"),
  { ...move("b", "c"), input: { path: "@state/workflow.md", content: { bytes: 9 } }, toolName: "fs.write" },
  turn("c"),
];

test("a node that the engine went through is on the way, and was accepted", () => {
  const pass = { kind: "node.pass", nodeId: "b", next: "c", visit: 2 };
  const passed = storyOf([turn("a"), move("a", "b"), pass, turn("c")]);
  expect(passed.path.map(({ seq, nodeId }) => [seq, nodeId])).toEqual([
    [1, "a"],
    [2, "b"],
    [3, "c"],
  ]);
  expect(pathProblems(statement(passed))).toEqual([]);
});

test("a way that begins at a node that the engine goes through verifies", () => {
  const pass = (nodeId: string, next: string) => ({ kind: "node.pass", nodeId, next });
  for (const log of [
    [pass("a", "b"), turn("b"), move("b", "c")],
    [pass("a", "b"), pass("b", "c"), turn("c")],
  ]) {
    expect(pathProblems(statement(storyOf(log)))).toEqual([]);
  }
  const { run } = statement().predicate;
  const fork = { run: { ...run, forkedFrom: { runId: "other", visit: 1 } } };
  expect(pathProblems(statement({ ...storyOf([pass("b", "c"), turn("c")]), ...fork }))).toEqual([]);
});

const story = storyOf(LOG);
const statement = (change: Partial<RunStatement["predicate"]> = {}): RunStatement => {
  const { written: _, document: __, ...told } = story;
  return {
    _type: STATEMENT_TYPE,
    subject: [
      { name: "artifacts/x.md", digest: { sha256: sha256("last") } },
      { name: "@state/workflow.md", digest: { sha256: sha256("document") } },
    ],
    predicateType: PREDICATE_TYPE,
    predicate: {
      run: { runId: "r", phase: "completed", createdAt: "", workflow: "w", rehearsal: false },
      interlock: { version: "0.2.0" },
      package: { id: "p" },
      graph: {
        entryNodeId: "a",
        nodes: ["a", "b", "c"].map((id) => ({ id, type: id === "c" ? "end" : "step" })),
        edges: [
          { from: "a", to: "b" },
          { from: "b", to: "c" },
        ],
      },
      ...told,
      audit: { lines: LOG.length, sha256: sha256(""), knownToTemporal: true },
      ...change,
    },
  };
};

describe("the story of a log", () => {
  test("is its way, every decision of the guard, who has answered by hash, and the models at each node", () => {
    expect(story.path).toEqual([
      { seq: 1, nodeId: "a" },
      { seq: 8, nodeId: "b" },
      { seq: 11, nodeId: "c" },
    ]);
    expect(story.decisions).toEqual([
      { seq: 2, nodeId: "a", verdict: "refused", to: "c", code: "E_INVALID_TRANSITION" },
      { seq: 8, nodeId: "a", verdict: "accepted", to: "b" },
      { seq: 10, nodeId: "b", verdict: "accepted" },
    ]);
    expect(story.answers).toEqual([
      { seq: 4, at: "2026-11-22T00:00:00.000Z", nodeId: "a", by: "ann", digest: { sha256: sha256("yes") } },
    ]);
    expect(story.models).toEqual([
      { nodeId: "a", models: ["m", "n"], turns: 2 },
      { nodeId: "b", models: ["m"], turns: 1 },
      { nodeId: "c", models: ["m"], turns: 1 },
    ]);
    expect([...story.written]).toEqual([["artifacts/x.md", sha256("last")]]);
    expect(JSON.stringify(story)).not.toContain("yes");
  });

  test("survives a round through JSON, with fields of later versions", () => {
    const later = { ...statement(), predicate: { ...statement().predicate, more: 1 } };
    expect(parseStatement(Buffer.from(JSON.stringify(later)))).toEqual(statement());
    for (const other of [
      { ...statement(), predicateType: "urn:other" },
      { ...statement(), subject: [] },
      { ...statement(), _type: "https://in-toto.io/Statement/v0.1" },
      [],
    ]) {
      expect(() => parseStatement(Buffer.from(JSON.stringify(other)))).toThrow("no statement about a run");
    }
    expect(() => parseStatement(Buffer.of(0xff))).toThrow("no UTF-8");
    expect(() => parseStatement(Buffer.from("{"))).toThrow("is not valid JSON");
    const text = JSON.stringify(statement());
    const twice = text.replace('"predicate":{', '"predicate":{"run":{},');
    expect(() => parseStatement(Buffer.from(twice))).toThrow("predicate.run: the key stands here twice");
    const [file] = statement().subject;
    const other = { ...statement(), subject: [file, { ...file, digest: { sha256: sha256("another") } }] };
    const read = () => parseStatement(Buffer.from(JSON.stringify(other)));
    expect(read).toThrow("no statement about a run: subject: names a file twice");
  });
});

describe("a path", () => {
  test("that follows the graph by accepted changes has no problem", () => {
    expect(pathProblems(statement())).toEqual([]);
  });

  test("without a graph is that of a bundle run: one place, and nothing decided", () => {
    const at = (nodeId: string) => [{ seq: 1, nodeId }];
    const isSaid = (change: Partial<RunStatement["predicate"]>, hasDocument = false) => {
      const bundle = { graph: null, path: at("workflow"), decisions: [], answers: [], models: [] };
      const { subject, ...rest } = statement({ ...bundle, ...change });
      return pathProblems({ ...rest, subject: hasDocument ? subject : subject.slice(0, 1) });
    };
    expect(isSaid({})).toEqual([]);
    const elsewhere = ["A run without a graph stands at workflow, and not at a."];
    expect(isSaid({ path: at("a") })).toEqual(elsewhere);
    expect(isSaid({ models: story.models })).toEqual(elsewhere);
    expect(isSaid({ answers: story.answers })).toEqual(elsewhere);
    expect(isSaid({ decisions: story.decisions })).toEqual([
      "A run without a graph has no changes that the guard decides on.",
    ]);
    const refused = { seq: 2, nodeId: "workflow", verdict: "refused", code: "TOOL_NOT_AVAILABLE" } as const;
    expect(isSaid({ decisions: [refused] })).toEqual([]); // a tool of other runs
    expect(isSaid({ path: [] })).toEqual([
      "A run that is completed has stood somewhere, and no way is told.",
    ]);
    expect(isSaid({}, true)).toEqual(["A run without a graph has no state document, @state/workflow.md."]);
    expect(isSaid({ path: story.path })).toContain("A run without a graph has no way through it.");
  });

  test("with an edge that the graph lacks, another beginning, or a node of nowhere does not verify", () => {
    const [a, b, c] = story.path;
    const way = (...path: (typeof a)[]) =>
      pathProblems(statement({ path: path.filter((each) => each !== undefined) }));
    expect(way(a, c)).toContain("Line 11: the graph has no edge a → c.");
    expect(way(b, c)).toContain("The run begins at b, the graph at a.");
    expect(way(a, b && { ...b, nodeId: "z" })).toContain("Line 8: the graph has no node z.");
    expect(way(a, c && { ...c, nodeId: "b" }, b && { ...b, nodeId: "c" })).toContain(
      "Line 8: the way goes back in the log.",
    );
    const forkedFrom = { runId: "other", visit: 1 };
    const { run } = statement().predicate;
    expect(
      pathProblems(
        statement({ path: [b, c].filter((each) => each !== undefined), run: { ...run, forkedFrom } }),
      ),
    ).toEqual([]);
  });

  test("whose step the guard has refused, or never decided on, does not verify", () => {
    const refused = story.decisions.map((each) => ({ ...each, verdict: "refused" as const }));
    expect(pathProblems(statement({ decisions: refused }))).toContain(
      "Line 8: no accepted change leads to b.",
    );
    expect(pathProblems(statement({ decisions: [] }))).toHaveLength(2);
  });

  test("that leaves out where an accepted change led, or a refusal that became one, does not verify", () => {
    const said = story.decisions.map((each) => ({ ...each, verdict: "accepted" as const }));
    expect(pathProblems(statement({ decisions: said }))).toEqual([
      "Line 2: the way does not lead to c, as an accepted change does.",
    ]);
  });

  test("of a completed run that stops before an end does not verify", () => {
    const { run } = statement().predicate;
    const cut = { path: story.path.slice(0, 1), decisions: story.decisions };
    const gone = "Line 8: the way does not lead to b, as an accepted change does.";
    expect(pathProblems(statement(cut))).toEqual([
      gone,
      "The run is completed, and its way stops at a, which is no end.",
    ]);
    expect(pathProblems(statement({ ...cut, run: { ...run, phase: "failed" } }))).toEqual([gone]);
    // The document was written as a whole, and with that the run was completed: the log has no line of the end.
    expect(pathProblems(statement({ path: story.path.slice(0, 2) }))).toEqual([]);
  });

  test("of a run that was completed by a variable verifies", () => {
    const { graph } = statement().predicate;
    if (graph === null) throw new Error("the story has a graph");
    const endless = { ...graph, nodes: graph.nodes.map(({ id }) => ({ id, type: "step" })) };
    const moved = storyOf([turn("a"), move("a", "b")]);
    expect(pathProblems(statement({ ...moved, graph: endless }))).toEqual([]);
    const stayed = storyOf([turn("a"), move("a", "b"), turn("b"), move("b", "b")]);
    expect(pathProblems(statement(stayed))).toEqual([]);
    expect(pathProblems(statement(moved))).toHaveLength(1);
  });

  test("that is said to be completed and tells of no way does not verify", () => {
    expect(pathProblems(statement({ path: [], decisions: [] }))).toHaveLength(1);
    const { run } = statement().predicate;
    expect(pathProblems(statement({ path: [], decisions: [], run: { ...run, phase: "failed" } }))).toEqual(
      [],
    );
  });
});

describe("a log", () => {
  test("that a statement tells of in its order, within its lines and at nodes of the graph has no problem", () => {
    expect(logProblems(statement())).toEqual([]);
    expect(logProblems(statement({ graph: null, path: [], decisions: [] }))).toEqual([]);
  });

  test("that has not the lines a statement tells of, in their order, or not their nodes, does not verify", () => {
    const { run, graph, decisions, answers, models } = statement().predicate;
    const [answer] = answers;
    const elsewhere = { ...answer, nodeId: "z" } as (typeof answers)[number];
    const late = { ...answer, seq: 12 } as (typeof answers)[number];
    const cases: readonly (readonly [Partial<RunStatement["predicate"]>, string])[] = [
      [{ audit: { lines: 10, sha256: "", knownToTemporal: true } }, "Line 11: the log has 10 lines."],
      [{ answers: [late] }, "Line 12: the log has 11 lines."],
      [{ answers: [...answers, ...answers] }, "Line 4: is told behind line 4."],
      [{ decisions: decisions.toReversed() }, "Line 8: is told behind line 10."],
      [{ answers: [elsewhere] }, "The graph has no node z, where something is said to have happened."],
      [
        { models: [...models, { nodeId: "z", models: ["m"], turns: 1 }] },
        "The graph has no node z, where something is said to have happened.",
      ],
      [{ run: { ...run, phase: "running" } }, "The run is running: one that is over is attested."],
      [
        { graph: graph && { ...graph, nodes: [...graph.nodes, { id: "a", type: "end" }] } },
        "The graph names a node twice.",
      ],
    ];
    for (const [change, found] of cases) {
      expect(logProblems(statement(change))).toContain(found);
    }
  });
});

describe("artifacts", () => {
  const dirs: string[] = [];
  afterAll(async () => {
    for (const dir of dirs) await rm(dir, { recursive: true, force: true });
  });
  async function project(content?: string): Promise<string> {
    const dir = await mkdtemp(join(tmpdir(), "interlock-attest-"));
    dirs.push(dir);
    await mkdir(join(dir, "artifacts"));
    if (content !== undefined) await writeFile(join(dir, "artifacts/x.md"), content);
    return dir;
  }

  test("are as the run has left them, or it is said which is not", async () => {
    expect(await artifactProblems(statement(), { project: await project("last") })).toEqual([]);
    expect(await artifactProblems(statement(), { project: await project("first") })).toEqual([
      "artifacts/x.md is not what the run has made.",
    ]);
    expect(await artifactProblems(statement(), { project: await project() })).toEqual([
      "artifacts/x.md is missing.",
    ]);
  });

  const subjectsOf = (run: Pick<AttestedRun, "facts" | "artifacts" | "graph">, lines: readonly object[]) => {
    const log = Buffer.from(lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
    const head = { lines: lines.length, sha256: "" };
    const rest = { rehearsal: false, log, head, knownToTemporal: true, version: "0.2.0" };
    return makeStatement({ ...run, ...rest }).subject.map(({ name }) => name);
  };
  const metadata: AttestedRun["facts"]["metadata"] = {
    runId: "r",
    projectId: "p",
    packageId: "k",
    workflowRef: "w",
    activeAgentId: "a",
    phase: "completed",
    createdAt: "",
    lastUpdatedAt: "",
  };
  const places = { stateFile: null, logFile: null, sessionFolder: "/p/@state/s" };
  const facts = { metadata, projectRoot: "/p", places };

  test("that a document lists in another spelling are the same files, and each is one subject", () => {
    const listed = ["./artifacts/x.md", "artifacts//y.md", "artifacts/./y.md", "@state/./z.md"];
    const artifacts = listed.map((path) => ({ path, nodeId: null, bytes: 1, sha256: sha256(path) }));
    const graph = { entryNodeId: "a", nodes: [], edges: [] };
    expect(subjectsOf({ facts, artifacts, graph }, [write("@project/artifacts/x.md", "last")])).toEqual([
      "artifacts/x.md",
      "artifacts/y.md",
      "@project/@state/z.md",
      "@state/logs/execution.jsonl",
    ]);
  });

  test("the state document is the log's, or said to be what lay there when it was signed", () => {
    const saved = { ...move("a", "b"), output: { ...move("a", "b").output, sha256After: sha256("last") } };
    const refused = { ...refusedMove("b", "c"), sha256After: sha256("other") };
    const documentOf = (text: string, lines: readonly object[]) => {
      const log = Buffer.from(lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
      const head = { lines: lines.length, sha256: "" };
      const rest = { rehearsal: false, log, head, knownToTemporal: true, version: "0.2.0" };
      const graph = { entryNodeId: "a", nodes: [], edges: [] };
      const document = Buffer.from(text);
      return makeStatement({ facts, artifacts: [], graph, document, ...rest }).subject.at(-1);
    };
    const name = "@state/workflow.md";
    const asIs = { name, digest: { sha256: sha256("last") } };
    expect(documentOf("last", [turn("a"), saved, refused])).toEqual(asIs);
    expect(documentOf("altered", [turn("a"), saved])).toEqual({
      name,
      digest: { sha256: sha256("altered") },
      annotations: { hashed: "when-signed" },
    });
    expect(documentOf("last", [turn("a")])).toEqual({ ...asIs, annotations: { hashed: "when-signed" } });
  });

  test("of a bundle run in a folder that is called as a run's own files are, are files of the project", () => {
    const saved = {
      kind: "tool.exec",
      toolName: "save_output",
      nodeId: "workflow",
      input: { file_path: "x.md", content: { sha256: sha256("x") } },
      output: { success: true, path: "{session-folder}/x.md" },
    };
    expect(subjectsOf({ facts, artifacts: [], graph: null }, [saved])).toEqual([
      "@project/@state/s/x.md",
      "@state/logs/execution.jsonl",
    ]);
  });

  test("may have a backslash in their names, as models choose them", async () => {
    const name = "artifacts/a\\b.md";
    const dir = await project();
    await writeFile(join(dir, name), "last");
    const subject = [{ name, digest: { sha256: sha256("last") } }];
    expect(await artifactProblems({ ...statement(), subject }, { project: dir })).toEqual([]);
  });

  test("are read within the project alone, and through no link", async () => {
    const named = (name: string): RunStatement => ({
      ...statement(),
      subject: [{ name, digest: { sha256: sha256("last") } }],
    });
    const dir = await project();
    const elsewhere = await project("last");
    await symlink(join(elsewhere, "artifacts/x.md"), join(dir, "artifacts/x.md"));
    await symlink(join(elsewhere, "artifacts"), join(dir, "linked"));
    for (const name of ["artifacts/x.md", "linked/x.md"]) {
      expect(await artifactProblems(named(name), { project: dir })).toEqual([`${name} lies behind a link.`]);
    }
    for (const name of ["../x.md", "/etc/passwd", "a//b", "./a", "a\0b"]) {
      expect(await artifactProblems(named(name), { project: dir })).toEqual([
        expect.stringContaining("is no path within its folder"),
      ]);
    }
    expect(await artifactProblems(named("artifacts"), { project: dir })).toEqual(["artifacts is no file."]);
  });

  test("of a bundle run that lie in no project are looked at in the session folder, which is asked for", async () => {
    const saved = (path: string, content: string, success = true) => ({
      kind: "tool.exec",
      toolName: "save_output",
      nodeId: "workflow",
      input: { file_path: path, content: { bytes: 1, sha256: sha256(content), preview: "" } },
      output: success ? { success, path: `{session-folder}/${path}` } : { success, path: "x", error: "no" },
    });
    const { written } = storyOf([
      saved("x.md", "first"),
      saved("x.md", "last"),
      saved("x.md", "late", false),
    ]);
    expect([...written]).toEqual([["{session-folder}/x.md", sha256("last")]]);
    const subject = [...written].map(([name, hash]) => ({ name, digest: { sha256: hash } }));
    const bundle = { ...statement(), subject };
    const session = join(await project("last"), "artifacts");
    expect(await artifactProblems(bundle, { session })).toEqual([]);
    expect(await artifactProblems(bundle, { project: session })).toEqual([
      "The run's session folder lies in no project: name it with --session.",
    ]);
    expect(await artifactProblems(bundle, { session: join(await project("first"), "artifacts") })).toEqual([
      "{session-folder}/x.md is not what the run has made.",
    ]);
    expect(await artifactProblems(statement(), { session })).toEqual([
      "The statement names no file of a session folder: its artifacts lie in the project.",
    ]);
  });
});
