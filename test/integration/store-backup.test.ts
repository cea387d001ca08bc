import { execFile } from "node:child_process";
import { once } from "node:events";
import { chmod, chown, mkdir, readFile, rename } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, inject, onTestFinished, test } from "vitest";
import type { RunHandle } from "../../src/client/client.js";
import { verifyAuditLog } from "../../src/store/runs/audit-verify.js";
import { workflowIdOf } from "../../src/core/run/run-id.js";
import { backupStore } from "../../src/store/backup/backup-store.js";
import type { BackupReport } from "../../src/store/backup/one-backup.js";
import { restoreStore } from "../../src/store/backup/restore-store.js";
import { type Store, openStore } from "../../src/store/store.js";
import { startWorker } from "../../src/worker.js";
import { eventually } from "../fakes/eventually.js";
import { jsonLines, valueOf } from "../fakes/run-world.js";
import { type ChatRequestBody, type ScriptedAnswer, call } from "../fakes/scripted-model.js";
import { writePackage } from "../fakes/package-fixture.js";
import { twoNodePackage } from "../fakes/two-node-package.js";
import { nodeOf, straightOn, wordsIn } from "../fakes/walk.js";
import { type Bench, openBench, until } from "./harness.js";
import { unprivileged } from "../fakes/unprivileged.js";
import { MAIN, ROOT, Shell, jsonOf } from "./shell.js";
import { openWorkerPlace } from "./worker-place.js";

const NODES = ["ask", "middle", "finish"];
/** Files that each node writes, one in a turn. */
const FILES = 3;

/** Each node writes its files, then goes on. Told by the conversation, so that a repeated request gets the same answer. */
function answerTo(request: ChatRequestBody, turn: number): ScriptedAnswer {
  const nodeId = nodeOf(request);
  if (turn >= FILES) return straightOn(request);
  const path = `@project/artifacts/${nodeId}-${turn}.md`;
  return { calls: [call("fs_write", { path, content: `${nodeId} ${turn}\n` })] };
}

type Gate = ReturnType<typeof gate>;

/** A gate before one answer of the model. */
function gate() {
  let open: () => void = () => undefined;
  let reach: () => void = () => undefined;
  const opened = new Promise<void>((resolve) => (open = resolve));
  const reached = new Promise<void>((resolve) => (reach = resolve));
  return { open, opened, reach, reached };
}

/** What has to be right of a run that has ended, wherever its store is: nothing is missing in it, and nothing is there twice. */
async function expectWhole(store: Store, run: RunHandle, turns: number): Promise<void> {
  const { projectId } = valueOf(await store.runs.findRun(run.runId));
  const files = valueOf(await store.runs.openFiles(projectId, run.runId));
  expect((await verifyAuditLog(files.logFile, await run.auditHead())).findings).toEqual([]);
  const results = (await jsonLines(join(files.dir, "calls.jsonl"))).filter(
    (line) => line["result"] !== undefined,
  );
  expect(new Set(results.map(({ id }) => id)).size).toBe(results.length);
  const answers: string[] = [];
  for (let visit = 1; visit <= NODES.length; visit += 1) {
    const said = await jsonLines(join(files.dir, "conversation", `visit-${visit}.jsonl`));
    answers.push(
      ...said.filter(({ type }) => type === "assistant").map(({ turn }) => `${visit} ${String(turn)}`),
    );
  }
  expect(answers).toHaveLength(turns);
  expect(new Set(answers).size).toBe(turns);
  await expectFiles(store, projectId);
}

/** What each node has written stands in the project. */
async function expectFiles(store: Store, projectId: string): Promise<void> {
  const root = valueOf(await store.runs.projectRoot(projectId));
  for (const nodeId of NODES) {
    for (let turn = 0; turn < FILES; turn += 1) {
      expect(await readFile(join(root, "artifacts", `${nodeId}-${turn}.md`), "utf8")).toBe(
        `${nodeId} ${turn}\n`,
      );
    }
  }
}

/** Runs with the words `ask me` ask first. One with the words `work` is held before the answers of the turns that have a gate. */
async function openMove(gates: Readonly<Record<string, Gate>>) {
  const place = await openWorkerPlace(async (request) => {
    const turn = request.messages.filter(({ role }) => role === "assistant").length;
    if (wordsIn(request).includes("ask me")) {
      return turn === 0 ? { content: "Which colour?" } : answerTo(request, turn - 1);
    }
    const held = wordsIn(request).includes("work") ? gates[turn] : undefined;
    held?.reach();
    await held?.opened;
    return answerTo(request, turn);
  });
  const first = place.startWorker();
  await first.polls;
  const there = join(place.store.dir, "../there");
  const backup = join(place.store.dir, "../backup");
  const shell = new Shell(join(place.store.dir, ".."), place.environment);
  /** What a command says that works with the store, or with the restored one. */
  const interlock = async (args: readonly string[], storeDir = place.store.dir): Promise<unknown> => {
    const on = shell.with({ ...place.environment, INTERLOCK_STORE: storeDir });
    const outcome = await on.run([...args, "--json"]);
    if (outcome.code !== 0) throw new Error(`${args.join(" ")}: ${outcome.code} ${outcome.stderr}`);
    return jsonOf(outcome);
  };
  return {
    ...place,
    there,
    backup,
    interlock,
    /** The machine with the store is gone, and another one has taken its place. */
    async move(this: void, meanwhile?: () => Promise<unknown>): Promise<void> {
      first.child.kill("SIGKILL");
      await once(first.child, "exit");
      await interlock(["store", "restore", backup, "--to", there]);
      await rename(place.store.dir, `${place.store.dir}.lost`);
      await meanwhile?.();
      await place.startWorker(undefined, there).polls;
    },
  };
}

