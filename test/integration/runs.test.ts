import { randomUUID } from "node:crypto";
import type { WorkflowHandle } from "@temporalio/client";
import { expect, onTestFinished, test } from "vitest";
import { GRAPH_RUN_WORKFLOW } from "../../src/contract/names.js";
import { RUN_MEMO } from "../../src/contract/run-memo.js";
import {
  STORE_MEMO,
  STORE_SEEN_SIGNAL,
  STORE_WORKFLOW,
  storeWorkflowIdOf,
} from "../../src/contract/store-record.js";
import { isPrintable } from "../../src/core/printable.js";
import { listRuns } from "../../src/client/runs/list-runs.js";
import { eventually } from "../fakes/eventually.js";
import { twoNodePackage } from "../fakes/two-node-package.js";
import { begin } from "./begin-command.js";
import { openBench, until } from "./harness.js";
import { jsonOf, shellOf } from "./shell.js";

const QUESTION = "Which order?\u202e\nSay it shortly.";
const ASKS = () => ({ content: QUESTION });

test("runs lists what waits with its question, from Temporal alone and without a worker, whatever strangers put beside it", async () => {
  const bench = await openBench(ASKS);
  const { client } = bench;
  const run = await bench.start(twoNodePackage());
  await until(run, "waiting-user");
  // Under the type of a run, with memos that no listing expects; one is of a payload that cannot be decoded.
  const stranger = await client.temporal.workflow.start(GRAPH_RUN_WORKFLOW, {
    workflowId: `stranger-${randomUUID()}`,
    taskQueue: client.taskQueue + "-none",
    args: [],
    memo: {
      [RUN_MEMO]: { runId: "\u001B[2J".repeat(1_000), phase: "no phase", since: "never" },
      other: undefined,
    },
  });
  onTestFinished(async () => {
    await stranger.terminate();
  });
  await bench.stopWorker();

  const filter = { taskQueues: [client.taskQueue, `${client.taskQueue}-none`] };
  await eventually(async () => (await client.runs(filter)).length === 2);
  const shown = { runId: run.runId, phase: "waiting-user", project: "project", nodeId: "ask" };
  const question = String.raw`Which order?\u{202e}`;
  expect(await client.runs({ ...filter, phases: ["waiting-user"] })).toEqual([
    expect.objectContaining({ ...shown, question, packageId: expect.stringMatching(/^two-nodes-1\.0\.0-/) }),
  ]);
  // Where the namespace has no attribute of ours, the memos say the same.
  const { temporal } = client;
  const without = (found: object) => listRuns(temporal, { ...filter, ...found }, 10, async () => []);
  expect(await without({ phases: ["waiting-user"], package: "two-nodes", project: "project" })).toHaveLength(
    1,
  );
  expect(await without({ phases: ["failed"] })).toEqual([]);
  expect(await without({ package: "three-nodes" })).toEqual([]);
});

test("a run that was retried is listed once, as it stands now", async () => {
  const bench = await openBench((_, index) => (index === 0 ? { status: 401 } : ASKS()));
  const { client } = bench;
  const run = await bench.start(twoNodePackage());
  await expect(run.result()).rejects.toThrow("401");
  const filter = { taskQueues: [client.taskQueue] };
  await eventually(async () => (await client.runs({ ...filter, phases: ["failed"] })).length === 1);
  await until(await client.retry(run), "waiting-user");
  await eventually(async () => (await client.runs({ ...filter, phases: ["waiting-user"] })).length === 1);
  expect(await client.runs({ ...filter, phases: ["failed"] })).toEqual([]);
  expect(await client.runs(filter)).toHaveLength(1);
});

