import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { readFile, readdir, rename, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Connection } from "@temporalio/client";
import { expect, inject, onTestFinished, test } from "vitest";
import { archivedBy, writeExport } from "../../src/client/export-run.js";
import { remotePages } from "../../src/client/stores/remote-pages.js";
import { storeReader, wholeFile } from "../../src/client/stores/store-reader.js";
import {
  type PageSource,
  type StoreQuestionName,
  type StoreReader,
  READ_PAGE_BYTES,
} from "../../src/contract/reads.js";
import { readStatement } from "../../src/contract/signed.js";
import { findTemporalCli } from "../../src/embedded/find-cli.js";
import { chooseServerPorts } from "../../src/embedded/ports.js";
import { StoreAnswers } from "../../src/reads/store-answers.js";
import { eventually } from "../fakes/eventually.js";
import { valueOf } from "../fakes/run-world.js";
import { call } from "../fakes/scripted-model.js";
import { type Bench, askedRun, openBench, signedClient } from "./harness.js";

const LARGE = "Each line of this file is like the one before it.\n".repeat(12_000); // of several pages
const SECRET = "THE-SECRET-OF-SOMEBODY";

/** Writes a small and a large artifact in its first node. */
const WRITES = [
  {
    calls: [
      call("fs_write", { path: "@project/artifacts/small.md", content: "# Small\n" }),
      call("fs_write", { path: "@project/artifacts/sub/large.md", content: LARGE.slice(0, 90_000) }),
    ],
  },
  { content: "Which way?" },
];

function readersOf(bench: Bench): { readonly here: StoreReader; readonly there: StoreReader } {
  const answers = new StoreAnswers({ store: bench.store });
  return {
    here: storeReader((name, asked) => answers.page(name, asked)),
    there: storeReader(pagesOf(bench)),
  };
}

function pagesOf({ client, store }: Bench): PageSource {
  return remotePages({ temporal: client.temporal, namespace: "default", taskQueue: store.taskQueue });
}

test("a store says the same over Temporal as at hand, to the byte", { tags: "slow" }, async () => {
  const bench = await openBench(WRITES);
  const { runId: run } = await askedRun(bench);
  const { here, there } = readersOf(bench);
  const files = valueOf(await here.ask("read.files", { run }));
  const large = files.files.find(({ name }) => name.startsWith("blobs/"))?.name ?? "";
  await writeFile(join((await bench.filesOf({ runId: run })).dir, large), LARGE); // several pages
  await writeFile(join(bench.projectRoot, "artifacts/sub/large.md"), LARGE);
  const visit = { run, name: "visit-1" };
  const { entries } = valueOf(await here.ask("read.conversation", { ...visit, reasoning: true }));
  const calls = entries.flatMap((entry) =>
    entry.type === "assistant" ? entry.calls.map(({ id }) => id) : [],
  );
  const packageId = valueOf(await here.ask("read.run", { run })).metadata.packageId;
  const questions = [
    ["read.store", {}],
    ["read.runs", {}],
    ["read.runs", { project: bench.projectRoot }],
    ["read.run", { run }],
    ["read.run", { run: `run-${run}` }],
    ["read.request", { run }],
    ["read.graph", { run }],
    ["read.state", { run }],
    ["read.visits", { run }],
    ["read.conversation", visit],
    ["read.conversation", { ...visit, reasoning: true }],
    ["read.conversation", { ...visit, more: ["visit-1"] }],
    ["read.results", { run, calls: [...calls, "none"] }],
    ["read.artifacts", { run }],
    ["read.files", { run }],
    ["read.fork", { run, visit: 0 }],
    ["read.packages", {}],
    ["read.package", { packageId }],
    ["read.projects", {}],
    ["read.conversation", { ...visit, from: -2, limit: 1 }],
    ["read.course", { run }],
    ["read.call", { run, name: "visit-1", call: calls[0] ?? "" }],
    ["read.call", { run, name: "visit-1", call: "none" }],
    ["read.call", { run, name: "../x", call: "none" }],
    ["read.writes", { run }],
    ["read.content", { run, sha256: "0".repeat(64) }],
    ["read.document", { run }],
    ["read.document", { run, visit: 0 }],
    ["read.document", { run, visit: 7 }],
    ["read.change", { run }],
    ["read.live", { run }],
    ["read.workflows", { packageId }],
    ["read.workflows", { packageId: "nothing" }],
    ["read.run", { run: randomUUID() }],
    ["read.package", { packageId: "nothing" }],
  ] as const;
  for (const [name, question] of questions) {
    const [one, other] = await Promise.all([here.ask(name, question), there.ask(name, question)]);
    expect([name, JSON.stringify(other)]).toEqual([name, JSON.stringify(one)]);
  }
  expect(calls).toHaveLength(2);
  const { artifacts } = valueOf(await here.ask("read.artifacts", { run }));
  expect(artifacts.map(({ path, bytes, nodeId }) => ({ path, bytes, nodeId }))).toEqual([
    { path: "artifacts/small.md", bytes: 8, nodeId: "ask" },
    { path: "artifacts/sub/large.md", bytes: LARGE.length, nodeId: "ask" },
  ]);
  for (const { path } of artifacts) {
    const [one, other] = [here, there].map((reader) =>
      wholeFile(reader.bytes("read.artifact", { run, path })),
    );
    expect((await other)?.equals((await one) ?? Buffer.alloc(0))).toBe(true);
  }
  for (const { name } of files.files) {
    const [one, other] = [here, there].map((reader) => wholeFile(reader.bytes("read.file", { run, name })));
    expect([name, (await other)?.equals((await one) ?? Buffer.alloc(0))]).toEqual([name, true]);
  }
  const archives = [here, there].map(async (reader, index) => {
    const output = join(bench.dir, `${index}.zip`);
    await writeExport({ output, histories: [] }, await archivedBy(reader, run));
    return readFile(output);
  });
  const [one, other] = await Promise.all(archives);
  expect(other?.equals(one ?? Buffer.alloc(0))).toBe(true);
  expect(LARGE.length).toBeGreaterThan(3 * READ_PAGE_BYTES);
});

