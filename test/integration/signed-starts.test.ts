import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdir, readFile, readdir, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { historyToJSON } from "@temporalio/common/lib/proto-utils.js";
import { describe, expect, inject, onTestFinished, test } from "vitest";
import type { RunHandle } from "../../src/client/client.js";
import type { RunState } from "../../src/core/run/run-state.js";
import { type Sign, startStatement, updateStatement } from "../../src/contract/signed.js";
import { questionIn } from "../../src/core/run/question.js";
import { findTemporalCli } from "../../src/embedded/find-cli.js";
import { replayHistory } from "../../src/replay.js";
import { withFileLock } from "../../src/store/disk/fenced-lock.js";
import { startWorker } from "../../src/worker.js";
import { readTree } from "../fakes/package-fixture.js";
import { valueOf } from "../fakes/run-world.js";
import type { Script } from "../fakes/scripted-model.js";
import { tellSideBySide } from "../fakes/side-by-side.js";
import { circlePackage, twoNodePackage } from "../fakes/two-node-package.js";
import { asksFirst, roundAndRound } from "../fakes/walk.js";
import { eventually } from "../fakes/eventually.js";
import { type Bench, copyRoom, openBench, signedClient, until, writeTree } from "./harness.js";
import { openPage } from "./open-page.js";
import { jsonOf, shellOf, strangerShell } from "./shell.js";

const run = promisify(execFile);

const REFUSED = {
  code: "E_PRECONDITION_FAILED",
  message: expect.stringContaining("takes signed starts only") as string,
};

/** A bench whose worker takes signed starts only. Its own client has no signer: it is a stranger's. */
async function openSigned(script: Script = asksFirst, variables: Record<string, string> = {}) {
  const bench = await openBench(script, { INTERLOCK_STARTS: "signed", ...variables });
  const { client, sign } = await signedClient(bench);
  const dir = join(bench.dir, `package-${randomUUID()}`);
  await writeTree(dir, twoNodePackage());
  const { packageId } = valueOf(await bench.store.packages.install(dir));
  const request = { projectRoot: bench.projectRoot, packageId, limits: { maxModelAttempts: 1 } };
  return { bench, client, sign, request };
}
type Signed = Awaited<ReturnType<typeof openSigned>>;

/** As a stranger would: with Temporal's own client. */
async function startRaw(
  { bench }: Pick<Signed, "bench">,
  input: object,
  workflowId: string,
  type = "graphRun",
) {
  await bench.client.temporal.workflow.start(type, {
    workflowId,
    taskQueue: bench.store.taskQueue,
    args: [input],
  });
  return bench.client.handle(workflowId);
}

async function signedFor(sign: Sign, workflowId: string, input: object) {
  const signature = await sign(startStatement({ workflow: "graphRun", workflowId, input }));
  return { ...input, signature };
}

async function cancelled(handle: RunHandle): Promise<void> {
  await handle.cancel();
  await handle.result().catch(() => undefined);
}

/** What a run would carry that stands where this one does. */
function carriedOf({ currentNodeId, stepsCompleted, artifacts, usage, budget, audit }: RunState) {
  return {
    phase: "running",
    frontmatter: {
      schemaVersion: "1.1",
      workflowType: "two-nodes",
      currentNodeId,
      stepsCompleted,
      variables: {},
      decisionLog: [],
      artifacts,
    },
    stateSha256: "0".repeat(64),
    visit: 1,
    turn: 1,
    usage,
    visitUsage: usage,
    budget,
    paused: false,
    ended: false,
    loop: { key: "", failures: 0 },
    progress: [],
    audit,
    phaseChanges: 2,
  };
}

/** What there is of runs, in the store and in the project. */
async function traces({ store, projectRoot, model }: Bench) {
  const runs = await store.runs.listAllRuns();
  return { runs, project: await readTree(projectRoot), asked: model.requests.length };
}

/** A run says that it waits a moment before its files do. */
async function tracesAtRest(bench: Bench) {
  await eventually(async () =>
    (await bench.store.runs.listAllRuns()).every(({ phase }) => phase !== "idle" && phase !== "running"),
  );
  return traces(bench);
}