/** What a program prints in JSON, as a user without rights who owns the folder, but for what is root's in it. */
async function asAnotherUser(dir: string, rootsOwn: string, program: readonly string[]): Promise<unknown> {
  const { uid } = unprivileged(dir);
  await chown(rootsOwn, process.getuid?.() ?? 0, process.getgid?.() ?? 0);
  await chmod(rootsOwn, uid === undefined ? 0o500 : 0o755);
  const { stdout } = await promisify(execFile)(process.execPath, program, {
    env: { PATH: process.env["PATH"], HOME: dir },
    cwd: dir,
    ...(uid === undefined ? {} : { uid }),
  });
  await chmod(rootsOwn, 0o755);
  return JSON.parse(stdout);
}

test("a restore by another user does not open a project whose files are closed to them, and says so", async () => {
  const bench = await openBench(straightOn);
  const { dir, store, projectRoot } = bench;
  const closed = join(dir, "closed");
  await mkdir(closed);
  valueOf(await store.roots.add(projectRoot, "write"));
  valueOf(await store.roots.add(closed, "write"));
  await backupStore(store.dir, join(dir, "backup"));
  const restore = [MAIN, "store", "restore", join(dir, "backup"), "--to", join(dir, "there"), "--json"];
  expect(await asAnotherUser(dir, closed, restore)).toMatchObject({
    roots: [projectRoot],
    missingRoots: [{ path: closed, why: "this user may not read and write there (EACCES)" }],
  });
});

test("a run whose artifacts the worker's user may not write to is not made", async () => {
  const bench = await openBench(straightOn);
  const { dir, store, projectRoot } = bench;
  const artifacts = join(projectRoot, "artifacts");
  await mkdir(artifacts);
  const { packageId } = valueOf(await store.packages.install(await packageIn(bench)));
  const request = JSON.stringify({ projectRoot, packageId, activeAgentId: "author" });
  const program = `import { openStore } from ${JSON.stringify(join(ROOT, "dist/index.js"))};
    console.log(JSON.stringify(await (await openStore(${JSON.stringify(store.dir)})).runs.createRun(${request})));`;
  expect(await asAnotherUser(dir, artifacts, ["--input-type=module", "-e", program])).toMatchObject({
    error: {
      code: "E_PROJECT_INVALID",
      message: expect.stringMatching(/written to by user \d+, as whom the worker runs/) as string,
    },
  });
});

describe("a store that is backed up while its runs go on, and restored elsewhere", () => {
  test(
    "is taken up by a worker there: a run that waits and one that is at work end with nothing lost and nothing twice",
    { tags: "slow" },
    async () => {
      const held = gate();
      const { startRuns, interlock, backup, move, there, ...place } = await openMove({ 2: held });
      const [asking, working] = await startRuns(2, ["ask me", "work"]);
      if (asking === undefined || working === undefined) throw new Error("two were started");
      await until(asking, "waiting-user");
      const before = (await interlock(["store", "backup", backup])) as BackupReport;
      await held.reached;
      const after = (await interlock(["store", "backup", backup])) as BackupReport;
      expect(after.runs).toBe(2);
      expect(after.copied.bytes).toBeLessThan(before.bytes);
      await move();
      held.open();
      await interlock(["answer", asking.runId, "blue"], there);
      for (const run of [asking, working])
        expect(await run.result()).toMatchObject({ stepsCompleted: NODES });
      const restored = await openStore(there);
      await expectWhole(restored, working, NODES.length * (FILES + 1));
      await expectWhole(restored, asking, NODES.length * (FILES + 1) + 1);
      expect(place.model.requests).toHaveLength(2 * NODES.length * (FILES + 1) + 2);
    },
  );

  test(
    "is behind a run that went on since: terminated and retried, it goes on from where the backup has it",
    { tags: "slow" },
    async () => {
      const [early, late] = [gate(), gate()];
      const { startRuns, interlock, backup, move, there, client } = await openMove({ 1: early, 3: late });
      const [working] = await startRuns(1, ["work"]);
      if (working === undefined) throw new Error("one was started");
      await early.reached;
      await interlock(["store", "backup", backup]);
      early.open();
      await late.reached;
      await move(() => client.temporal.workflow.getHandle(workflowIdOf(working.runId)).terminate());
      late.open();
      await interlock(["retry", working.runId], there);
      const again = client.handle(working.runId);
      expect(await again.result()).toMatchObject({ stepsCompleted: NODES });
      const restored = await openStore(there);
      const { projectId } = valueOf(await restored.runs.findRun(working.runId));
      const files = valueOf(await restored.runs.openFiles(projectId, working.runId));
      expect((await verifyAuditLog(files.logFile, await again.auditHead())).findings).toEqual([]);
      await expectFiles(restored, projectId);
    },
  );
});

