import { mkdirSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { appendFile, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { AuditLog } from "../../../src/store/runs/audit-log.js";
import { Blobs } from "../../../src/store/runs/blobs.js";
import { Boundaries } from "../../../src/store/runs/boundaries.js";
import { defined } from "../../../src/core/defined.js";
import { findForkPoint } from "../../../src/store/runs/fork-point.js";
import { ExecutionOver } from "../../../src/store/runs/executions.js";
import { RunFiles } from "../../../src/store/runs/run-files.js";
import { RunRequestFile } from "../../../src/store/runs/run-request.js";
import { sha256 } from "../../../src/store/disk/sha256.js";
import { gatePackage } from "../../fakes/gate-package.js";
import { temporaryDirectory } from "../../fakes/package-fixture.js";
import { openRunWorld, valueOf } from "../../fakes/run-world.js";
import { createInitialState } from "../../../src/core/graph-state/initial-state.js";
import { withoutHistory } from "../../../src/core/graph-state/walk.js";
import { NO_LOCK } from "../../../src/store/disk/fenced-lock.js";

const AT = "2026-01-02T03:04:05.000Z";
const document = (text: string) => Buffer.from(`---\n{}\n---\n${text}`);

describe("boundaries", () => {
  test("each visit once, in order, whoever keeps them; a torn line is passed over", async () => {
    const dir = await temporaryDirectory();
    const open = () => new Boundaries(join(dir, "b.jsonl"), join(dir, "b.lock"), NO_LOCK);
    const [one, other] = [open(), open()];
    await one.keep({ visit: 2, nodeId: "b", next: "c", timestamp: AT, calls: 4 }, document("two"));
    await other.keepBeginning({ next: "a", timestamp: AT }, document("none"));
    await other.keep({ visit: 2, nodeId: "x", next: "y", timestamp: AT, calls: 9 }, document("else"));
    await appendFile(join(dir, "b.jsonl"), '{"visit":3,"node');
    await one.keep({ visit: 1, nodeId: "a", next: "b", timestamp: AT, calls: 2 }, document("ü\r\n"));
    const reopened = open();
    const all = await reopened.all();
    expect(all.map(({ visit, next, calls }) => [visit, next, calls])).toEqual([
      [0, "a", 0],
      [1, "b", 2],
      [2, "c", 4],
    ]);
    expect(all[1]).toMatchObject({ documentSha256: sha256(document("ü\r\n")) });
    expect(Buffer.from(reopened.documentAt(1))).toEqual(document("ü\r\n"));
  });
});

describe("blobs", () => {
  test("each content once, private; damage is noticed and mended by the next write", async () => {
    const dir = join(await temporaryDirectory(), "blobs");
    const blobs = new Blobs(dir);
    const hash = sha256("text");
    expect(blobs.read(hash)).toBeUndefined();
    blobs.keep(Buffer.from("text"));
    blobs.keep(Buffer.from("text"));
    expect(readdirSync(dir)).toEqual([hash]);
    expect(statSync(join(dir, hash)).mode & 0o777).toBe(0o600);
    expect(blobs.read(hash)?.toString()).toBe("text");
    writeFileSync(join(dir, hash), "te");
    expect(blobs.read(hash)).toBeUndefined();
    blobs.keep(Buffer.from("text"));
    expect(blobs.read(hash)?.toString()).toBe("text");
  });

  test("no name but a hash is read, and what cannot be kept is not an error", async () => {
    const dir = await temporaryDirectory();
    writeFileSync(join(dir, "secret"), "x");
    expect(new Blobs(join(dir, "blobs")).read("../secret")).toBeUndefined();
    writeFileSync(join(dir, "file"), "");
    const blobs = new Blobs(join(dir, "file"));
    blobs.keep(Buffer.from("text"));
    expect(blobs.read(sha256("text"))).toBeUndefined();
  });
});

describe("audit totals", () => {
  test("add up turns, calls, tokens and cost, and find the newest visit and phase change", async () => {
    const path = join(await temporaryDirectory(), "execution.jsonl");
    const turn = (id: string, cost?: number) => ({
      kind: "model.turn",
      id,
      promptTokens: 100,
      completionTokens: 10,
      ...(cost === undefined ? {} : { cost }),
    });
    const events = [
      { ...turn("1.1", 0.5), nodeId: "ask" },
      { kind: "tool.exec", toolCallId: "a", nodeId: "__proto__" },
      turn("1.2"),
      { kind: "run.phase", id: "1" },
      turn("3.1", 0.25),
      turn("2.7"), // a straggler of an earlier execution
      { kind: "run.phase", id: "12" },
      { kind: "run.phase", id: "3" },
      { kind: "run.phase", id: "__proto__" },
      { kind: "user.input", id: "input" },
    ];
    const lines = events.map((event) => JSON.stringify(event));
    await writeFile(path, `${lines.join("\n")}\n{"kind":"model.turn","id":"9.9"\n{"kind":"log.repaired"}\n`);
    expect(await new AuditLog(path, `${path}.lock`, NO_LOCK).totals()).toEqual({
      usage: { modelTurns: 4, toolCalls: 1, promptTokens: 400, completionTokens: 40, cost: 0.75 },
      visit: 3,
      turn: 1,
      phaseChanges: 12,
      byNode: [
        {
          nodeId: "ask",
          usage: { modelTurns: 1, toolCalls: 0, promptTokens: 100, completionTokens: 10, cost: 0.5 },
        },
        {
          nodeId: "__proto__",
          usage: { modelTurns: 0, toolCalls: 1, promptTokens: 0, completionTokens: 0, cost: 0 },
        },
      ],
    });
  });

  test("an empty log has none", async () => {
    const path = join(await temporaryDirectory(), "execution.jsonl");
    await writeFile(path, "");
    expect(await new AuditLog(path, `${path}.lock`, NO_LOCK).totals()).toMatchObject({
      visit: 0,
      turn: 0,
      phaseChanges: 0,
    });
  });
});

describe("what a run was started with", () => {
  test("is written once, and read back only when it is whole", async () => {
    const dir = await temporaryDirectory();
    const file = new RunRequestFile(dir, NO_LOCK);
    expect(await file.read()).toBeUndefined();
    await file.keep("graph", { runId: "a", input: "words" });
    await file.keep("bundle", { runId: "b" });
    expect(await new RunRequestFile(dir, NO_LOCK).read()).toMatchObject({
      kind: "graph",
      input: { runId: "a" },
    });
    for (const text of ["{", "[]", '{"kind":"other","input":{}}', '{"kind":"graph","input":[]}']) {
      await writeFile(join(dir, "run.json"), text);
      expect(await file.read()).toBeUndefined();
    }
    await file.keep("bundle", { runId: "b" });
    expect(await file.read()).toMatchObject({ kind: "bundle" });
  });

  test("keeps the limits of the newest retry, whenever an older one arrives", async () => {
    const dir = await temporaryDirectory();
    const { executions, request } = new RunFiles(dir, 1);
    const retry = (turns: number) => ({ resume: true, limits: { turns } });
    const first = { runId: "a", input: "words", limits: { turns: 1 } };
    const input = { ...first, limits: { turns: 3 } };
    await request.keep("graph", first);
    const second = new RunFiles(dir, await executions.begin({ id: "second", startedAt: 2 }, true));
    const third = new RunFiles(dir, await executions.begin({ id: "third", startedAt: 3 }, true));
    await third.request.keep("graph", retry(3));
    expect(await request.read()).toEqual({ kind: "graph", input });
    await expect(second.request.keep("graph", retry(2))).rejects.toThrow(ExecutionOver);
    await third.request.keep("graph", first);
    expect(await request.read()).toEqual({ kind: "graph", input });
    expect(readdirSync(dir)).toEqual(expect.not.arrayContaining([expect.stringMatching(/^\.tmp/)]));
  });
});

describe("fork points", () => {
  async function worldWithBoundaries() {
    const world = await openRunWorld(gatePackage());
    const { store, projectRoot, packageId } = world;
    const run = valueOf(await store.runs.createRun({ projectRoot, packageId, activeAgentId: "author" }));
    const files = valueOf(await store.runs.openFiles(run.projectId, run.runId));
    await files.boundaries.keepBeginning({ next: "build", timestamp: AT }, document("0"));
    const walk = ["build", "qa", "build", "qa"];
    for (const [index, nodeId] of walk.entries()) {
      const at = { visit: index + 1, nodeId, next: walk[index + 1] ?? "finish", timestamp: AT, calls: index };
      await files.boundaries.keep(at, document(String(index + 1)));
    }
    return { world, run, files };
  }

  test("where a node was entered last, or after a visit exactly", async () => {
    const { world, run } = await worldWithBoundaries();
    const at = async (from: { fromNode?: string; visit?: number }) =>
      valueOf(await findForkPoint(world.store.runs, { runId: run.runId, ...from })).boundary.visit;
    expect(await at({ fromNode: "build" })).toBe(2);
    expect(await at({ fromNode: "qa" })).toBe(3);
    expect(await at({ fromNode: "build", visit: 0 })).toBe(0);
    expect(await at({ visit: 1 })).toBe(1);
    expect(await at({})).toBe(4);
  });

  test.each([
    [{ fromNode: "nope" }, 'never at "nope".'],
    [{ visit: 9 }, "never at visit 9."],
    [{ fromNode: "qa", visit: 2 }, 'never at "qa" after visit 2.'],
  ])("a moment that there never was is named as it was asked for: %j", async (from, words) => {
    const { world, run } = await worldWithBoundaries();
    const found = await findForkPoint(world.store.runs, { runId: run.runId, ...from });
    expect(found).toMatchObject({ ok: false, error: { message: expect.stringContaining(words) as string } });
  });

  test("the graph state is that of the newest snapshot by then, else the first one", async () => {
    const { world, run, files } = await worldWithBoundaries();
    const initial = withoutHistory(createInitialState({ epicPrefix: "wrkf", storyId: "wrkf-1" }));
    const state = { ...initial, gateDecisions: { qaGate: "FAIL" as const } };
    await files.graphState.keep({ state: initial, change: 0 });
    const snapshot = { visit: 2, nodeId: "qa", timestamp: AT, documentSha256: "" };
    await files.graphState.keep({ state, change: 1 }, snapshot);
    const at = async (visit: number) =>
      valueOf(await findForkPoint(world.store.runs, { runId: run.runId, visit })).graphState;
    expect(await at(0)).toEqual(initial);
    expect(await at(1)).toEqual(initial);
    expect(await at(2)).toEqual(state);
    expect(await at(3)).toEqual(state); // its own snapshot was not kept
  });

  test("a fork of a fork has the files that the runs before it had written when each was forked from", async () => {
    const world = await openRunWorld(gatePackage());
    const { runs } = world.store;
    const write = async (files: RunFiles, path: string, text: string) => {
      files.blobs.keep(Buffer.from(text));
      const result = { ok: true, path: `@project/${path}`, sha256After: sha256(text) } as const;
      await files.calls.record(`${path} ${text}`, { result });
    };
    const begun = async (from?: { runId: string; visit: number }, was?: { bytes: Uint8Array }) => {
      const begin = from && was && { from, document: was.bytes, variables: {} };
      const run = valueOf(await runs.createRun({ ...world, activeAgentId: "author", ...defined({ begin }) }));
      const files = valueOf(await runs.openFiles(run.projectId, run.runId));
      const { bytes } = valueOf(await files.state.read());
      await files.boundaries.keepBeginning({ next: "build", timestamp: AT }, bytes);
      return { runId: run.runId, files, bytes };
    };
    const first = await begun();
    await write(first.files, "artifacts/a.md", "one");
    await write(first.files, "artifacts/b.md", "one");
    await first.files.boundaries.keep(
      { visit: 1, nodeId: "build", next: "qa", timestamp: AT, calls: 2 },
      document("1"),
    );
    await write(first.files, "artifacts/late.md", "one");
    const second = await begun({ runId: first.runId, visit: 1 }, first);
    await write(second.files, "artifacts/b.md", "two");
    const third = await begun({ runId: second.runId, visit: 0 }, second);
    const { written } = valueOf(await findForkPoint(runs, { runId: third.runId, visit: 0 }));
    const texts = [...written].map(([path, { sha256: hash, blobs }]) => [path, blobs.read(hash)?.toString()]);
    expect(texts).toEqual([
      ["@project/artifacts/a.md", "one"],
      ["@project/artifacts/b.md", "one"],
    ]);
  });

  test("what never was is named with what was", async () => {
    const { world, run, files } = await worldWithBoundaries();
    const { runs } = world.store;
    expect(await findForkPoint(runs, { runId: run.runId, fromNode: "no\u001b[2Jwhere" })).toMatchObject({
      error: {
        code: "E_PRECONDITION_FAILED",
        message: expect.stringContaining('never at "no [2Jwhere". It entered: build, qa, finish') as string,
      },
    });
    expect(await findForkPoint(runs, { runId: run.runId, fromNode: "qa", visit: 0 })).toMatchObject({
      ok: false,
    });
    expect(await findForkPoint(runs, { runId: "no-run" })).toMatchObject({
      error: { code: "E_RUN_NOT_FOUND" },
    });
    await rm(join(files.dir, "boundaries.jsonl"));
    const later = valueOf(
      await runs.createRun({ ...world, activeAgentId: "author" }), // a run that keeps none
    );
    expect(await findForkPoint(runs, { runId: later.runId })).toMatchObject({
      error: {
        code: "E_PRECONDITION_FAILED",
        message: expect.stringContaining("keeps no node boundaries") as string,
      },
    });
  });
});

test("the newest visit is told from the names of conversations", async () => {
  const world = await openRunWorld(gatePackage());
  const run = valueOf(await world.store.runs.createRun({ ...world, activeAgentId: "author" }));
  const files = valueOf(await world.store.runs.openFiles(run.projectId, run.runId));
  expect(await files.newestVisit()).toBe(0);
  const dir = join(files.dir, "conversation");
  await mkdir(dir, { recursive: true });
  for (const name of ["visit-9.jsonl", "visit-10.jsonl", "run.jsonl", "visit-99.tmp", "visit-x.jsonl"]) {
    await writeFile(join(dir, name), "");
  }
  mkdirSync(join(dir, "other"));
  expect(await files.newestVisit()).toBe(10);
  expect((await readFile(files.logFile)).length).toBe(0);
});
