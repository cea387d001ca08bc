import { randomUUID } from "node:crypto";
import { defaultPayloadConverter } from "@temporalio/common";
import { describe, expect, test } from "vitest";
import { type InterlockClient, type RunHandle } from "../../src/client/client.js";
import { eventually } from "../fakes/eventually.js";
import { firstWay, nestedPackage, nodesAsked } from "../fakes/nested-package.js";
import {
  type ChatRequestBody,
  type Script,
  type ScriptedAnswer,
  call,
  patch,
} from "../fakes/scripted-model.js";
import { intentOf, nodeOf, wordsIn } from "../fakes/walk.js";
import { type Bench, openBench, signedClient, until } from "./harness.js";
import { jsonOf, shellOf } from "./shell.js";

const END = { type: "end" };
const nested = nestedPackage({
  main: { nodes: { plan: {}, parts: { type: "subworkflow", workflow: "part" }, done: END } },
  part: { nodes: { draft: {}, ready: END } },
});

/** The walk, but for what a test says at some nodes. */
const script =
  (said: Readonly<Record<string, (request: ChatRequestBody) => ScriptedAnswer | undefined>>): Script =>
  (request) =>
    said[nodeOf(request)]?.(request) ?? firstWay(request);

/** Whether it is listed as one that waits. */
async function isListed({ client }: Bench, { runId }: RunHandle): Promise<boolean> {
  return (await client.runs({ phases: ["waiting-user"] }, 1_000)).some((run) => run.runId === runId);
}

/** The run below, once there is one. */
async function runBelow(bench: Bench, run: RunHandle): Promise<RunHandle> {
  let found: string | undefined;
  await eventually(async () => {
    found = (await run.state()).below?.runId;
    return found !== undefined;
  });
  return bench.client.handle(found ?? "");
}

/** What the first execution of a run was started with. */
async function startOf({ temporal }: InterlockClient, runId: string): Promise<{ signature?: string }> {
  const { events } = await temporal.workflow.getHandle(`run-${runId}`).fetchHistory();
  const [payload] = events?.[0]?.workflowExecutionStartedEventAttributes?.input?.payloads ?? [];
  return defaultPayloadConverter.fromPayload(payload ?? {});
}