/** Asks two things one after the other, then ends: a bundle run with what it declares, a graph run at its last node. */
function asksTwice(request: ChatRequestBody): ScriptedAnswer {
  const words = wordsIn(request);
  if (nodeOf(request) !== "" && nodeOf(request) !== "ask") return straightOn(request);
  if (!words.includes("blue")) return { content: "Which colour?" };
  if (!words.includes("large")) return { content: "Which size?" };
  if (nodeOf(request) === "ask") return straightOn(request);
  const isSaved = request.messages.some(({ tool_calls: calls }) =>
    calls?.some(({ function: { name } }) => name === "save_output"),
  );
  if (isSaved) return { content: "Saved.\n\nWORKFLOW COMPLETE" };
  return { calls: [call("save_output", { file_path: "request-1.md", content: words.join(" ") })] };
}

function packageIn(bench: Bench): Promise<string> {
  return writePackage(join(bench.dir, "package"), twoNodePackage());
}

/** The store as it was at its backup takes the place of the bench's, with a worker of its own. */
async function takeBack(bench: Bench, backup: string): Promise<void> {
  await bench.stopWorker();
  const there = join(bench.dir, "there");
  await restoreStore(backup, there, bench.config.roots);
  const store = await openStore(there, bench.config.taskQueue, bench.config.roots);
  const worker = await startWorker(bench.config, {
    connection: { address: bench.environment["TEMPORAL_ADDRESS"] ?? "" },
    namespace: "default",
    store,
    workflowBundle: { codePath: inject("workflowBundle") },
  });
  onTestFinished(() => worker.shutdown());
}

describe("a worker whose store lacks what a run was told since its backup", () => {
  test.for(["bundle", "graph"] as const)(
    "does not go on without it: a %s run fails and says so, asks no model, and a retry asks again",
    async (kind) => {
      const bench = await openBench(asksTwice);
      const run = kind === "bundle" ? await bench.startBundle() : await bench.start(twoNodePackage());
      const { currentNodeId: nodeId } = await until(run, "waiting-user");
      const backup = join(bench.dir, "backup");
      await backupStore(bench.store.dir, backup);
      await run.answer({ nodeId, text: "blue" });
      const isAskedTwice = async () => (await run.state()).question?.text === "Which size?";
      await eventually(isAskedTwice);
      const asked = bench.model.requests.length;
      await takeBack(bench, backup);
      await run.answer({ nodeId, text: "large" });
      await expect(run.result()).rejects.toMatchObject({
        code: "E_PRECONDITION_FAILED",
        message: expect.stringMatching(/older than the run.*backup.*interlock retry/) as string,
      });
      expect(bench.model.requests).toHaveLength(asked);
      const again = await bench.client.retry(run.runId);
      for (const [question, text] of [
        ["Which colour?", "blue"],
        ["Which size?", "large"],
      ] as const) {
        await eventually(async () => (await again.state()).question?.text === question);
        await again.answer({ nodeId, text });
      }
      await again.result();
      expect((await again.state()).phase).toBe("completed");
    },
  );

  test("does not go on without it: a run that was begun since fails and says so, and a retry begins it anew", async () => {
    const bench = await openBench(asksTwice);
    const backup = join(bench.dir, "backup");
    const { packageId } = valueOf(await bench.store.packages.install(await packageIn(bench)));
    await backupStore(bench.store.dir, backup);
    const run = await bench.client.start({ projectRoot: bench.projectRoot, packageId });
    await until(run, "waiting-user");
    await takeBack(bench, backup);
    await run.answer({ nodeId: "ask", text: "blue" });
    await expect(run.result()).rejects.toMatchObject({
      code: "E_PRECONDITION_FAILED",
      message: expect.stringMatching(/not there.*backup.*interlock retry/) as string,
    });
    const again = await bench.client.retry(run.runId);
    for (const text of ["blue", "large"]) {
      await eventually(async () => (await again.state()).question?.text.endsWith("?") === true);
      const { text: question } = (await again.state()).question ?? {};
      await again.answer({ nodeId: "ask", text });
      await eventually(async () => (await again.state()).question?.text !== question);
    }
    expect(await again.result()).toMatchObject({ stepsCompleted: NODES });
  });
});
