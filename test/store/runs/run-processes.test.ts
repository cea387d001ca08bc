import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { AppendLog, parseLine } from "../../../src/store/disk/append-log.js";
import { verifyAuditLog } from "../../../src/store/runs/audit-verify.js";
import { parseMarkdown } from "../../../src/core/documents/front-matter.js";
import { createToolHost } from "../../../src/tools/graph/tool-host.js";
import { temporaryDirectory, validPackage } from "../../fakes/package-fixture.js";
import { type RunWorld, jsonLines, namesIn, openRunWorld, valueOf } from "../../fakes/run-world.js";
import { compileForChildren } from "../../tools/compiled.js";

/** A process that does one task when it is told to go, and prints what came of it. */
const CHILD = `
import { AppendLog } from "./store/disk/append-log.js";
import { AuditLog } from "./store/runs/audit-log.js";
import { CallJournal } from "./store/runs/call-journal.js";
import { openStore } from "./store/store.js";
import { createToolHost } from "./tools/graph/tool-host.js";
const task = JSON.parse(process.argv[2]);
const die = async () => { process.kill(process.pid, "SIGKILL"); await new Promise(() => {}); };
const tasks = {
  async append() {
    const log = new AppendLog(task.path, task.lock, () => {});
    for (let n = 0; n < task.count; n += 1) await log.append(() => [{ by: task.by, n, fill: "x".repeat(3_000) }]);
  },
  async audit() {
    const log = new AuditLog(task.path, task.lock);
    for (let n = 0; n < task.count; n += 1) {
      await log.record({ kind: "tool.exec", toolCallId: "shared-" + n }, new Date());
      await log.record({ kind: "tool.exec", toolCallId: task.by + "-" + n }, new Date());
    }
  },
  async journal() {
    return new CallJournal(task.path, task.lock).record("same", { result: { ok: true, by: task.by } });
  },
  async create() {
    return (await openStore(task.storeDir)).runs.createRun(task.request);
  },
  async call() {
    const store = await openStore(task.storeDir);
    const files = (await store.runs.openFiles(task.projectId, task.request.context.runId)).value;
    if (task.dieBefore === "plan") files.calls.plan = die;
    if (task.dieBefore === "save") files.state.replace = die;
    if (task.dieBefore === "record") files.calls.record = die;
    if (task.dieBefore === "audit") files.audit.record = die;
    return createToolHost({ store })
      .executeToolCall(task.request)
      .catch((error) => ({ rejected: error.code }));
  },
};
await new Promise((resolve) => process.stdin.once("data", resolve));
console.log(JSON.stringify((await tasks[task.kind]()) ?? null));
process.exit(0);
`;

let compiled: ReturnType<typeof compileForChildren>;
beforeAll(async () => {
  compiled = compileForChildren("src/store/store.ts", "src/tools/graph/tool-host.ts");
  await writeFile(join(compiled.directory, "child.js"), CHILD);
});
afterAll(() => compiled.remove());

/** Starts one process per task and lets them go at once; gives their results, undefined for one that died. */
async function runTasks(tasks: readonly object[], limits = ""): Promise<readonly unknown[]> {
  const command = `${limits} exec "$0" "$1" "$2"`;
  const script = () => join(compiled.directory, "child.js");
  const children = tasks.map((task) =>
    spawn("sh", ["-c", command, process.execPath, script(), JSON.stringify(task)], {
      stdio: ["pipe", "pipe", "inherit"],
    }),
  );
  const results = children.map(async (child) => {
    let output = "";
    child.stdout.on("data", (chunk) => (output += String(chunk)));
    await once(child, "close");
    return output === "" ? undefined : (JSON.parse(output) as unknown);
  });
  for (const child of children) child.stdin.end("go");
  return Promise.all(results);
}

