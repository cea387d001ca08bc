import { appendFile, mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { NO_LOCK } from "../../src/store/disk/fenced-lock.js";
import { markSessionFolder, openSessionFolder, sessionDir } from "../../src/store/runs/bundle-session.js";
import { Conversation } from "../../src/store/runs/conversation.js";
import { RunIndex } from "../../src/store/runs/run-index.js";
import { RunRequestFile } from "../../src/store/runs/run-request.js";
import { openStore, readStoreName, renameStore } from "../../src/store/store.js";
import { temporaryDirectory } from "../fakes/package-fixture.js";

const AT = new Date("2026-01-02T03:04:05.000Z");
const run = (runId: string) => ({
  runId,
  projectId: "p",
  packageId: "k",
  workflowRef: "w",
  activeAgentId: "a",
  phase: "idle" as const,
  createdAt: AT.toISOString(),
  lastUpdatedAt: AT.toISOString(),
});

let dir: string;
beforeEach(async () => {
  dir = await temporaryDirectory();
});
const json = async (...names: string[]): Promise<object> =>
  JSON.parse(await readFile(join(dir, ...names), "utf8"));
const add = async (fields: object, ...names: string[]) =>
  writeFile(join(dir, ...names), JSON.stringify({ ...(await json(...names)), ...fields }));
const LATER = { laterField: { since: 2 } };

describe("what a later version has written beside what is known here stays where a file is written again", () => {
  test("in a store's own file, which gets another name", async () => {
    await openStore(dir);
    await add(LATER, "store.json");
    await renameStore(dir, "another");
    expect(await json("store.json")).toMatchObject({ ...LATER, name: "another" });
    expect(await readStoreName(dir)).toBe("another");
  });

  test("in an index of runs, of which lines are left out, and in none of what is told of a run", async () => {
    const lines = [
      { ...run("a"), ...LATER, forkedFrom: { runId: "c", visit: 1, ...LATER } },
      { runId: "a", phase: "running", lastUpdatedAt: AT.toISOString(), laterReason: "r" },
      { ...run("b"), phase: "completed" },
      { runId: "b", pruned: AT.toISOString(), laterCause: "c" },
      { runId: "a", phase: "failed", lastUpdatedAt: AT.toISOString() },
    ];
    await writeFile(join(dir, "runs.jsonl"), lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
    const index = new RunIndex(dir);
    await index.compactIfRoom();
    const left = (await readFile(join(dir, "runs.jsonl"), "utf8")).trimEnd().split("\n");
    const failed = { ...run("a"), phase: "failed", forkedFrom: { runId: "c", visit: 1 } };
    expect(left.map((line) => JSON.parse(line) as unknown)).toEqual([
      { runId: "b", pruned: AT.toISOString(), laterCause: "c" },
      { ...failed, ...LATER, forkedFrom: { runId: "c", visit: 1, ...LATER }, laterReason: "r" },
    ]);
    expect([await index.list(), await new RunIndex(dir).list()]).toEqual([[failed], [failed]]);
  });

  test("in what a run was begun with, when it goes on, and in a bundle run's manifest", async () => {
    const request = new RunRequestFile(dir, NO_LOCK);
    await request.keep("graph", { project: "p" });
    await add(LATER, "run.json");
    await request.keep("graph", { resume: true, limits: { turns: 3 } });
    expect(await json("run.json")).toMatchObject({ ...LATER, input: { limits: { turns: 3 } } });

    const place = { outputRoot: dir, sessionId: "s" };
    const at = AT.toISOString();
    const said = { sessionId: "s", runId: "r", workflow: "w", agent: null, createdAt: at, updatedAt: at };
    await openSessionFolder(place, { ...said, status: "running", outputs: [], files: [] });
    await add(LATER, "s", "manifest.json");
    await add({ files: [{ path: "x", size: 1, sha256: "0", savedAt: at, ...LATER }] }, "s", "manifest.json");
    await markSessionFolder(sessionDir(place), "complete", AT, NO_LOCK);
    expect(await json("s", "manifest.json")).toMatchObject({
      ...LATER,
      status: "complete",
      files: [{ path: "x", ...LATER }],
    });
  });
});

test("what a later version has said in a conversation, in a form that is not known here, is passed over", async () => {
  await mkdir(join(dir, "c"));
  const path = join(dir, "c", "visit-1.jsonl");
  const open = () => new Conversation(path, join(dir, "c", "conversation.lock"), NO_LOCK);
  const user = { type: "user" as const, id: "u", nodeId: "n", text: "words" };
  await open().append([user]);
  await appendFile(path, `${JSON.stringify({ type: "thought", visit: 1 })}\n{"type":"assistant"}\n{}\n`);
  const conversation = open();
  expect(await conversation.entries()).toEqual([user]);
  await conversation.append([{ ...user, id: "v" }]);
  expect([await conversation.count(), await open().entries(1)]).toEqual([2, [{ ...user, id: "v" }]]);
});

test("lists of a later version are not called damaged alone", async () => {
  await writeFile(join(dir, "runs.jsonl"), `${JSON.stringify({ runId: "a", archived: true })}\n`);
  await expect(new RunIndex(dir).list()).rejects.toThrow("later version");
  await openStore(join(dir, "store"));
  await add({ rules: [] }, "store", "roots.json");
  await expect(openStore(join(dir, "store"))).rejects.toThrow("later version");
});