test("the newest runs are those that began last, whether they are open or over", async () => {
  const { client } = await openBench(ASKS);
  const taskQueue = `${client.taskQueue}-none`;
  const begun: WorkflowHandle[] = [];
  for (const name of ["first", "second", "third", "fourth"]) {
    const workflowId = `${name}-${randomUUID()}`;
    begun.push(await client.temporal.workflow.start(GRAPH_RUN_WORKFLOW, { workflowId, taskQueue, args: [] }));
  }
  onTestFinished(async () => {
    for (const run of begun.slice(0, 2)) await run.terminate();
  });
  // The third ends last, the first two stay open.
  for (const run of begun.slice(2).toReversed()) await run.terminate();
  const filter = { taskQueues: [taskQueue] };
  await eventually(async () => (await client.runs({ ...filter, phases: ["failed"] })).length === 2);
  await eventually(async () => (await client.runs(filter)).length === 4);
  const expected = begun.map(({ workflowId }) => workflowId).toReversed();
  for (const limit of [1, 2, 3, 4, 5]) {
    const listed = (await client.runs(filter, limit)).map(({ workflowId }) => workflowId);
    expect(listed).toEqual(expected.slice(0, limit));
  }
});

test(
  "any beginning of an id names a run; a beginning of several is refused with both",
  { tags: "slow" },
  async () => {
    const bench = await openBench(ASKS);
    const shell = shellOf(bench);
    const common = randomUUID().slice(0, 8);
    const [first, second] = ["1", "2"].map((digit) => `${common}-000${digit}-4000-8000-000000000000`);
    const own = `shop-story-${common}`;
    for (const runId of [first, second])
      await until(await bench.start(twoNodePackage(), { runId: String(runId) }), "waiting-user");
    const packageId = (await bench.store.packages.list())[0]?.packageId ?? "";
    await bench.client.temporal.workflow.start(GRAPH_RUN_WORKFLOW, {
      workflowId: own,
      taskQueue: bench.client.taskQueue,
      args: [{ projectRoot: bench.projectRoot, packageId }],
    });
    await until(bench.client.handle(own), "waiting-user");
    for (const name of [`${common}-0001`, `run-${common}-0001`, String(first), `run-${first}`]) {
      expect(jsonOf(await shell.run(["status", name, "--json"]))).toMatchObject({ runId: first });
    }
    const listed = jsonOf(await shell.run(["status", own.slice(0, -2), "--json"]));
    expect(listed).toMatchObject({ workflowId: own, phase: "waiting-user" });
    const both = await shell.run(["answer", common, "No."]);
    expect(both.code).toBe(2);
    expect(both.stderr).toContain(`"${common}" is the beginning of several runs`);
    for (const id of [first, second]) expect(both.stderr).toContain(id);
    expect((await shell.run(["status", "zzzz"])).stderr).toContain('There is no run "zzzz"');

    const table = await shell.run(["runs", "--store", bench.store.storeId]);
    expect(table.stdout.split("\n")[0]).toMatch(
      /^RUN +PACKAGE +PROJECT +PHASE +NODE +QUESTION +STARTED +SINCE$/,
    );
    expect(table.stdout.trimEnd().split("\n")).toHaveLength(4);
    expect(table.stdout).not.toMatch(/\u202e/u);
    expect((await shell.run(["runs", "--query", "Nothing = 'x'"])).stderr).toMatch(
      /^Temporal does not take this query: .*Nothing.*RunPhase, RunNode, .* interlock doctor$/m,
    );
  },
);

test("what Temporal no longer has is listed from the store, and marked", { tags: "slow" }, async () => {
  const bench = await openBench(ASKS);
  const run = await bench.start(twoNodePackage());
  await until(run, "waiting-user");
  const { temporal, namespace } = bench.client;
  await temporal.workflow.getHandle(run.workflowId).terminate();
  await temporal.workflowService.deleteWorkflowExecution({
    namespace,
    workflowExecution: { workflowId: run.workflowId },
  });
  await eventually(async () => (await bench.client.knowsOf([run.workflowId])).size === 0);
  const shell = shellOf(bench);
  const rows = jsonOf(await shell.run(["runs", "--store", bench.store.storeId, "--json"]));
  const question = String.raw`Which order?\u{202e}`;
  expect(rows).toMatchObject([{ runId: run.runId, inTemporal: false, nodeId: "ask", question }]);
  expect((await shell.run(["runs", "--waiting", "--store", bench.store.storeId])).stdout).toContain(
    "waiting-user (store)",
  );
});