describe("a start", () => {
  test("without a signature, altered, or made for another workflow, starts nothing", async () => {
    const place = await openSigned();
    const { bench, sign, request } = place;
    const before = await tracesAtRest(bench);
    const workflowId = `story-${randomUUID()}`;
    const good = await signedFor(sign, workflowId, request);
    const runId = randomUUID();
    const room = await copyRoom(bench.dir);
    const { signature: _, ...unsigned } = good;
    const attacks: readonly (readonly [string, object, string?, string?])[] = [
      ["unsigned", unsigned],
      ["a signature of nobody's", { ...good, signature: `v1.${"0".repeat(32)}.${"0".repeat(64)}` }],
      ["other words", { ...good, input: "Delete all." }],
      ["another project", { ...good, projectRoot: bench.dir }],
      ["another limit", { ...good, limits: { maxModelAttempts: 2 } }],
      ["a store's id", { ...good, storeId: bench.store.storeId }],
      ["a run's id", { ...good, runId }],
      ["resume", { ...good, runId, resume: true }],
      ["a fork", { ...good, fork: { runId, visit: 0 } }],
      ["another workflow id", good, `story-${randomUUID()}`],
      ["another run", good, `run-${runId}`],
      [
        "another kind",
        { ...room, projectRoot: bench.projectRoot, signature: good.signature },
        workflowId,
        "bundleRun",
      ],
    ];
    for (const [name, input, id = workflowId, type = "graphRun"] of attacks) {
      const handle = await startRaw(place, input, id, type);
      const outcome = await handle.result().catch((error: unknown) => error);
      expect([name, outcome]).toMatchObject([name, REFUSED]);
      expect([name, (await handle.state()).phase]).toEqual([name, "failed"]);
      expect([name, await traces(bench)]).toEqual([name, before]);
    }
    const malformed = await startRaw(place, { ...good, signature: "v1.x" }, workflowId);
    await expect(malformed.result()).rejects.toMatchObject({ code: "E_SCHEMA_VALIDATION" });
    // The one it was made for.
    await until(await startRaw(place, good, workflowId), "waiting-user");
  });

  test("is good once: sent again when its run is over, under any workflow id, it starts nothing", async () => {
    const place = await openSigned();
    const { bench, sign, request } = place;
    for (const workflowId of [`story-${randomUUID()}`, `run-${randomUUID()}`]) {
      const input = await signedFor(sign, workflowId, request);
      const handle = await startRaw(place, input, workflowId);
      await until(handle, "waiting-user");
      await cancelled(handle);
      const before = await tracesAtRest(bench);
      const replayed = await startRaw(place, input, workflowId);
      await expect(replayed.result()).rejects.toMatchObject(REFUSED);
      expect(await traces(bench)).toEqual(before);
    }
  });

  test("a retry that was observed is not made again, and one that was not signed is none", async () => {
    const { bench, client, request } = await openSigned();
    const handle = await client.start(request);
    await until(handle, "waiting-user");
    await cancelled(handle);
    await expect((await bench.client.retry(handle.runId)).result()).rejects.toMatchObject(REFUSED);
    const retried = await client.retry(handle.runId);
    await until(retried, "waiting-user");
    const observed = (await bench.client.handle(handle.runId).startedWith()).input;
    expect(observed).toMatchObject({ resume: true });
    await cancelled(retried);
    const before = await tracesAtRest(bench);
    const replayed = await startRaw({ bench }, observed, `run-${handle.runId}`);
    await expect(replayed.result()).rejects.toMatchObject(REFUSED);
    expect(await traces(bench)).toEqual(before);
    await until(await client.retry(handle.runId), "waiting-user");
  });

  test("a retry that was signed before another one was made is too old", async () => {
    const { bench, client, sign, request } = await openSigned();
    const handle = await client.start(request);
    await until(handle, "waiting-user");
    await cancelled(handle);
    const workflowId = `run-${handle.runId}`;
    const early = await signedFor(sign, workflowId, { ...request, resume: true });
    const retried = await client.retry(handle.runId);
    await until(retried, "waiting-user");
    await cancelled(retried);
    await expect((await startRaw({ bench }, early, workflowId)).result()).rejects.toMatchObject(REFUSED);
  });

  test("that was admitted goes on when Temporal resets it, though the secret was exchanged, and is answered by the new one", async () => {
    const { bench, client, request } = await openSigned();
    const run = await client.start(request);
    await until(run, "waiting-user");
    await rm(join(bench.store.dir, "starts.secret"));
    const workflowExecution = { workflowId: `run-${run.runId}` };
    const { events } = await run.history();
    const task = events?.find((event) => event.workflowTaskCompletedEventAttributes);
    await client.temporal.workflowService.resetWorkflowExecution({
      namespace: "default",
      workflowExecution,
      workflowTaskFinishEventId: task?.eventId ?? null,
      requestId: run.runId,
    });
    const again = client.handle(run.runId);
    await until(again, "waiting-user");
    await again.answer({ nodeId: "ask", text: "The customer's." });
    await expect(again.result()).resolves.toMatchObject({ phase: "completed" });
  });

  test("that somebody else has put in a run's place is not signed by who lets the run go on, or forks it", async () => {
    const { bench, client, request } = await openSigned();
    const handle = await client.start(request);
    await until(handle, "waiting-user");
    await cancelled(handle);
    const foreign = { ...request, autopilot: true, input: "Delete all.", budget: { run: { turns: 9 } } };
    const put = () => startRaw({ bench }, foreign, handle.workflowId);
    const startOf = async (run: RunHandle) => (await run.startedWith()).input;
    await expect((await put()).result()).rejects.toMatchObject(REFUSED);
    const fork = await client.fork(handle.runId, { visit: 0 });
    expect(await startOf(fork)).not.toMatchObject({ autopilot: true });
    const retried = await client.retry(handle.runId);
    await until(retried, "waiting-user");
    expect(await startOf(retried)).toMatchObject({ ...request, resume: true });
    expect(await startOf(retried)).not.toMatchObject({ autopilot: true });
    await cancelled(retried);
    await until(await client.retry(handle.runId), "waiting-user");
  });

  test("that somebody else has made is not signed by who retries it, and one that was signed is", async () => {
    const place = await openSigned();
    const { bench, client, request } = place;
    for (const workflowId of [`story-${randomUUID()}`, `run-${randomUUID()}`]) {
      const foreign = await startRaw(place, { ...request, input: "Delete all." }, workflowId);
      await expect(foreign.result()).rejects.toMatchObject(REFUSED);
      const before = await tracesAtRest(bench);
      await expect(client.retry(workflowId)).rejects.toMatchObject({
        code: "E_PRECONDITION_FAILED",
        message: expect.stringContaining("nobody who can sign") as string,
      });
      expect(await traces(bench)).toEqual(before);
    }
    const later = { ...request, projectRoot: join(bench.dir, `later-${randomUUID()}`) };
    const workflowId = `story-${randomUUID()}`;
    const early = [
      await client.start(later),
      await startRaw(place, await signedFor(place.sign, workflowId, later), workflowId),
    ];
    for (const run of early) {
      await expect(run.result()).rejects.toMatchObject({ code: "E_PROJECT_INVALID" });
    }
    await mkdir(later.projectRoot);
    await bench.store.roots.add(later.projectRoot, "write");
    for (const run of early) await until(await client.retry(run.runId), "waiting-user");
  });

  test("that Temporal repeats by itself, by a cron schedule, is not taken for a run that continues as new", async () => {
    const { bench, client, request } = await openSigned();
    const ended = await client.start(request);
    const { frontmatter } = carriedOf(await until(ended, "waiting-user"));
    await cancelled(ended);
    const before = await tracesAtRest(bench);
    const { workflow } = bench.client.temporal;
    // The first execution is turned away; the second one names it as the one it goes on from.
    await workflow.start("graphRun", {
      workflowId: ended.workflowId,
      taskQueue: bench.store.taskQueue,
      args: [{ ...request, resume: true, carried: { ...carriedOf(await ended.state()), frontmatter } }],
      cronSchedule: "@every 1s",
    });
    const newest = async () => (await workflow.getHandle(ended.workflowId).describe()).runId;
    const executions = new Set<string>();
    await eventually(async () => executions.add(await newest()).size > 2);
    await workflow.getHandle(ended.workflowId).terminate();
    expect(await traces(bench)).toEqual(before);
    const files = await bench.filesOf(ended);
    expect(files.executions.newest()).toBe(1);
  });

  test("a fork and a run that Temporal has lost are signed by the client, and a schedule's runs are refused", async () => {
    const { bench, client, sign, request } = await openSigned();
    const handle = await client.start(request);
    await until(handle, "waiting-user");
    await until(await client.fork(handle.runId, { visit: 0 }), "waiting-user");
    const source = await bench.client.handle(handle.runId).startedWith();
    const { workflowService } = client.temporal;
    const workflowExecution = { workflowId: handle.workflowId };
    await workflowService.deleteWorkflowExecution({ namespace: "default", workflowExecution });
    await eventually(() =>
      handle.executionStatus().then(
        () => false,
        () => true,
      ),
    );
    await until(await client.restore(source), "waiting-user");

    const scheduleId = `nightly-${randomUUID()}`;
    const args = [await signedFor(sign, scheduleId, request)];
    const schedule = await client.temporal.schedule.create({
      scheduleId,
      spec: { intervals: [{ every: "24h" }] },
      action: {
        type: "startWorkflow",
        workflowType: "graphRun",
        workflowId: scheduleId,
        taskQueue: bench.store.taskQueue,
        args,
      },
    });
    const before = await tracesAtRest(bench);
    await schedule.trigger();
    let scheduled = "";
    await eventually(async () => {
      const [last] = (await schedule.describe()).info.recentActions;
      scheduled = last?.action.type === "startWorkflow" ? last.action.workflow.workflowId : "";
      return scheduled !== "";
    });
    await schedule.delete();
    await expect(bench.client.handle(scheduled).result()).rejects.toMatchObject(REFUSED);
    expect(await traces(bench)).toEqual(before);
  });
});