describe("processes that write one log at once", () => {
  test("leave every line whole and lose none, and a reader meanwhile sees no half of one", async () => {
    const dir = await temporaryDirectory();
    const [path, lock] = [join(dir, "log.jsonl"), join(dir, "lock")];
    const seen: unknown[] = [];
    const reader = new AppendLog(path, lock, (line) => seen.push(parseLine(line) ?? line.toString("utf8")));
    const writing = new AbortController();
    const reading = (async () => {
      while (!writing.signal.aborted) {
        await reader.refresh();
        await new Promise((resolve) => setImmediate(resolve));
      }
    })();
    await runTasks(["a", "b"].map((by) => ({ kind: "append", path, lock, by, count: 60 })));
    writing.abort();
    await reading;
    await reader.refresh();
    const expected = Array.from({ length: 60 }, (_, n) => n);
    const records = seen as { by: string; n: number }[];
    expect(records).toHaveLength(120);
    for (const by of ["a", "b"]) {
      expect(records.filter((record) => record.by === by).map(({ n }) => n)).toEqual(expected);
    }
  });

  test("keep one chain of audit events, each event once", async () => {
    const dir = await temporaryDirectory();
    const [path, lock] = [join(dir, "execution.jsonl"), join(dir, "lock")];
    await runTasks(["a", "b", "c", "d"].map((by) => ({ kind: "audit", path, lock, by, count: 15 })));
    expect((await verifyAuditLog(path)).findings).toEqual([]);
    const ids = (await jsonLines(path)).map((event) => event["toolCallId"]);
    expect(ids).toHaveLength(75);
    expect(new Set(ids).size).toBe(75);
  });

  test("record a call once: the first result stands for all", async () => {
    const dir = await temporaryDirectory();
    const [path, lock] = [join(dir, "calls.jsonl"), join(dir, "lock")];
    const wins = await runTasks(Array.from({ length: 6 }, (_, by) => ({ kind: "journal", path, lock, by })));
    expect(wins.filter((win) => win === true)).toHaveLength(1);
    expect((await jsonLines(path)).map(({ result }) => result)).toEqual([
      { ok: true, by: wins.indexOf(true) },
    ]);
  });
});

describe("processes that create runs of one project at once", () => {
  const RUN_ID = "11111111-2222-4333-8444-555555555555";
  const createIn = (world: RunWorld, request: object) => ({
    kind: "create",
    storeDir: world.store.dir,
    request: {
      projectRoot: world.projectRoot,
      packageId: world.packageId,
      activeAgentId: "author",
      ...request,
    },
  });

  test("eight of them make eight runs: the index loses none", async () => {
    const world = await openRunWorld(validPackage());
    const results = await runTasks(Array.from({ length: 8 }, () => createIn(world, {})));
    const ids = results.map((result) => (result as { value: { runId: string } }).value.runId);
    const listed = valueOf(await world.store.runs.listRuns(world.projectRoot)).map(({ runId }) => runId);
    expect([...listed].sort()).toEqual([...ids].sort());
    expect((await namesIn(world.store.dir)).filter((name) => name.includes(".tmp-"))).toEqual([]);
  });

  test("eight with one run id make one run", async () => {
    const world = await openRunWorld(validPackage());
    const results = await runTasks(Array.from({ length: 8 }, () => createIn(world, { runId: RUN_ID })));
    expect(new Set(results.map((result) => JSON.stringify(result))).size).toBe(1);
    expect(valueOf(await world.store.runs.listRuns(world.projectRoot))).toHaveLength(1);
  });
});