test(
  "a listing that finds nothing of a project says where no store has one of that name",
  { tags: "slow" },
  async () => {
    const bench = await openBench(ASKS);
    await eventually(async () =>
      (await bench.client.stores()).some(({ storeId }) => storeId === bench.store.storeId),
    );
    const shell = shellOf(bench);
    const name = `shop-${randomUUID()}`;
    const unknown = `No store that is known has a project "${name}".`;
    const listings = [["runs"], ["inbox"], ["runs", "--json"]];
    for (const listing of listings) {
      const { code, stderr } = await shell.run([...listing, "--project", name]);
      expect([listing, code, stderr]).toEqual([listing, 0, `${unknown} See: interlock stores\n`]);
      // One that there is has no runs, and so nothing is wrong with its name.
      const known = await shell.run([...listing, "--project", bench.projectRoot]);
      expect([listing, known.code, known.stderr]).toEqual([listing, 0, ""]);
    }
    const nobody = shell.with({ ...shell.environment, TEMPORAL_ADDRESS: "" });
    const alone = await nobody.run(["runs", "--project", name]);
    expect(alone).toMatchObject({ code: 0, stderr: `${unknown} See: interlock project list\n` });
    const { closed, child, said } = begin(shell, ["inbox", "--watch", "--project", name]);
    await eventually(() => said.notes.includes(unknown));
    child.kill("SIGINT");
    await closed;
  },
);

test("a store is known by its workers, and what a stranger says in its name changes neither its id nor its queue", async () => {
  const bench = await openBench(ASKS);
  const { client, store } = bench;
  const mine = async () => (await client.stores()).find(({ storeId }) => storeId === store.storeId);
  await eventually(async () => (await mine()) !== undefined);
  const record = client.temporal.workflow.getHandle(storeWorkflowIdOf(store.storeId));
  const worker = { instance: "stranger", host: "h".repeat(200), version: "1" };
  await record.signal(STORE_SEEN_SIGNAL, { worker }); // does not fit
  await record.signal(STORE_SEEN_SIGNAL, "no word");
  const false_ = { instance: "stranger", host: "\u001B[2J", version: "1" };
  const note = { name: "\u202ename", projects: [{ projectId: "shop-1", name: "shop", root: "/srv/shop" }] };
  await record.signal(STORE_SEEN_SIGNAL, { worker: false_, note });
  await eventually(async () => (await mine())?.workers.length === 2);
  expect(await mine()).toMatchObject({ storeId: store.storeId, taskQueue: store.taskQueue });
  const shell = shellOf(bench);
  const told = await shell.run(["stores"]);
  expect(told.stdout.split("\n").every(isPrintable)).toBe(true);
  // Of the store at hand its own directory says the name.
  const name = (await shell.run(["store", "name"])).stdout.trim();
  expect(told.stdout).toContain(name);

  // What is started under such an id with another shape is no record, and lists nothing.
  const foreign = randomUUID();
  await client.temporal.workflow.start(STORE_WORKFLOW, {
    workflowId: storeWorkflowIdOf(foreign),
    taskQueue: client.taskQueue,
    args: [{ note: "none" }],
    memo: { [STORE_MEMO]: { name: "shop", projects: "all" } },
  });
  await expect(client.temporal.workflow.getHandle(storeWorkflowIdOf(foreign)).result()).rejects.toThrow(
    "execution failed",
  );
  expect((await client.stores()).some(({ storeId }) => storeId === foreign)).toBe(false);

  // A start on another store's queue is not signed.
  expect(client.onQueue("another").sign).toBeUndefined();
  expect(client.onQueue(client.taskQueue)).toBe(client);
});