test("a question leaves nothing on the server, and no page is larger than a payload may be", async () => {
  const bench = await openBench(WRITES);
  const { runId: run } = await askedRun(bench);
  await writeFile(join(bench.projectRoot, "artifacts/sub/large.md"), LARGE);
  const page = valueOf(
    await pagesOf(bench)("read.artifact", { question: { run, path: "artifacts/sub/large.md" } }),
  );
  expect(page.size).toBe(LARGE.length);
  expect(JSON.stringify(page).length).toBeLessThan(256 * 1024);
  // Temporal deletes in its own time.
  await eventually(async () => (await executionsOn(bench)).length === 0);
});

async function executionsOn({ client, store }: Bench): Promise<readonly string[]> {
  const left: string[] = [];
  for await (const { activityId } of client.temporal.activity.list(`TaskQueue = "${store.taskQueue}"`)) {
    left.push(activityId);
  }
  return left;
}

test("an artifact is what the run has recorded, in a root that is registered, and no link", async () => {
  const bench = await openBench(WRITES);
  const { runId: run } = await askedRun(bench);
  await writeFile(join(bench.projectRoot, "secret.txt"), SECRET);
  await writeFile(join(bench.dir, "outside.txt"), SECRET);
  const { there } = readersOf(bench);
  const get = (path: string) =>
    wholeFile(there.bytes("read.artifact", { run, path })).then(
      (bytes) => bytes.toString(),
      (error: unknown) => (error instanceof Error ? error.message : String(error)),
    );
  const attacks = [
    "secret.txt",
    "artifacts/../secret.txt",
    "../outside.txt",
    "artifacts/./small.md",
    "artifacts//small.md",
    "/etc/passwd",
    "@project/artifacts/small.md",
    "artifacts\\small.md",
    "artifacts/small.md\0",
    ".git/config",
  ];
  for (const path of attacks)
    expect([path, await get(path)]).toEqual([path, expect.stringContaining("no artifact")]);
  const small = join(bench.projectRoot, "artifacts/small.md");
  await expect(get("artifacts/small.md")).resolves.toBe("# Small\n");
  for (const target of ["../secret.txt", join(bench.dir, "outside.txt"), "../../outside.txt"]) {
    await rm(small);
    await symlink(target, small);
    const said = await get("artifacts/small.md");
    expect(said).not.toContain(SECRET);
    expect(said).toMatch(/link|mount/);
  }
  await rename(join(bench.projectRoot, "artifacts"), join(bench.dir, "elsewhere"));
  await symlink(join(bench.dir, "elsewhere"), join(bench.projectRoot, "artifacts"));
  await expect(get("artifacts/sub/large.md")).resolves.toMatch(/leads out of its mount/);
  const listed = valueOf(await there.ask("read.artifacts", { run }));
  expect(JSON.stringify(listed)).not.toContain(bench.dir);
});

