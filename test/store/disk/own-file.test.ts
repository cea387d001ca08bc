import { execFileSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { AppendLog } from "../../../src/store/disk/append-log.js";
import { verifyAuditLog } from "../../../src/store/runs/audit-verify.js";
import { withFileLock } from "../../../src/store/disk/fenced-lock.js";
import { RunFiles } from "../../../src/store/runs/run-files.js";
import { RunIndex } from "../../../src/store/runs/run-index.js";
import { openStore } from "../../../src/store/store.js";
import { FileLock } from "../../../src/embedded/server-lock.js";
import { readServerRecord, serverFiles } from "../../../src/embedded/server-record.js";

let dir: string;
let run: string;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "interlock-own-"));
  run = join(dir, "run");
  mkdirSync(join(run, "state", "logs"), { recursive: true });
  mkdirSync(join(run, "conversation"));
  writeFileSync(join(dir, "victim"), "untouched\n");
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

/** A link to a file outside, a link to nothing, and a pipe that nobody reads or writes. */
const INTRUDERS = [
  ["a link", (path: string) => symlinkSync(join(dir, "victim"), path)],
  ["a link to nothing", (path: string) => symlinkSync(join(dir, "new"), path)],
  ["a named pipe", (path: string) => void execFileSync("/usr/bin/env", ["mkfifo", path])],
  ["a folder", (path: string) => mkdirSync(path)],
] as const;

const REFUSED = /not a file of this store|EISDIR/;
const now = new Date(0);
const USES: readonly (readonly [string, string, (files: RunFiles) => unknown])[] = [
  [
    "the audit log",
    "state/logs/execution.jsonl",
    ({ audit }) => audit.record({ kind: "run.phase", id: "1" }, now),
  ],
  ["the audit log, read", "state/logs/execution.jsonl", ({ audit }) => audit.head()],
  ["the audit log, verified", "state/logs/execution.jsonl", ({ logFile }) => verifyAuditLog(logFile)],
  ["the audit log, added up", "state/logs/execution.jsonl", ({ audit }) => audit.totals()],
  [
    "the audit log's index",
    "execution.jsonl.index",
    ({ audit }) => audit.record({ kind: "run.phase", id: "1" }, now),
  ],
  ["the call journal's index", "calls.jsonl.index", ({ calls }) => calls.plan("1", {})],
  ["the call journal", "calls.jsonl", ({ calls }) => calls.plan("1", {})],
  ["the call journal's lock", "calls.lock", ({ calls }) => calls.plan("1", {})],
  ["the state document", "state/workflow.md", ({ state }) => state.read()],
  ["the boundaries", "boundaries.jsonl", ({ boundaries }) => boundaries.all()],
  ["a conversation", "conversation/visit-1.jsonl", (files) => files.conversation("visit-1").entries()],
  ["the snapshots", "graph-state.jsonl", ({ graphState }) => graphState.snapshots()],
];

describe.each(INTRUDERS)("%s in the place of", (_, intrude) => {
  test.each(USES)("%s is neither followed nor waited for", async (_name, path, use) => {
    intrude(join(run, path));
    await expect((async () => use(new RunFiles(run)))()).rejects.toThrow(REFUSED);
    expect(readFileSync(join(dir, "victim"), "utf8")).toBe("untouched\n");
    expect(existsSync(join(dir, "new"))).toBe(false);
  });

  test("status and request says nothing, as where they are damaged", async () => {
    for (const name of ["status.json", "run.json"]) intrude(join(run, name));
    const files = new RunFiles(run);
    expect(await files.status.read()).toBeUndefined();
    expect(await files.request.read()).toBeUndefined();
  });

  test("the index is damage, and the file is named", async () => {
    intrude(join(dir, "runsIndex.json"));
    await expect(new RunIndex(dir).list()).rejects.toThrow(join(dir, "runsIndex.json"));
  });

  test("a lock is refused", async () => {
    intrude(join(dir, "a.lock"));
    await expect(withFileLock(join(dir, "a.lock"), () => Promise.resolve())).rejects.toThrow(REFUSED);
    expect(() => new FileLock(join(dir, "a.lock"))).toThrow(REFUSED);
    expect(existsSync(join(dir, "new"))).toBe(false);
  });

  test("the server's record is none", () => {
    const files = serverFiles(dir);
    intrude(files.record);
    expect(readServerRecord(files)).toBeNull();
  });
});

test("a run's folder that was exchanged for a link is not followed, by files that were open before either", async () => {
  const store = await openStore(join(dir, "store"));
  const runId = "0e4f0f3a-7a3a-4c1e-9a51-2f1f6b2f8f10";
  const projectId = `p-${"0".repeat(16)}`;
  const folder = join(store.dir, "projects", projectId, "runs", runId);
  mkdirSync(join(folder, "state", "logs"), { recursive: true });
  const log = new AppendLog(join(folder, "calls.jsonl"), join(folder, "calls.lock"), () => undefined);
  await log.append(() => [{ a: 1 }]);
  renameSync(folder, join(dir, "elsewhere"));
  symlinkSync(join(dir, "elsewhere"), folder);
  await expect(log.append(() => [{ a: 2 }])).rejects.toThrow(/a link, not a file of this store/);
  expect(readFileSync(join(dir, "elsewhere", "calls.jsonl"), "utf8")).toBe('{"a":1}\n');
  expect((await store.runs.openFiles(projectId, runId)).ok).toBe(false);
});
