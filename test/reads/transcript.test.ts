import { appendFile, mkdir, readFile, symlink, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { text } from "node:stream/consumers";
import { archivedBy } from "../../src/client/export-run.js";
import { READ_PAGE_BYTES } from "../../src/contract/reads.js";
import { readTranscript } from "../../src/client/stores/transcript.js";
import { storeReader } from "../../src/client/stores/store-reader.js";
import { StoreAnswers } from "../../src/reads/store-answers.js";
import { conversationOf, visitsOf } from "../../src/reads/transcript.js";
import { openFile } from "../../src/reads/folder-files.js";
import { validPackage } from "../fakes/package-fixture.js";
import { openRunWorld, valueOf } from "../fakes/run-world.js";

async function openWorld() {
  const { store, projectRoot, packageId } = await openRunWorld(validPackage());
  const { runId, projectId } = valueOf(
    await store.runs.createRun({ projectRoot, packageId, activeAgentId: "author" }, new Date()),
  );
  const files = valueOf(await store.runs.openFiles(projectId, runId));
  await mkdir(join(files.dir, "conversation"), { recursive: true });
  return { store, runId, files };
}

const said = (visit: number) =>
  `${JSON.stringify({ type: "assistant", visit, turn: 1, content: "", model: "m", calls: [{ id: `c${visit}`, name: "fs_read", argumentsJson: "{}" }] })}\n`;
const done = (visit: number, output: object) =>
  `${JSON.stringify({ kind: "tool.exec", toolCallId: `c${visit}`, output })}\n`;

test("the audit log is looked through once for all visits of a transcript, and again when it has changed", async () => {
  const { store, runId, files } = await openWorld();
  for (const visit of [1, 2])
    await writeFile(join(files.dir, "conversation", `visit-${visit}.jsonl`), said(visit));
  await writeFile(files.logFile, done(1, { ok: true }) + done(2, { ok: true }));
  const outcome = async (visit: number) => {
    const { entries } = valueOf(await conversationOf(store, { run: runId, name: `visit-${visit}` }));
    return entries.map((entry) => entry.type === "assistant" && entry.calls[0]?.outcome);
  };
  const at = new Date("2026-01-02T03:04:05.000Z");
  await utimes(files.logFile, at, at);
  expect(await outcome(1)).toEqual(["ok"]);
  // Nobody could tell that it is another one but by reading it.
  const text = await readFile(files.logFile, "utf8");
  await writeFile(files.logFile, text.replaceAll('"c', '"d'));
  await utimes(files.logFile, at, at);
  expect([await outcome(1), await outcome(2)]).toEqual([["ok"], ["ok"]]);
  await appendFile(files.logFile, done(2, { ok: false, error: { code: "ENOENT" } }));
  expect([await outcome(1), await outcome(2)]).toEqual([[undefined], ["ENOENT"]]);
  await appendFile(files.logFile, done(1, { success: false, error: "There is no such file." })); // a bundle's call
  expect(await outcome(1)).toEqual(["failed"]);
});

test.each([
  ["by few questions", false, 3],
  ["one by one from a worker of an earlier version", true, 3 + 120],
])("a transcript of many visits is asked for %s", async (_how, isEarlier, questions) => {
  const { store, runId, files } = await openWorld();
  for (let visit = 1; visit <= 120; visit += 1)
    await writeFile(join(files.dir, "conversation", `visit-${visit}.jsonl`), said(visit));
  const answers = new StoreAnswers({ store });
  const asked: string[] = [];
  const reader = storeReader((name, page) => {
    if (name === "read.conversation") asked.push(name);
    const isRefused = isEarlier && "more" in page.question;
    return answers.page(name, isRefused ? { ...page, question: { ...page.question, more: 0 } } : page);
  });
  const transcript = await readTranscript(reader, runId);
  expect(transcript.map(({ name, entries }) => [name, entries.length])).toEqual(
    Array.from({ length: 120 }, (_, index) => [`visit-${index + 1}`, 1]),
  );
  expect(asked).toHaveLength(questions);
});

test("the small files of an export from elsewhere are read side by side, a bounded number of them, and are whole", async () => {
  const { store, runId, files } = await openWorld();
  for (let visit = 1; visit <= 40; visit += 1)
    await writeFile(join(files.dir, "conversation", `visit-${visit}.jsonl`), said(visit));
  await writeFile(join(files.dir, "conversation", "large.jsonl"), "x".repeat(3 * READ_PAGE_BYTES));
  const answers = new StoreAnswers({ store });
  const open = { now: 0, most: 0 };
  const reader = storeReader(async (name, page) => {
    open.now += 1;
    open.most = Math.max(open.most, open.now);
    const answer = await answers.page(name, page);
    open.now -= 1;
    return answer;
  });
  const read: [string, string][] = [];
  for (const file of await archivedBy(reader, runId)) read.push([file.name, await text(file.open())]);
  expect(read).toEqual(
    await Promise.all(
      read.map(async ([name]) => [name, await readFile(join(files.dir, name), "utf8")] as const),
    ),
  );
  expect(read.length).toBeGreaterThan(41);
  expect([open.most > 4, open.most <= 9]).toEqual([true, true]);
});

const TOO_LONG = ["a".repeat(1_000), `visit-${"9".repeat(1_000)}`];

test.each(["../visit-1", "visit-1.jsonl", "", "other", ...TOO_LONG])(
  "%j is no conversation",
  async (name) => {
    const { store, runId, files } = await openWorld();
    await writeFile(join(files.dir, "conversation", "visit-1.jsonl"), said(1));
    const asked = [
      { run: runId, name },
      { run: runId, name: "visit-1", more: [name] },
    ];
    for (const each of asked)
      expect(await conversationOf(store, each)).toMatchObject({ error: { code: "ENOENT" } });
  },
);

test("a file of a run's folder is one that an archive holds, by a path of real folders", async () => {
  const { store, runId, files } = await openWorld();
  await mkdir(join(files.dir, "live"));
  await writeFile(join(files.dir, "live", "1.jsonl"), "x");
  await writeFile(join(files.dir, "..", "outside.txt"), "x");
  await symlink("state", join(files.dir, "linked"));
  await symlink("state/workflow.md", join(files.dir, "link.md"));
  const kept = valueOf(await openFile(store, { run: runId, name: "state/workflow.md" }));
  await kept.close?.();
  for (const name of [
    "",
    ".",
    "state",
    "state/",
    "../outside.txt",
    "state/../state/workflow.md",
    "linked/workflow.md",
    "link.md",
    "live/1.jsonl",
    "state.lock",
    "no.md",
    "state/workflow.md\0",
  ])
    expect([name, await openFile(store, { run: runId, name })]).toMatchObject([
      name,
      { error: { code: "ENOENT" } },
    ]);
});

test("a visit whose first turn is not over, or has failed, is called by its node", async () => {
  const { store, runId, files } = await openWorld();
  const timestamp = "2026-01-02T03:04:05.000Z";
  await files.boundaries.keepBeginning({ next: "draft", timestamp }, Buffer.from("---\n---\n"));
  const begin = `${JSON.stringify({ type: "begin", visit: 1 })}\n`;
  for (const name of ["run", "visit-1", "visit-2", "visit-3"])
    await writeFile(join(files.dir, "conversation", `${name}.jsonl`), begin);
  // Looked into by a run that goes on.
  await writeFile(join(files.dir, "conversation", "visit-0.jsonl"), "");
  const namesOf = async () => valueOf(await visitsOf(store, runId)).visits.map(({ nodeId }) => nodeId);
  const next = { nodeId: "draft", next: "check", calls: 1, timestamp };
  await files.boundaries.keep({ visit: 1, ...next }, Buffer.from("---\n---\n"));
  // The third goes on with what the second has begun, at the same node.
  expect(await namesOf()).toEqual([null, "draft", "check", "check"]);
  await appendFile(files.logFile, `${JSON.stringify({ kind: "model.turn", id: "3.1", nodeId: "end" })}\n`);
  expect(await namesOf()).toEqual([null, "draft", "check", "end"]);
});
