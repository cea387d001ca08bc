import { randomUUID } from "node:crypto";
import { readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { sendUpdate } from "../../src/client/changes/send-update.js";
import { RUN_MEMO } from "../../src/contract/run-memo.js";
import { ANSWER_UPDATE } from "../../src/contract/names.js";
import { eventually } from "../fakes/eventually.js";
import { valueOf } from "../fakes/run-world.js";
import { twoNodePackage } from "../fakes/two-node-package.js";
import { type Bench, openBench, temporaryDirectory, until, writeTree } from "./harness.js";
import { openPage } from "./open-page.js";
import { Shell, jsonOf, shellOf } from "./shell.js";

const ASKS = Array.from({ length: 3 }, () => ({ content: "Whose story?" }));

/** Starts runs of one package, one after the other, under one workflow id: each asks. */
async function openStory(bench: Bench) {
  const dir = join(bench.dir, "package");
  await writeTree(dir, twoNodePackage());
  const { packageId } = valueOf(await bench.store.packages.install(dir));
  const workflowId = `story-${randomUUID()}`;
  const start = async (): Promise<string> => {
    const { firstExecutionRunId } = await bench.client.temporal.workflow.start("graphRun", {
      workflowId,
      taskQueue: bench.store.taskQueue,
      args: [{ projectRoot: bench.projectRoot, packageId }],
    });
    await until(bench.client.handle(workflowId), "waiting-user");
    return firstExecutionRunId;
  };
  const cancel = async (): Promise<void> => {
    const run = bench.client.handle(workflowId);
    await run.cancel();
    await run.result().catch(() => undefined);
  };
  return { workflowId, start, cancel };
}

/** Two such runs: the first was cancelled, the second waits for an answer. */
async function twoRuns(bench: Bench, between: (workflowId: string) => Promise<void> = async () => undefined) {
  const { workflowId, start, cancel } = await openStory(bench);
  const first = await start();
  await cancel();
  await between(workflowId);
  return { workflowId, first, second: await start() };
}

/** A machine that has Temporal's address, and no store. */
async function elsewhere(bench: Bench, more: Record<string, string> = {}): Promise<Shell> {
  const dir = await temporaryDirectory();
  return new Shell(dir, {
    INTERLOCK_STORE: "",
    TEMPORAL_ADDRESS: bench.environment["TEMPORAL_ADDRESS"] ?? "",
    TEMPORAL_CONFIG_FILE: join(dir, "none.toml"),
    ...more,
  });
}

const OVER = { code: "E_PRECONDITION_FAILED", message: expect.stringContaining("is over") as string };

test("what is meant for a run does not reach the next one under its workflow id, and tells of that run alone", async () => {
  const bench = await openBench(ASKS);
  const { workflowId, first, second } = await twoRuns(bench);
  const { client } = bench;
  for (const handle of [client.handle(first), client.handle({ runId: first, workflowId })]) {
    expect(await handle.identify()).toEqual({ runId: first, workflowId });
    expect((await handle.state()).phase).toBe("failed");
    await expect(handle.answer({ nodeId: "ask", text: "Mine." })).rejects.toMatchObject(OVER);
    await expect(handle.pause()).rejects.toMatchObject(OVER);
    await expect(handle.cancel()).rejects.toMatchObject(OVER);
    await expect(client.retry(handle)).rejects.toMatchObject({
      code: "E_PRECONDITION_FAILED",
      message: expect.stringContaining("another run") as string,
    });
    expect(await handle.histories()).toHaveLength(1);
    const kinds = [];
    for await (const { runId } of handle.events()) kinds.push(runId);
    expect(new Set(kinds)).toEqual(new Set([first]));
  }
  expect(await client.handle(workflowId).identify()).toEqual({ runId: second, workflowId });
  expect((await client.handle(second).state()).phase).toBe("waiting-user");
  await client.handle(second).cancel();
  await expect(client.handle(workflowId).result()).rejects.toMatchObject({ code: "ENGINE_ABORTED" });

  await client.retry(second);
  await until(client.handle(second), "waiting-user");
  expect((await client.handle(first).state()).phase).toBe("failed");
  await client.handle(second).cancel();
});

test("a beginning of a run's id names that run, at hand and elsewhere", async () => {
  const bench = await openBench(ASKS);
  const { first, second } = await twoRuns(bench);
  for (const shell of [shellOf(bench), await elsewhere(bench)]) {
    for (const run of [first, second]) {
      const told = await shell.run(["status", run.slice(0, -8), "--json"]);
      expect([told.code, jsonOf(told)]).toMatchObject([0, { runId: run }]);
    }
  }
  await bench.client.handle(second).cancel();
});

test("foreign workflows that say they are a run are told nothing that is meant for it, nor it what is meant for them", async () => {
  const bench = await openBench(ASKS);
  const { start, cancel } = await openStory(bench);
  const run = await start();
  const says = {
    runId: run,
    phase: "waiting-user",
    node: "ask",
    asked: "1.1",
    since: "2026-01-02T03:04:05Z",
  };
  const foreign = [`foreign-${randomUUID()}`, `run-${run}-x`] as const;
  for (const workflowId of foreign) {
    const started = await bench.client.temporal.workflow.start("graphRun", {
      workflowId,
      taskQueue: bench.store.taskQueue,
      args: [{ runId: run }],
      memo: { [RUN_MEMO]: says },
    });
    await started.result().catch(() => undefined); // it is none
  }
  const shell = await elsewhere(bench);
  const named = await shell.run(["answer", foreign[0].slice(0, -8), "For the stranger."]);
  expect([named.code, named.stderr]).toEqual([1, expect.stringContaining("is over")]);
  const shared = await shell.run(["answer", run.slice(0, -8), "For the run."]);
  expect([shared.code, shared.stderr]).toEqual([2, expect.stringContaining("is the beginning of several")]);
  expect((await bench.client.handle(run).state()).phase).toBe("waiting-user");
  expect((await shell.run(["answer", run, "For the run."])).code).toBe(0);
  await cancel();
});

test("an answer that is being written goes to no run that has come in the place of the one that asked", async () => {
  const bench = await openBench(ASKS);
  const { workflowId, start, cancel } = await openStory(bench);
  await start();
  const script = join(bench.dir, "editor.sh");
  const wait = `touch "$HOME/open"; until [ -e "$HOME/go" ]; do sleep 0.1; done; printf 'Late.' >> "$1"`;
  await writeFile(script, `#!/bin/sh\n${wait}\n`, { mode: 0o700 });
  const shell = await elsewhere(bench, { VISUAL: `'${script}'` });
  const late = shell.run(["answer", workflowId]);
  await eventually(async () => (await readdir(shell.dir)).includes("open"));
  await cancel();
  const second = await start();
  await writeFile(join(shell.dir, "go"), "");
  const { code, stderr } = await late;
  expect([code, stderr]).toEqual([1, expect.stringContaining("│ Late.")]);
  expect(await bench.client.handle(second).state()).toMatchObject({
    phase: "waiting-user",
    visit: 1,
    turn: 1,
  });
  await cancel();
});

test("the page shows the run that a workflow id means now, and each of its runs by its own id", async () => {
  const bench = await openBench(ASKS);
  const browser = (await openPage(bench)).browser;
  const { workflowId, first, second } = await twoRuns(bench, async (id) => {
    await browser.ask("run", { run: id });
  });
  expect((await browser.ask("run", { run: workflowId })).row).toMatchObject({ runId: second });
  expect((await browser.ask("standing", { run: workflowId })).stored).toMatchObject({ runId: second });
  expect((await browser.ask("run", { run: first })).row).toMatchObject({ runId: first, phase: "failed" });
  const answer = { run: first, nodeId: "ask", question: "1.1", text: "Mine." };
  expect(await browser.send("answer", answer)).toMatchObject({ status: 409 });
  await bench.client.handle(second).cancel();
});

test("a workflow of somebody else's is no run: it is not cancelled, told or retried", async () => {
  const bench = await openBench(ASKS);
  const browser = (await openPage(bench)).browser;
  const { temporal } = bench.client;
  const input = { projectRoot: bench.projectRoot, packageId: "two-nodes" };
  for (const args of [[input], ["x"], []]) {
    const workflowId = `payroll-${randomUUID()}`;
    const other = await temporal.workflow.start("payroll", { workflowId, taskQueue: "nobody", args });
    const run = bench.client.handle(workflowId);
    const acts = [
      () => run.cancel(),
      () => run.pause(),
      () => run.state(),
      () => run.answer({ nodeId: "ask", text: "Mine." }),
      () => bench.client.retry(run),
    ];
    for (const act of acts) {
      await expect(act()).rejects.toMatchObject({ code: "E_RUN_NOT_FOUND" });
    }
    for (const action of ["cancel", "retry", "run"] as const) {
      expect(await browser.send(action, { run: workflowId })).toMatchObject({ status: 404 });
    }
    const { events = [] } = await other.fetchHistory();
    expect(events).toHaveLength(2);
    await other.terminate();
  }
});

test("what is on its way to a run that ends is not taken by the next one, and is refused", async () => {
  const bench = await openBench(ASKS);
  const { workflowId, start, cancel } = await openStory(bench);
  const first = bench.client.handle({ runId: await start(), workflowId });
  const before = await first.address();
  await cancel();
  const second = bench.client.handle({ runId: await start(), workflowId });
  const addresses = [before];
  const run = {
    address: () => Promise.resolve(addresses.shift() ?? first.address()),
    state: () => first.state(),
  };
  const answer = { name: ANSWER_UPDATE, argument: { nodeId: "ask", text: "Mine." }, updateId: randomUUID() };
  await expect(sendUpdate(bench.client, run, answer)).rejects.toMatchObject(OVER);
  const { workflow } = bench.client.temporal;
  const { firstExecutionRunId } = before;
  const stale = workflow.getHandle(
    workflowId,
    undefined,
    firstExecutionRunId === undefined ? {} : { firstExecutionRunId },
  );
  await expect(stale.cancel()).rejects.toThrow("not found");
  expect(await second.state()).toMatchObject({ phase: "waiting-user" });
  expect(await second.state()).not.toHaveProperty("lastAnswer");
});