test("a run whose project is registered no longer hands out no artifact", async () => {
  const bench = await openBench(WRITES, { INTERLOCK_PROJECT_ROOTS: "" });
  valueOf(await bench.store.roots.add(bench.projectRoot, "write"));
  const { runId: run } = await askedRun(bench);
  const { there } = readersOf(bench);
  const get = () => wholeFile(there.bytes("read.artifact", { run, path: "artifacts/small.md" }));
  await expect(get()).resolves.toHaveLength(8);
  await bench.store.roots.remove(bench.projectRoot);
  await expect(get()).rejects.toThrow(/is not registered/);
  await expect(there.ask("read.fork", { run, visit: 0 })).resolves.toMatchObject({
    ok: false,
    error: { code: "E_SANDBOX_VIOLATION" },
  });
});

test("garbage, forged ids and the questions of another store are refused with a sentence, and nothing is changed", async () => {
  const bench = await openBench(WRITES);
  const { runId: run } = await askedRun(bench);
  const ask = (name: string, ...args: unknown[]) =>
    bench.client.temporal.activity.execute<{ ok: boolean; error: { code: string; message: string } }>(name, {
      id: randomUUID(),
      taskQueue: bench.store.taskQueue,
      args,
      startToCloseTimeout: "20 seconds",
      retry: { maximumAttempts: 1 },
    });
  let deep: unknown = 1;
  for (let level = 0; level < 1_000; level += 1) deep = [deep];
  const before = await readdir(bench.store.dir);
  const garbage: readonly (readonly [StoreQuestionName, ...unknown[]])[] = [
    ["read.run"],
    ["read.run", null],
    ["read.run", "text"],
    ["read.run", [1]],
    ["read.run", { question: {} }],
    ["read.run", { question: { run: 1 } }],
    ["read.run", { question: { run: "" } }],
    ["read.run", { question: { run: "x".repeat(2_000) } }],
    ["read.run", { question: { run, more: true } }],
    ["read.run", { question: { run: deep } }],
    ["read.run", { question: { run }, page: { offset: -1, version: "x" } }],
    ["read.run", { question: { run }, page: { offset: 1e12, version: "x" } }],
    ["read.run", { question: { run }, page: { offset: 0, version: "forged" } }],
    ["read.run", { question: { run: "../../etc" } }],
    ["read.run", { question: { run }, storeId: randomUUID() }],
    ["read.conversation", { question: { run, name: "../calls" } }],
    ["read.conversation", { question: { run, name: "visit-99" } }],
    ["read.results", { question: { run, calls: Array.from({ length: 51 }, () => "x") } }],
    ["read.file", { question: { run, name: "../../../store.json" } }],
    ["read.file", { question: { run, name: "calls.lock" } }],
    ["package.upload", { question: { sha256: "x", size: 1, offset: 0, base64: "" } }],
    ["package.upload", { question: { sha256: "0".repeat(64), size: 9_000_000, offset: 0, base64: "AAAA" } }],
    ["package.upload", { question: { sha256: "0".repeat(64), size: 1, offset: 0, base64: "AAAA" } }],
    ["package.install", { question: { sha256: "0".repeat(64), size: 10 } }],
    ["package.remove", { question: { packageId: "../runs", closedRuns: [] } }],
  ];
  for (const [name, ...args] of garbage) {
    const answer = await ask(name, ...args);
    expect([name, args.length, answer.ok]).toEqual([name, args.length, false]);
    expect(answer.error.message).toMatch(/\S \S/);
    expect(JSON.stringify(answer)).not.toContain(bench.store.dir);
  }
  const made = (await readdir(bench.store.dir)).filter((name) => !before.includes(name));
  expect(made.filter((name) => !["uploads", "uploads.lock", "packages.lock"].includes(name))).toEqual([]);
});

test("where nobody polls the queue it says so within seconds", async () => {
  const bench = await openBench([]);
  await bench.stopWorker();
  const { there } = readersOf(bench);
  await expect(there.ask("read.store", {})).resolves.toMatchObject({
    ok: false,
    error: { message: expect.stringContaining(bench.store.taskQueue) as string },
  });
});