describe("a subworkflow", () => {
  test("is a run of its own, and what it has written and used is the run's above as well", async () => {
    const write = call("fs_write", { path: "@project/artifacts/part.md", content: "part\n" });
    const bench = await openBench((request) => {
      const onwards = firstWay(request);
      if (nodeOf(request) !== "draft" || request.messages.at(-1)?.role === "tool") return onwards;
      return { calls: [write] };
    });
    const run = await bench.start(nested, { workflowRef: "main", input: "Paint it." });
    await expect(run.result()).resolves.toMatchObject({
      stepsCompleted: ["plan", "parts", "done"],
      artifacts: ["artifacts/part.md"],
      usage: { modelTurns: 5 },
    });
    expect(nodesAsked(bench.model.requests)).toEqual(["plan", "draft", "draft", "ready", "done"]);
    const [above, below] = await bench.store.runs.listAllRuns();
    expect(above).toMatchObject({ runId: run.runId, workflowRef: "main", phase: "completed" });
    expect(below).toMatchObject({ parentRunId: run.runId, workflowRef: "part", phase: "completed" });
    const { workflowExecutionInfo: known } =
      await bench.client.temporal.workflowService.describeWorkflowExecution({
        namespace: "default",
        execution: { workflowId: `run-${below?.runId}` },
      });
    expect(known?.parentExecution?.workflowId).toBe(`run-${run.runId}`);
    await expect(bench.client.handle(below?.runId ?? "").result()).resolves.toMatchObject({
      artifacts: ["artifacts/part.md"],
      usage: { modelTurns: 3 },
    });
    expect((await bench.document(run)).frontmatter).toMatchObject({ artifacts: ["artifacts/part.md"] });
    const [pass] = (await bench.auditEvents(run)).filter(({ kind }) => kind === "node.pass");
    expect(pass).toMatchObject({
      nodeId: "parts",
      next: "done",
      childRunId: below?.runId,
      workflow: "part",
      modelTurns: 3,
    });
  });

  test("is not passed over by an answer that moves on and on", async () => {
    const bench = await openBench((request) => {
      if (nodeOf(request) !== "plan") return firstWay(request);
      const to = (done: string, next: string) =>
        patch({ stepsCompleted: { append: [done] }, currentNodeId: { set: next } });
      return { calls: [to("plan", "parts"), to("parts", "done")] };
    });
    const run = await bench.start(nested, { workflowRef: "main", input: "Paint it." });
    await expect(run.result()).resolves.toMatchObject({ stepsCompleted: ["plan", "parts", "done"] });
    expect(nodesAsked(bench.model.requests)).toEqual(["plan", "draft", "ready", "done"]);
    const refused = (await bench.auditEvents(run)).filter(({ kind }) => kind === "tool.exec");
    expect(JSON.stringify(refused)).toContain("has not run yet");
  });

  test("begins with the variables that it takes and with the story, and hands up what it makes of them", async () => {
    const told = (request: ChatRequestBody, name: string) =>
      request.messages.findLast(({ content }) => content?.includes(name))?.content ?? "";
    const onwards = (next: string, set: object) =>
      patch({ variables: { set }, stepsCompleted: { append: ["x"] }, currentNodeId: { set: next } });
    const bench = await openBench(
      script({
        plan: () => ({ calls: [onwards("parts", { tone: "warm", secret: 1 })] }),
        draft: (request) =>
          request.messages.at(-1)?.role === "tool"
            ? { calls: [onwards("ready", { verdict: { ok: true }, own: 2 })] }
            : { calls: [call("state_record", { gateDecisions: { qaGate: "PASS" } })] },
      }),
    );
    const handing = nestedPackage({
      main: {
        nodes: {
          plan: { sets: ["tone"] },
          parts: { type: "subworkflow", workflow: "part", inputs: ["variables.tone"], sets: ["verdict"] },
          done: END,
        },
      },
      part: { nodes: { draft: { sets: ["verdict"] }, ready: END } },
    });
    const run = await bench.start(handing, { workflowRef: "main", storyId: "wrkf-7" });
    await run.result();
    const below = (await bench.store.runs.listAllRuns()).find(({ parentRunId }) => parentRunId === run.runId);
    const child = bench.client.handle(below?.runId ?? "");
    expect((await bench.document(child)).frontmatter["variables"]).toEqual({
      tone: "warm",
      verdict: { ok: true },
      own: 2,
    });
    expect((await bench.document(run)).frontmatter["variables"]).toEqual({
      tone: "warm",
      secret: 1,
      verdict: { ok: true },
    });
    expect(await child.graphState()).toMatchObject({ storyId: "wrkf-7", gateDecisions: { qaGate: "PASS" } });
    expect(await run.graphState()).toMatchObject({ gateDecisions: { qaGate: "PASS" } });
    const done = bench.model.requests.find((request) => nodeOf(request) === "done");
    expect(done && told(done, "qaGate")).toContain("PASS");
  });

  test(
    "asks as a run of its own, and the run above says what it waits for and takes no turn",
    { tags: "slow" },
    async () => {
      const bench = await openBench(
        script({
          draft: (request) => (wordsIn(request).length < 2 ? { content: "Which colour?" } : undefined),
        }),
      );
      const run = await bench.start(nested, { workflowRef: "main", input: "Paint it." });
      const below = await runBelow(bench, run);
      const asking = await until(below, "waiting-user");
      expect(asking).toMatchObject({ parentRunId: run.runId, question: { text: "Which colour?" } });
      await eventually(() => isListed(bench, below)); // listings are behind
      const shell = shellOf(bench);
      const [above, asked, inbox] = await Promise.all([
        shell.run(["status", run.runId]),
        shell.run(["status", below.runId]),
        shell.run(["inbox", "--json"]),
      ]);
      const [listed, table] = await Promise.all([shell.run(["runs", "--json"]), shell.run(["runs"])]);
      expect(jsonOf(listed)).toEqual(
        expect.arrayContaining([
          expect.objectContaining({ runId: below.runId, parentRunId: run.runId, phase: "waiting-user" }),
          expect.not.objectContaining({ parentRunId: expect.anything() as unknown }),
        ]),
      );
      expect(table.stdout).toContain(`, part of ${run.runId.slice(0, 8)}`);
      expect(above.stdout).toContain("running");
      expect(above.stdout).toContain(`waits for   run ${below.runId} of part`);
      expect(asked.stdout).toContain(`part of     run ${run.runId}`);
      expect(inbox.stdout).toContain(below.runId);
      expect(inbox.stdout).not.toContain(`run-${run.runId}`);
      expect(nodesAsked(bench.model.requests)).toEqual(["plan", "draft"]);
      await below.answer({ nodeId: "draft", text: "Blue." });
      await expect(run.result()).resolves.toMatchObject({ stepsCompleted: ["plan", "parts", "done"] });
      expect(await run.state()).not.toHaveProperty("below");
    },
  );

  test("at the beginning is told the user's first words, and so is the first node above that is worked at", async () => {
    const bench = await openBench(firstWay);
    const first = nestedPackage({
      main: { nodes: { parts: { type: "subworkflow", workflow: "part" }, done: END } },
      part: { nodes: { ready: END } },
    });
    const run = await bench.start(first, { workflowRef: "main", input: "Paint it." });
    await expect(run.result()).resolves.toMatchObject({ usage: { modelTurns: 2 } });
    expect(bench.model.requests.map((request) => [nodeOf(request), ...wordsIn(request)])).toEqual([
      ["ready", "Paint it."],
      ["done", "Paint it."],
    ]);
    expect(bench.model.requests.map(intentOf)).toEqual(["start", "start"]);
  });

  test("may run another one, and each run knows the one above it", async () => {
    const bench = await openBench(firstWay);
    const deep = nestedPackage({
      main: { nodes: { one: { type: "subworkflow", workflow: "middle" }, done: END } },
      middle: { nodes: { two: { type: "subworkflow", workflow: "bottom" }, mid: END } },
      bottom: { nodes: { end: END } },
    });
    const run = await bench.start(deep, { workflowRef: "main" });
    await expect(run.result()).resolves.toMatchObject({ usage: { modelTurns: 3 } });
    expect(nodesAsked(bench.model.requests)).toEqual(["end", "mid", "done"]);
    const runs = await bench.store.runs.listAllRuns();
    expect(runs.map(({ workflowRef }) => workflowRef)).toEqual(["main", "middle", "bottom"]);
    expect(runs.map(({ parentRunId }) => parentRunId)).toEqual([undefined, runs[0]?.runId, runs[1]?.runId]);
  });

  test("is refused where runs lie too deep already, whoever says so", async () => {
    const bench = await openBench(firstWay);
    const parent = { runId: randomUUID(), depth: 4 };
    const run = await bench.start(nested, { workflowRef: "main", parent });
    await expect(run.result()).rejects.toMatchObject({
      code: "E_PRECONDITION_FAILED",
      message:
        "parts would be run 5 below the first one: at most 4 may be. Call fewer subworkflows inside one another.",
    });
  });

  test("is walked by a rehearsal as well", async () => {
    const bench = await openBench([]);
    const run = await bench.start(nested, { workflowRef: "main", rehearsal: {} });
    await expect(run.result()).resolves.toMatchObject({ stepsCompleted: ["plan", "parts", "done"] });
    const runs = await bench.store.runs.listAllRuns();
    expect(runs.map(({ phase }) => phase)).toEqual(["completed", "completed"]);
    expect(bench.model.requests).toEqual([]);
  });

  test("may use what is left of the budget, and what it has used is used", async () => {
    const bench = await openBench(firstWay);
    const run = await bench.start(nested, { workflowRef: "main", budget: { run: { turns: 2 } } });
    const below = await runBelow(bench, run);
    await expect(until(below, "waiting-user")).resolves.toMatchObject({
      budget: { run: { turns: 1 } },
      usage: { modelTurns: 1 },
    });
    const raised = await shellOf(bench).run(["budget", run.runId, "--add-turns", "1"]);
    expect(raised.stdout).toContain(`waits for its own: raise it with interlock budget ${below.runId} `);
    await below.raiseBudget({ add: { turns: 1 } });
    await expect(below.result()).resolves.toMatchObject({ usage: { modelTurns: 2 } });
    const waiting = await until(run, "waiting-user");
    expect(waiting).toMatchObject({
      question: { nodeId: "done", code: "BUDGET_EXCEEDED" },
      usage: { modelTurns: 3 },
    });
    await run.raiseBudget({ add: { turns: 1 } });
    await expect(run.result()).resolves.toMatchObject({ usage: { modelTurns: 4 } });
  });

  test("of a fork is a run of the fork's own", async () => {
    const bench = await openBench(firstWay);
    const run = await bench.start(nested, { workflowRef: "main" });
    await run.result();
    const fork = await bench.client.fork(run.runId, { fromNode: "parts" });
    await expect(fork.result()).resolves.toMatchObject({ stepsCompleted: ["plan", "parts", "done"] });
    const runs = await bench.store.runs.listAllRuns();
    expect(runs.map(({ parentRunId }) => parentRunId)).toEqual([undefined, run.runId, undefined, fork.runId]);
    expect(new Set(runs.map(({ runId }) => runId)).size).toBe(4);
    const ofPart = await bench.client.fork(runs[1]?.runId ?? "", { visit: 1 });
    await expect(ofPart.result()).resolves.toMatchObject({ stepsCompleted: ["draft", "ready"] });
    const alone = (await bench.store.runs.listAllRuns()).find(({ runId }) => runId === ofPart.runId);
    expect([alone?.workflowRef, alone?.parentRunId]).toEqual(["part", undefined]); // no run waits for it
  });

  test("of a signed run is signed by the worker, for itself alone", async () => {
    const bench = await openBench(firstWay, { INTERLOCK_STARTS: "signed" });
    const { client } = await signedClient(bench);
    const run = await bench.start(nested, { workflowRef: "main" }, client);
    await expect(run.result()).resolves.toMatchObject({ stepsCompleted: ["plan", "parts", "done"] });
    const below = (await bench.store.runs.listAllRuns()).find(({ parentRunId }) => parentRunId === run.runId);
    const files = await bench.filesOf({ runId: below?.runId ?? "" });
    const kept = await files.request.read();
    expect(kept).toMatchObject({ signed: true, input: { parent: { runId: run.runId, depth: 1 } } });
    // Whoever observed the start cannot make another run of it.
    const { signature } = await startOf(client, below?.runId ?? "");
    expect(signature).toMatch(/^v1\./);
    const stolen = { ...kept?.input, runId: randomUUID(), signature };
    await expect(
      client.temporal.workflow.execute("graphRun", {
        workflowId: `run-${stolen.runId}`,
        taskQueue: bench.store.taskQueue,
        args: [stolen],
      }),
    ).rejects.toMatchObject({ cause: { type: "E_PRECONDITION_FAILED" } });
  });
});
