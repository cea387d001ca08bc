import { appendFile, mkdir, readdir, rm, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { eventually } from "../fakes/eventually.js";
import { twoNodePackage } from "../fakes/two-node-package.js";
import { straightOn, wordsIn } from "../fakes/walk.js";
import { openBench, until } from "./harness.js";
import { jsonOf, shellOf } from "./shell.js";

type Pruned = { pruned: string[]; kept: { runId: string; reason: string }[] };

/** A run that waits, one that is over, and one that is forked from that and over as well. */
async function furnished() {
  const bench = await openBench((request) =>
    wordsIn(request)[0] === "wait" ? { content: "Which colour?" } : straightOn(request),
  );
  const waiting = await bench.start(twoNodePackage(), { input: "wait" });
  await until(waiting, "waiting-user");
  const over = await bench.start(twoNodePackage(), { input: "Paint it." });
  await over.result();
  const fork = await bench.client.fork(over.runId, { visit: 0 });
  await fork.result();
  const shell = shellOf(bench);
  const prune = async (...more: string[]) =>
    jsonOf(await shell.run(["runs", "prune", "--json", ...more])) as Pruned;
  return { bench, shell, prune, waiting, over, fork };
}

describe("runs that are pruned beside one that goes on", () => {
  test(
    "stay while Temporal has their history; with it they are gone, files and all",
    { tags: "slow" },
    async () => {
      const { bench, shell, prune, waiting, over, fork } = await furnished();
      const ids = [over.runId, fork.runId];
      const both = (reason: string) =>
        expect.arrayContaining(ids.map((runId) => ({ runId, reason }))) as unknown;
      expect(await prune("--keep", "0")).toMatchObject({ pruned: [], kept: both("history") });
      const { dir } = await bench.filesOf(over);
      const dry = await prune("--keep", "0", "--with-history", "--dry-run");
      expect(dry).toMatchObject({ dryRun: true, pruned: [fork.runId, over.runId], kept: [] });
      expect(await readdir(dirname(dir))).toHaveLength(3);

      const done = await shell.run(["runs", "prune", "--older-than", "0m", "--with-history"]);
      expect(done.stdout).toContain("Removed 2 runs.");
      expect(await readdir(dirname(dir))).toEqual([waiting.runId]);
      const listed = jsonOf(await shell.run(["runs", "--json"])) as { runId: string }[];
      expect(listed.filter(({ runId }) => ids.includes(runId))).toEqual([]);
      expect(listed.map(({ runId }) => runId)).toContain(waiting.runId);
      for (const command of [["status"], ["retry"], ["fork", "--at-visit", "0"], ["transcript"]]) {
        const [name = "", ...options] = command;
        const refused = await shell.run([name, over.runId, ...options]);
        expect(refused.code).not.toBe(0);
        expect(refused.stderr).toContain(`Run ${over.runId} was pruned on `);
        expect(refused.stderr).toContain("Start a new one with: interlock run");
      }
      await waiting.answer({ nodeId: "ask", text: "blue" });
      await until(waiting, "waiting-user");
      await waiting.cancel();
      await expect(waiting.result()).rejects.toMatchObject({ code: "ENGINE_ABORTED" });
      expect(await prune("--keep", "0", "--with-history")).toMatchObject({
        pruned: [waiting.runId],
        kept: [],
      });
    },
  );

  test("is none that Temporal says has ended since, whatever the clock of its worker was", async () => {
    const { bench, prune, over, fork } = await furnished();
    const { dir } = await bench.filesOf(over);
    const slow = { phase: "completed", lastUpdatedAt: "2020-01-02T03:04:05.000Z" };
    const lines = [over, fork].map(({ runId }) => `${JSON.stringify({ runId, ...slow })}\n`).join("");
    await appendFile(join(dir, "../../runs.jsonl"), lines);
    const kept = [over, fork].map(({ runId }) => ({ runId, reason: "ended later" }));
    expect(await prune("--older-than", "1d", "--with-history")).toMatchObject({
      pruned: [],
      kept: expect.arrayContaining(kept),
    });
    expect((await prune("--older-than", "0m", "--with-history")).pruned).toEqual([fork.runId, over.runId]);
  });

  test("is none that another run is forked from, or that a webhook is still to be told of", async () => {
    const { bench, prune, over, fork } = await furnished();
    const notices = join((await bench.filesOf(fork)).dir, "notices");
    await mkdir(notices, { recursive: true });
    await writeFile(join(notices, "1.chat.json"), "{}");
    expect(await prune("--keep", "0", "--with-history")).toMatchObject({
      pruned: [],
      kept: [
        { runId: fork.runId, reason: "notices" },
        { runId: over.runId, reason: "fork" },
      ],
    });
    expect(await bench.store.runs.listAllRuns()).toHaveLength(3);

    const delivery = await bench.client.temporal.workflow.start("runNotice", {
      workflowId: `notice-${fork.runId}-1-chat`,
      taskQueue: bench.store.taskQueue,
      args: [],
    });
    await expect(delivery.result()).rejects.toThrow("Workflow execution failed"); // given up: nobody is told any more
    expect(await prune("--keep", "0", "--with-history")).toMatchObject({ pruned: [fork.runId, over.runId] });
  });

  test("is none that a fork begins from which no worker has opened yet", async () => {
    const { bench, prune, over, fork } = await furnished();
    await bench.stopWorker();
    const late = await bench.client.fork(over.runId, { visit: 0 });
    await eventually(async () =>
      (await bench.client.runs({}, 1_000)).some(({ runId }) => runId === late.runId),
    );
    expect(await prune("--keep", "0", "--with-history")).toMatchObject({
      pruned: [fork.runId],
      kept: [{ runId: over.runId, reason: "fork" }],
    });
    await bench.startAnotherWorker();
    await expect(late.result()).resolves.toMatchObject({ phase: "completed" });
  });

  test("whose files alone are gone are refused by a worker: a retry says so, and makes nothing", async () => {
    const { bench, over } = await furnished();
    const run = (await bench.store.runs.listAllRuns()).find(({ runId }) => runId === over.runId);
    if (run === undefined) throw new Error("The run is not listed.");
    expect(await bench.store.runs.prune(run, 1, new Date())).toBe(true);
    const fork = await bench.client.fork(over.runId, { visit: 0 });
    await expect(fork.result()).rejects.toMatchObject({
      code: "E_RUN_NOT_FOUND",
      message: expect.stringContaining("was pruned on") as string,
    });
    expect((await bench.store.runs.listAllRuns()).map(({ runId }) => runId)).not.toContain(fork.runId);
  });

  test("keep no other where their own files are none: a file lies where the folder of one belongs, a link in another one", async () => {
    const { bench, shell, over, fork } = await furnished();
    const third = await bench.start(twoNodePackage(), { input: "Paint it." });
    await third.result();
    const { dir } = await bench.filesOf(over);
    await rm((await bench.filesOf(fork)).dir, { recursive: true });
    await writeFile((await bench.filesOf(fork)).dir, "no folder");
    await symlink(dir, join(dir, "execution.lock"));
    const done = await shell.run(["runs", "prune", "--keep", "0", "--with-history", "--json"]);
    expect(done.code).toBe(1);
    expect(jsonOf(done)).toMatchObject({
      pruned: [third.runId],
      kept: [{ runId: over.runId, reason: "fork" }],
      notRemoved: [{ runId: fork.runId, why: expect.stringContaining("ENOTDIR") as string }],
    });
    await rm(join(dirname(dir), fork.runId));
    const again = await shell.run(["runs", "prune", "--keep", "0", "--with-history"]);
    expect(again.stderr).toContain(`Run ${over.runId} is not removed as a whole`);
    expect(again.stderr).toContain("execution.lock is a link");
    expect(again.stdout).toContain("Removed 1 run.");
  });

  test("is one that was terminated in Temporal, whatever its files say", async () => {
    const { bench, prune, waiting } = await furnished();
    await bench.client.temporal.workflow.getHandle(waiting.workflowId).terminate();
    const { kept } = await prune("--keep", "0");
    expect(kept).toContainEqual({ runId: waiting.runId, reason: "history" });
    expect(await prune("--older-than", "1d", "--with-history")).toMatchObject({ pruned: [], kept: [] });
    expect((await prune("--keep", "0", "--with-history")).pruned).toContain(waiting.runId);
    expect(await bench.store.runs.listAllRuns()).toEqual([]);
  });

  test("is one that goes on by its files and is unknown to Temporal only where that is asked for", async () => {
    const { bench, shell, prune, waiting } = await furnished();
    const { temporal, namespace } = bench.client;
    const workflowExecution = { workflowId: waiting.workflowId };
    await temporal.workflowService.deleteWorkflowExecution({ namespace, workflowExecution });
    await eventually(() =>
      waiting.executionStatus().then(
        () => false,
        () => true,
      ),
    );
    const said = await shell.run(["runs", "prune", "--keep", "0"]);
    expect(said.stdout).toContain("1 run stays: not over by its files");
    expect((await prune("--keep", "0", "--unknown", "--dry-run")).pruned).toEqual([waiting.runId]);
    expect((await prune("--keep", "0", "--unknown")).pruned).toEqual([waiting.runId]);
    expect((await bench.store.runs.listAllRuns()).map(({ runId }) => runId)).not.toContain(waiting.runId);
  });
});