describe("a tool call", () => {
  async function openRun() {
    const world = await openRunWorld(validPackage());
    const { store, projectRoot, packageId } = world;
    const run = valueOf(await store.runs.createRun({ projectRoot, packageId, activeAgentId: "author" }));
    const files = valueOf(await store.runs.openFiles(run.projectId, run.runId));
    const context = { projectRoot, packageId, workflowId: "tiny", runId: run.runId, agentId: "author" };
    const task = (name: string, args: object, more: object = {}) => ({
      kind: "call",
      storeDir: store.dir,
      projectId: run.projectId,
      request: { toolCallId: "call-1", name, argumentsJson: JSON.stringify(args), context },
      ...more,
    });
    const artifacts = async () => {
      const document = valueOf(parseMarkdown(await readFile(join(files.stateDir, "workflow.md"))));
      return document.frontmatter["artifacts"];
    };
    return { world, files, task, artifacts };
  }

  const WRITE = { path: "@project/artifacts/a.md", content: "new" };

  test("with one id in eight processes at once has one effect and one result", async () => {
    const { world, files, task, artifacts } = await openRun();
    const results = await runTasks(
      Array.from({ length: 8 }, (_, n) => task("fs.write", { ...WRITE, content: `by ${n}` })),
    );
    expect(new Set(results.map((result) => JSON.stringify(result))).size).toBe(1);
    expect(results[0]).toMatchObject({ ok: true, path: "@project/artifacts/a.md", bytesWritten: 4 });
    expect(await readFile(join(world.projectRoot, "artifacts/a.md"), "utf8")).toMatch(/^by \d$/u);
    expect(await artifacts()).toEqual(["artifacts/a.md"]);
    expect(await jsonLines(files.logFile)).toHaveLength(1);
  });

  test.each(["plan", "save", "record", "audit"])(
    "of a process killed before its %s is taken up by the next one: file, record and audit line once each",
    async (dieBefore) => {
      const { world, files, task, artifacts } = await openRun();
      expect(await runTasks([task("fs.write", WRITE, { dieBefore })])).toEqual([undefined]);
      const [result] = await runTasks([task("fs.write", WRITE)]);
      expect(result).toMatchObject({ ok: true, path: "@project/artifacts/a.md", bytesWritten: 3 });
      expect(await readFile(join(world.projectRoot, "artifacts/a.md"), "utf8")).toBe("new");
      expect(await artifacts()).toEqual(["artifacts/a.md"]);
      expect(await namesIn(world.projectRoot)).toEqual(["artifacts/", "artifacts/a.md"]);
      expect(await jsonLines(files.logFile)).toHaveLength(1);
      expect((await verifyAuditLog(files.logFile)).findings).toEqual([]);
    },
    60_000,
  );

  test.each(["save", "record", "audit"])(
    "on the state document, killed before its %s, is done once in the end",
    async (dieBefore) => {
      const { world, files, task } = await openRun();
      const patch = {
        path: "@state/workflow.md",
        patch: {
          operation: "updateFrontmatter",
          update: {
            decisionLog: { append: [{ from: "draft", to: "done", label: "finished" }] },
            currentNodeId: { set: "done" },
          },
        },
      };
      expect(await runTasks([task("fs.apply_patch", patch, { dieBefore })])).toEqual([undefined]);
      const { request } = task("fs.apply_patch", patch);
      const result = await createToolHost({ store: world.store }).executeToolCall(request);
      expect(result).toMatchObject({ ok: true, path: "@state/workflow.md" });
      const bytes = await readFile(join(files.stateDir, "workflow.md"));
      const { frontmatter } = valueOf(parseMarkdown(bytes));
      expect(frontmatter).toMatchObject({
        currentNodeId: "done",
        decisionLog: [{ from: "draft", to: "done", label: "finished" }],
      });
      expect(await jsonLines(files.logFile)).toHaveLength(1);
    },
    60_000,
  );

  test("on a disk that takes no more says so or rejects, changes nothing, and can be made again", async () => {
    const { world, files, task, artifacts } = await openRun();
    const journal = join(files.stateDir, "..", "calls.jsonl");
    await writeFile(journal, `${JSON.stringify({ id: "filler", plan: { fill: "x".repeat(8_100) } })}\n`);
    const write = { ...WRITE, content: "y".repeat(600) };
    const [result] = await runTasks([task("fs.write", write)], "ulimit -f 16;"); // blocks of 512 bytes
    expect(result).toEqual({ rejected: "EFBIG" });
    expect(await namesIn(world.projectRoot)).toEqual(["artifacts/"]);
    expect(await artifacts()).toEqual([]);
    expect(await runTasks([task("fs.write", write)])).toMatchObject([{ ok: true, bytesWritten: 600 }]);
    expect(await artifacts()).toEqual(["artifacts/a.md"]);
    expect(await jsonLines(files.logFile)).toMatchObject([{ output: { ok: true } }]);
    expect((await verifyAuditLog(files.logFile)).findings).toEqual([]);
  });
});