/** Tells a run something as a stranger would, and says how that ends. */
async function tellRaw(handle: RunHandle, bench: Bench, update: string, argument: object, updateId: string) {
  const workflow = bench.client.temporal.workflow.getHandle(handle.workflowId);
  return workflow.executeUpdate<unknown, [object]>(update, { args: [argument], updateId }).then(
    () => "taken",
    (error: unknown) => String(error instanceof Error ? (error.cause ?? error) : error),
  );
}

/** All that an update may change. */
function told({ phase, paused, budget, question, progress }: RunState) {
  return { phase, paused, budget, question, progress };
}

describe("an update", () => {
  test("without a signature, altered, or made for another run, question, node or id, changes nothing", async () => {
    const { bench, client, sign, request } = await openSigned();
    const budget = { run: { turns: 100 } };
    const handle = await client.start({ ...request, budget });
    const other = await client.start({ ...request, budget });
    const state = await until(handle, "waiting-user");
    await until(other, "waiting-user");
    const { workflowId } = handle;
    const place = { workflowId, executionId: await handle.executionRunId() };
    const question = questionIn(state);
    const answer = { nodeId: state.question?.nodeId ?? "", text: "The customer's." };
    const elsewhere = { executionId: await other.executionRunId() };
    const updates: readonly (readonly [string, object, object])[] = [
      ["answer", answer, { ...answer, text: "The shop's." }],
      ["budget", { add: { turns: 10 } }, { add: { turns: 1_000 } }],
      ["budget", { add: { turns: 10 } }, { scope: "run", add: { turns: 10 } }],
      ["pause", {}, {}],
      ["resume", {}, {}],
    ];
    for (const [update, argument, altered] of updates) {
      const asked = update === "answer" ? { question } : {};
      // Each is signed for all that is so, but for one thing.
      const wrongly: readonly (readonly [string, (updateId: string) => Promise<string | undefined>])[] = [
        ["unsigned", () => Promise.resolve(undefined)],
        ["nobody's", () => Promise.resolve(`v1.${"0".repeat(32)}.${"0".repeat(64)}`)],
        ...[
          { update: "finish" },
          { workflowId: other.workflowId },
          elsewhere,
          { updateId: "another" },
          { question: "9.9" },
        ].map(
          (one) =>
            [
              JSON.stringify(one),
              (updateId: string) =>
                sign(updateStatement({ update, ...place, ...asked, updateId, ...one }, argument)),
            ] as const,
        ),
        ...(altered === argument || Object.keys(altered).length === 0
          ? []
          : [
              [
                "made for other words",
                (updateId: string) =>
                  sign(updateStatement({ update, ...place, ...asked, updateId }, altered)),
              ] as const,
            ]),
      ];
      for (const [name, signatureOf] of wrongly) {
        const updateId = randomUUID();
        const signature = await signatureOf(updateId);
        const attack = { ...argument, ...(signature === undefined ? {} : { signature }) };
        const outcome = await tellRaw(handle, bench, update, attack, updateId);
        expect([update, name, outcome]).toEqual([update, name, expect.stringContaining("is not signed")]);
        expect(told(await handle.state())).toEqual(told(state));
      }
    }
    // What was made for this run says nothing to the other one.
    const updateId = randomUUID();
    const stolen = await sign(updateStatement({ update: "answer", ...place, question, updateId }, answer));
    const theirs = await tellRaw(other, bench, "answer", { ...answer, signature: stolen }, updateId);
    expect(theirs).toContain("is not signed");
    expect((await other.state()).phase).toBe("waiting-user");

    expect(await client.handle(handle.runId).raiseBudget({ add: { turns: 10 } })).toEqual({
      run: { turns: 110 },
    });
    await client.handle(handle.runId).pause();
    await client.handle(handle.runId).resume();
    await client.handle(handle.runId).answer(answer);
    await expect(handle.result()).resolves.toMatchObject({ phase: "completed" });
  });

  test("two good answers at once are one: the question is answered by the first", async () => {
    const { client, request } = await openSigned();
    const handle = await client.start(request);
    const { question } = await until(handle, "waiting-user");
    const answer = { nodeId: question?.nodeId ?? "", text: "The customer's." };
    const taken = await Promise.allSettled([1, 2, 3].map(() => client.handle(handle.runId).answer(answer)));
    expect(taken.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    await expect(handle.result()).resolves.toMatchObject({ phase: "completed" });
  });

  test("that a stranger has told before under the id of the question keeps nobody from answering it on the page", async () => {
    const { bench, client, request } = await openSigned();
    const run = await client.start(request);
    await until(run, "waiting-user");
    const answer = { nodeId: "ask", question: "1.1", text: "The customer's." };
    const foreign = bench.client.handle(run.runId).answer({ ...answer, answerId: "page-1.1" });
    await expect(foreign).rejects.toMatchObject(REFUSED);
    const { browser } = await openPage({ ...bench, client });
    for (const _ of ["sent", "sent again"]) await browser.ask("answer", { run: run.runId, ...answer });
    await expect(run.result()).resolves.toMatchObject({ phase: "completed" });
  });

  test("that was observed is not taken again by the next execution of its run", async () => {
    const { bench, client, request } = await openSigned();
    const handle = await client.start(request);
    await until(handle, "waiting-user");
    await client.handle(handle.runId).pause();
    const { events } = await handle.history();
    const seen = events?.find((event) => event.workflowExecutionUpdateAcceptedEventAttributes);
    const asked = seen?.workflowExecutionUpdateAcceptedEventAttributes?.acceptedRequest;
    const [payload] = asked?.input?.args?.payloads ?? [];
    const argument = JSON.parse(Buffer.from(payload?.data ?? "").toString("utf8")) as object;
    expect(argument).toMatchObject({ signature: expect.stringMatching(/^v1\./) as string });
    await cancelled(handle);
    const retried = await client.retry(handle.runId);
    await until(retried, "waiting-user");
    expect(await tellRaw(retried, bench, "pause", argument, asked?.meta?.updateId ?? "")).toContain(
      "is not signed",
    );
    expect((await retried.state()).paused).toBe(false);
  });

  test("that ends a bundle run needs a signature as well", async () => {
    const { bench, client } = await openSigned(() => ({ content: "What now?" }));
    const room = await copyRoom(bench.dir);
    const handle = await client.startBundle({ ...room, projectRoot: bench.projectRoot });
    await until(handle, "waiting-user");
    expect(await tellRaw(handle, bench, "finish", {}, randomUUID())).toContain("is not signed");
    expect((await handle.state()).phase).toBe("waiting-user");
    await client.handle(handle.runId).finish();
    await expect(handle.result()).resolves.toMatchObject({ phase: "completed" });
  });
});

describe("a worker that is set to signed starts", () => {
  test(
    "ends a run that was begun without, before it goes on, and a signed retry lets it go on",
    { tags: "slow" },
    async () => {
      const bench = await openBench(asksFirst);
      const handle = await bench.start(twoNodePackage());
      const { question } = await until(handle, "waiting-user");
      await bench.stopWorker();
      const worker = await startWorker(
        { ...bench.config, starts: "signed" },
        {
          connection: { address: bench.environment["TEMPORAL_ADDRESS"] ?? "" },
          namespace: "default",
          store: bench.store,
        },
      );
      onTestFinished(() => worker.shutdown());
      const asked = bench.model.requests.length;
      await handle.answer({ nodeId: question?.nodeId ?? "", text: "The customer's." });
      await expect(handle.result()).rejects.toMatchObject({
        code: "E_PRECONDITION_FAILED",
        message: expect.stringContaining(`interlock retry ${handle.runId}`) as string,
      });
      expect(bench.model.requests.length).toBe(asked);
      expect((await bench.auditEvents(handle)).filter(({ kind }) => kind === "user.input")).toEqual([]);
      const shell = shellOf(bench, { INTERLOCK_STARTS: "signed" });
      expect((await shell.run(["retry", handle.runId, "--detach"])).code).toBe(0);
      await until(handle, "waiting-user");
      expect((await shell.run(["answer", handle.runId, "The customer's."])).code).toBe(0);
      await expect(handle.result()).resolves.toMatchObject({ phase: "completed" });
    },
  );
});

/** Whatever forms the secret of a store could be written in. */
function formsOf(secret: Buffer): readonly string[] {
  const hex = secret.toString("hex");
  const base64 = secret.toString("base64").replace(/=+$/, "");
  return [
    hex,
    hex.toUpperCase(),
    base64,
    secret.toString("base64url"),
    Buffer.from(hex).toString("base64").replace(/=+$/, ""),
    secret.toString("latin1"),
  ];
}

describe("the command line", () => {
  test("whoever cannot sign is not let watch a run, and is told so at once", async () => {
    const { bench, client, request } = await openSigned();
    const handle = await client.start(request);
    await until(handle, "waiting-user");
    const watched = await (await strangerShell(bench)).run(["watch", handle.runId], "", 30_000);
    expect(watched).toMatchObject({ code: 1, stdout: "" });
    expect(watched.stderr).toContain("asked only by who can sign");
    await cancelled(handle);
  });

  test(
    "prints what the Temporal CLI starts a run with, once; commands sign; the secret is nowhere",
    { tags: "slow" },
    async () => {
      const { bench, request } = await openSigned();
      // A command that is not told so signs as well: the store has a secret.
      const shell = shellOf(bench, { INTERLOCK_STARTS: "" });
      const said: string[] = [];
      const interlock = async (...args: string[]) => {
        const outcome = await shell.run(args);
        said.push(outcome.stdout, outcome.stderr);
        return outcome;
      };
      const printed = jsonOf(
        await interlock("run", request.packageId, "--project", bench.projectRoot, "--print-input"),
      ) as { workflowId: string; type: string; taskQueue: string; input: object };
      expect(await bench.store.runs.listAllRuns()).toEqual([]);
      expect(printed).toMatchObject({ type: "graphRun", taskQueue: bench.store.taskQueue });
      const { path } = await findTemporalCli({
        cacheDir: inject("cacheDir"),
        pathVariable: process.env["PATH"] ?? "",
      });
      const { workflowId, type, taskQueue, input } = printed;
      const env = { ...shell.environment, PATH: dirname(path) };
      const start = (id: string) =>
        run(
          path,
          [
            "workflow",
            "start",
            "--type",
            type,
            "--task-queue",
            taskQueue,
            "--workflow-id",
            id,
            "--input",
            JSON.stringify(input),
          ],
          { env },
        );
      await start(`story-${randomUUID()}`);
      await start(workflowId);
      const handle = bench.client.handle(workflowId);
      await until(handle, "waiting-user");
      expect(await bench.store.runs.listAllRuns()).toHaveLength(1);
      for (const args of [["pause"], ["resume"], ["cancel"], ["retry", "--detach"]]) {
        const [command = "", ...more] = args;
        expect([args, (await interlock(command, workflowId, ...more)).code]).toEqual([args, 0]);
      }
      await until(handle, "waiting-user");
      expect((await interlock("answer", workflowId, "The customer's.")).code).toBe(0);
      await expect(handle.result()).resolves.toMatchObject({ phase: "completed" });
      const bundle = await copyRoom(bench.dir);
      const ofBundle = await interlock(
        "bundle",
        "run",
        join(bundle.bundleRoot, bundle.workflowPath),
        "--project",
        bench.projectRoot,
        "--print-input",
      );
      expect(jsonOf(ofBundle)).toMatchObject({
        type: "bundleRun",
        input: { signature: expect.any(String) as string },
      });

      const output = join(bench.dir, "run.zip");
      expect((await interlock("export", workflowId, "--output", output)).code).toBe(0);
      const secret = Buffer.from(
        (await readFile(join(bench.store.dir, "starts.secret"), "utf8")).trim(),
        "hex",
      );
      const forms = formsOf(secret);
      const files = Object.entries(await readTree(bench.dir)).filter(
        ([name]) => !name.endsWith("/starts.secret"),
      );
      const histories = (await handle.histories()).map((history) => historyToJSON(history));
      const texts = [
        ...said,
        ...histories,
        ...files.map(([, bytes]) => bytes.toString("latin1")),
        JSON.stringify(await handle.state()),
      ];
      expect(files.some(([name]) => name.endsWith("run.zip"))).toBe(true);
      for (const form of forms) expect(texts.some((text) => text.includes(form))).toBe(false);
      const { stdout } = await run("unzip", ["-p", output], { encoding: "latin1", maxBuffer: 1 << 28 }).catch(
        () => ({ stdout: "" }),
      );
      for (const form of forms) expect(stdout.includes(form)).toBe(false);
      expect(await readdir(join(bench.store.dir, "starts"))).not.toEqual([]);
    },
  );
});

test("a store that takes all starts has no secret, and its histories hold no event and no field of signatures", async () => {
  const bench = await openBench(asksFirst);
  const handle = await bench.start(twoNodePackage());
  const { question } = await until(handle, "waiting-user");
  await handle.pause();
  await handle.resume();
  await handle.answer({ nodeId: question?.nodeId ?? "", text: "The customer's." });
  await handle.result();
  const names = await readdir(bench.store.dir);
  expect(names.filter((name) => name.startsWith("starts"))).toEqual([]);
  const text = historyToJSON(await handle.history());
  const { events } = await handle.history();
  expect(text).not.toContain("update.verify");
  expect(JSON.stringify(events)).not.toContain("signature");
});

test("a run that goes on and cannot be opened ends, and whoever has raised its budget meanwhile hears so", async () => {
  const { bench, client, request } = await openSigned();
  const run = await client.start({ ...request, budget: { run: { turns: 10 } } });
  await until(run, "waiting-user");
  await run.cancel();
  await expect(run.result()).rejects.toMatchObject({ code: "ENGINE_ABORTED" });
  const { dir, stateDir } = await bench.filesOf(run);
  let letGo: () => void = () => undefined;
  const held = withFileLock(join(dir, "execution.lock"), () => new Promise<void>((done) => (letGo = done)));
  const again = await client.retry(run.runId);
  const raised = again.raiseBudget({ add: { turns: 1 } }).catch((error: unknown) => error);
  const handle = bench.client.temporal.workflow.getHandle(`run-${run.runId}`);
  await eventually(async () =>
    ((await handle.fetchHistory()).events ?? []).some(
      (event) => event.workflowExecutionUpdateAcceptedEventAttributes,
    ),
  );
  await writeFile(join(stateDir, "workflow.md"), "no document");
  letGo();
  await held;
  await expect(again.result()).rejects.toMatchObject({ code: expect.stringMatching(/^E_/) as string });
  expect(await raised).toMatchObject({ code: "E_PRECONDITION_FAILED" });
});

test("what a run is told side by side while it works leads its history to the same decisions when it is replayed", async () => {
  const { bench, client, request } = await openSigned(roundAndRound);
  const { packageId } = valueOf(await bench.store.packages.install(await circleIn(bench)));
  const limits = { maxTurnsPerRun: 10_000 };
  const run = await client.start({ ...request, packageId, limits, budget: { run: { turns: 10_000 } } });
  await tellSideBySide(run, 15);
  await run.cancel();
  await expect(run.result()).rejects.toMatchObject({ code: "ENGINE_ABORTED" });
  const history = await bench.client.temporal.workflow.getHandle(`run-${run.runId}`).fetchHistory();
  expect(await replayHistory(history)).toMatchObject({ ok: true });
});

async function circleIn({ dir }: Bench): Promise<string> {
  const path = join(dir, `package-${randomUUID()}`);
  await writeTree(path, circlePackage());
  return path;
}