test("where starts are signed, so is each question, for a while, and a change of the store once", async () => {
  const bench = await openBench([], { INTERLOCK_STARTS: "signed" });
  const { sign } = await signedClient(bench);
  const { there } = readersOf(bench);
  const refused = { ok: false, error: { code: "E_PRECONDITION_FAILED" } };
  await expect(there.ask("read.packages", {})).resolves.toMatchObject(refused);
  const signed = bench.client.temporal;
  const pages = remotePages({
    temporal: signed,
    namespace: "default",
    taskQueue: bench.store.taskQueue,
    sign,
  });
  await expect(storeReader(pages).ask("read.packages", {})).resolves.toMatchObject({ ok: true });
  const unsigned = pagesOf(bench);
  const at = (ms: number) => new Date(Date.now() + ms).toISOString();
  const question = {};
  const good = { question, until: at(60_000) };
  const signature = await sign(readStatement("read.packages", good.until, good));
  await expect(unsigned("read.packages", { ...good, signature })).resolves.toMatchObject({ ok: true });
  const late = { question, until: at(-1_000) };
  const far = { question, until: at(24 * 3_600_000) };
  const attacks = [
    ["read.runs", { ...good, signature }],
    ["read.packages", { ...good, until: at(90_000), signature }],
    ["read.packages", { ...good, page: { offset: 0, version: "x" }, signature }],
    ["read.packages", { ...late, signature: await sign(readStatement("read.packages", late.until, late)) }],
    ["read.packages", { ...far, signature: await sign(readStatement("read.packages", far.until, far)) }],
    ["read.packages", { ...good, signature: `v1.${"0".repeat(32)}.${"0".repeat(64)}` }],
  ] as const;
  for (const [name, asked] of attacks) await expect(unsigned(name, asked)).resolves.toMatchObject(refused);
  const remove = { question: { packageId: "nothing", closedRuns: [] }, until: at(60_000) };
  const once = { ...remove, signature: await sign(readStatement("package.remove", remove.until, remove)) };
  await expect(unsigned("package.remove", once)).resolves.toMatchObject({
    error: { code: "E_PACKAGE_NOT_FOUND" },
  });
  await expect(unsigned("package.remove", once)).resolves.toMatchObject(refused);
});

test(
  "a server without activities of their own is asked by a workflow of one step, which leaves nothing either",
  { tags: "slow" },
  async () => {
    const address = await oldServer();
    const bench = await openBench(WRITES, { TEMPORAL_ADDRESS: address });
    const { runId: run } = await askedRun(bench);
    const { here, there } = readersOf(bench);
    for (const question of [{ run }, { run: "nobody" }]) {
      const [one, other] = await Promise.all([
        here.ask("read.run", question),
        there.ask("read.run", question),
      ]);
      expect(other).toEqual(one);
    }
    const { workflow } = bench.client.temporal;
    await eventually(async () => {
      for await (const { workflowId } of workflow.list({ query: 'WorkflowType = "storeRead"' })) {
        if (await isThere(workflow.getHandle(workflowId))) return false; // lists lag behind
      }
      return true;
    });
    await bench.stopWorker();
    await expect(there.ask("read.store", {})).resolves.toMatchObject({
      ok: false,
      error: { message: expect.stringContaining(bench.store.taskQueue) as string },
    });
  },
);

function isThere(handle: { describe(): Promise<unknown> }): Promise<boolean> {
  return handle.describe().then(
    () => true,
    () => false,
  );
}

/** A server on which activities without a workflow are switched off. */
async function oldServer(): Promise<string> {
  const { path } = await findTemporalCli({
    cacheDir: inject("cacheDir"),
    pathVariable: process.env["PATH"] ?? "",
  });
  const { port } = await chooseServerPorts();
  const flags = ["--headless", "--log-level", "error", "--port", String(port)];
  const values = [
    "activity.enableStandalone=false",
    // A run is deleted once its closing is acknowledged: every 30 seconds, if nothing else is said.
    'history.transferProcessorUpdateAckInterval="1s"',
    'history.visibilityProcessorUpdateAckInterval="1s"',
  ].flatMap((value) => ["--dynamic-config-value", value]);
  const server = spawn(path, ["server", "start-dev", ...flags, ...values], { stdio: "ignore" });
  onTestFinished(() => void server.kill());
  const address = `127.0.0.1:${port}`;
  await eventually(async () => {
    const connection = await Connection.connect({ address }).catch(() => undefined);
    await connection?.close();
    return connection !== undefined;
  });
  return address;
}
