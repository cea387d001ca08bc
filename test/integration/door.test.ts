import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { Client, WorkflowFailedError, type WorkflowHandle } from "@temporalio/client";
import { ApplicationFailure, type Payload } from "@temporalio/common";
import { describe, expect, test } from "vitest";
import { twoNodePackage } from "../fakes/two-node-package.js";
import { valueOf } from "../fakes/run-world.js";
import { STRAIGHT, straightOn } from "../fakes/walk.js";
import { type Bench, openBench, until, writeTree } from "./harness.js";

/** The longest that a run which nobody refuses may stay open: it is then a finding, not a hanging test. */
const GIVEN_UP = "4 minutes";

async function install(bench: Bench): Promise<string> {
  const dir = join(bench.dir, `package-${randomUUID()}`);
  await writeTree(dir, twoNodePackage());
  return valueOf(await bench.store.packages.install(dir)).packageId;
}

function start(
  bench: Bench,
  args: readonly unknown[],
  workflowId = `run-${randomUUID()}`,
  type = "graphRun",
) {
  return bench.client.temporal.workflow.start(type, {
    taskQueue: bench.store.taskQueue,
    workflowId,
    args: [...args],
    workflowExecutionTimeout: GIVEN_UP,
  });
}

/** What a run failed with, and what its history holds beside its beginning and its end. */
async function refusalOf(handle: WorkflowHandle) {
  const error: unknown = await handle.result().catch((problem: unknown) => problem);
  const failure = error instanceof WorkflowFailedError ? error.cause : error;
  const { events = [] } = await handle.fetchHistory();
  const types = (events ?? []).map(({ eventType }) => String(eventType));
  return {
    code: failure instanceof ApplicationFailure ? failure.type : String(error),
    nonRetryable: failure instanceof ApplicationFailure ? failure.nonRetryable : undefined,
    message: failure instanceof Error ? failure.message : "",
    failedTasks: (events ?? []).filter((event) => event.workflowTaskFailedEventAttributes).length,
    activities: (events ?? []).filter((event) => event.activityTaskScheduledEventAttributes).length,
    types,
  };
}

/** An update with whatever arguments. */
function tell(handle: WorkflowHandle, name: string, args: readonly unknown[]): Promise<unknown> {
  return handle.executeUpdate<unknown, [unknown]>(name, { args: [...args] as [unknown] }); // more or fewer, on purpose
}

const REFUSED = { code: "E_SCHEMA_VALIDATION", nonRetryable: true, failedTasks: 0, activities: 0 };
/** A text that names no directory by its absolute path is none that a run may open. */
const NO_ROOT = ["a project that is relative", "a project with a NUL", "a project with a very long path"];
const codeFor = (what: string) => (NO_ROOT.includes(what) ? { code: "E_SANDBOX_VIOLATION" } : undefined);

let deep: unknown = "end";
for (let level = 0; level < 300; level += 1) deep = [deep];

/** What is wrong, as the place that the message has to name, and the arguments made of a valid input. */
const INPUTS: readonly [string, string, (valid: Record<string, unknown>) => readonly unknown[]][] = [
  ["no argument", "input", () => []],
  ["null", "input", () => [null]],
  ["a number", "input", () => [5]],
  ["a text", "input", () => ["graph"]],
  ["a list", "input", (valid) => [[valid]]],
  ["an empty object", "projectRoot", () => [{}]],
  ["two arguments", "input", (valid) => [valid, valid]],
  ["carried values that are a number", "carried", (valid) => [{ ...valid, carried: 5 }]],
  ["carried values that nobody carried", "carried", (valid) => [{ ...valid, carried: { phase: "running" } }]],
  [
    "a limit below one",
    "limits.maxModelAttempts",
    (valid) => [{ ...valid, limits: { maxModelAttempts: -5 } }],
  ],
  ["a limit of zero", "limits.maxTurnsPerRun", (valid) => [{ ...valid, limits: { maxTurnsPerRun: 0 } }]],
  [
    "a limit beyond all measure",
    "limits.maxTurnsPerNode",
    (valid) => [{ ...valid, limits: { maxTurnsPerNode: 1e300 } }],
  ],
  ["a limit that is none", "limits", (valid) => [{ ...valid, limits: { constructor: 1 } }]],
  ["limits that are null", "limits", (valid) => [{ ...valid, limits: null }]],
  ["a project that is an object", "projectRoot", (valid) => [{ ...valid, projectRoot: {} }]],
  ["a project that is null", "projectRoot", (valid) => [{ ...valid, projectRoot: null }]],
  ["a project that is relative", "projectRoot", (valid) => [{ ...valid, projectRoot: "." }]],
  ["a project with a NUL", "projectRoot", (valid) => [{ ...valid, projectRoot: "/srv/\u0000x" }]],
  [
    "a project with a very long path",
    "projectRoot",
    (valid) => [{ ...valid, projectRoot: `/${"x".repeat(9_000)}` }],
  ],
  ["a package that is a number", "packageId", (valid) => [{ ...valid, packageId: 7 }]],
  ["a package without a name", "packageId", (valid) => [{ ...valid, packageId: "" }]],
  ["a run id that is no UUID", "runId", (valid) => [{ ...valid, runId: "../../etc" }]],
  ["a run id in upper case", "runId", (valid) => [{ ...valid, runId: randomUUID().toUpperCase() }]],
  ["a store id that is an object", "storeId", (valid) => [{ ...valid, storeId: {} }]],
  ["a budget with an unknown unit", "budget.run", (valid) => [{ ...valid, budget: { run: { steps: 1 } } }]],
  ["a budget below zero", "budget", (valid) => [{ ...valid, budget: { node: { tokens: -1 } } }]],
  [
    "a budget that is no number",
    "budget.run.turns",
    (valid) => [{ ...valid, budget: { run: { turns: Number.NaN } } }],
  ],
  ["a rehearsal that is a text", "rehearsal", (valid) => [{ ...valid, rehearsal: "yes" }]],
  [
    "search attributes that are a text",
    "searchAttributes",
    (valid) => [{ ...valid, searchAttributes: "no" }],
  ],
  ["a resumption that is a text", "resume", (valid) => [{ ...valid, resume: "true" }]],
  ["words that are a number", "input", (valid) => [{ ...valid, input: 7 }]],
  ["an unknown field", "yolo", (valid) => [{ ...valid, yolo: true }]],
  ["a field of every object", "constructor", (valid) => [{ ...valid, constructor: {} }]],
  ["a fork of nothing", "fork.runId", (valid) => [{ ...valid, fork: {} }]],
  [
    "a fork before the beginning",
    "fork.visit",
    (valid) => [{ ...valid, fork: { runId: randomUUID(), visit: -1 } }],
  ],
  [
    "a fork with bottomless variables",
    "fork.set",
    (valid) => [{ ...valid, fork: { runId: randomUUID(), set: { deep } } }],
  ],
  [
    "a fork with a prototype",
    "__proto__",
    (valid) => [{ ...valid, fork: { runId: randomUUID(), set: JSON.parse('{"__proto__":{}}') } }],
  ],
  ["a story that is none", "storyId", (valid) => [{ ...valid, storyId: "x" }]],
  ["an epic without a story", "storyId", (valid) => [{ ...valid, epicPrefix: "wrkf" }]],
];

describe("M1: what a run is started with is parsed at the door", () => {
  test("what is no input fails the run at once, and the failure names the field", async () => {
    const bench = await openBench(straightOn);
    const valid = { projectRoot: bench.projectRoot, packageId: await install(bench) };
    const outcomes = await Promise.all(
      INPUTS.map(async ([what, place, argumentsOf]) => {
        const { types: _, message, ...refusal } = await refusalOf(await start(bench, argumentsOf(valid)));
        return [what, { ...refusal, names: message.includes(place) ? place : message }] as const;
      }),
    );
    expect(outcomes).toEqual(
      INPUTS.map(([what, place]) => [what, { ...REFUSED, ...codeFor(what), names: place }]),
    );
    const tooLong = { ...valid, input: "ä".repeat(40_000) };
    const words = await refusalOf(await start(bench, [tooLong]));
    expect(words).toMatchObject({ ...REFUSED, code: "E_PRECONDITION_FAILED" });
    expect(words.message).toContain("Put longer texts into a project file");
    expect(await bench.store.runs.listAllRuns()).toEqual([]);
    expect(bench.model.requests).toEqual([]);
  });

  test("the same for bundle runs", async () => {
    const bench = await openBench(straightOn);
    const { projectRoot } = bench;
    const valid = { projectRoot, bundleRoot: bench.dir, workflowPath: "workflows/x/workflow.yaml" };
    const inputs: readonly [string, unknown][] = [
      ["projectRoot", { ...valid, projectRoot: 1 }],
      ["bundleRoot", { ...valid, bundleRoot: "relative" }],
      ["workflowPath", { projectRoot, bundleRoot: bench.dir }],
      ["outputRoot", { ...valid, outputRoot: [] }],
      ["sessionId", { ...valid, sessionId: {} }],
      ["yolo", { ...valid, yolo: 1 }],
      ["packageId", { ...valid, packageId: "x" }],
      ["carried", { ...valid, carried: null }],
    ];
    for (const [place, input] of inputs) {
      const refusal = await refusalOf(await start(bench, [input], undefined, "bundleRun"));
      const code = place === "bundleRoot" ? { code: "E_SANDBOX_VIOLATION" } : undefined;
      expect(refusal).toMatchObject({
        ...REFUSED,
        ...code,
        message: expect.stringContaining(place) as string,
      });
    }
  });

  test("an input that the worker cannot decode fails the run at once", async () => {
    const bench = await openBench(straightOn);
    const { connection } = bench.client.temporal;
    const encodings: readonly [string, string][] = [
      ["binary/encrypted", "secret"],
      ["json/plain", "{not json"],
      ["json/plain", `${"[".repeat(500_000)}${"]".repeat(500_000)}`],
      ["json/plain", "1e999"],
      ["json/protobuf", "{}"],
      ["binary/plain", "bytes"],
    ];
    for (const [encoding, text] of encodings) {
      const foreign: Payload = {
        metadata: { encoding: Buffer.from(encoding) },
        data: Buffer.from(text),
      };
      const payloadCodecs = [
        {
          encode: () => Promise.resolve([foreign]),
          decode: (payloads: Payload[]) => Promise.resolve(payloads),
        },
      ];
      const client = new Client({ connection, dataConverter: { payloadCodecs } });
      const handle = await client.workflow.start("graphRun", {
        taskQueue: bench.store.taskQueue,
        workflowId: `run-${randomUUID()}`,
        args: ["anything"],
        memo: { note: "encoded as well" },
        workflowExecutionTimeout: GIVEN_UP,
      });
      const refusal = await refusalOf(bench.client.temporal.workflow.getHandle(handle.workflowId));
      expect([encoding, refusal]).toMatchObject([encoding, REFUSED]);
    }
  });

  test("a run that was refused says so to whoever asks", async () => {
    const bench = await openBench(straightOn);
    const handle = await start(bench, [{ projectRoot: 5 }]);
    await refusalOf(handle);
    const state = await bench.client.handle(handle.workflowId).state();
    expect(state).toMatchObject({ phase: "failed", failure: { code: "E_SCHEMA_VALIDATION" } });
  });
});

describe("M1: what a run is told is parsed at the door", () => {
  test("updates that are none are refused with a reason, and the run goes on waiting", async () => {
    const bench = await openBench([{ content: "Which?" }, ...STRAIGHT]);
    const run = await bench.start(twoNodePackage(), { budget: { run: { turns: 9 } } });
    await until(run, "waiting-user");
    const handle = bench.client.temporal.workflow.getHandle(`run-${run.runId}`);
    const refused: readonly [string, readonly unknown[]][] = [
      ["answer", []],
      ["answer", [null]],
      ["answer", ["Blue."]],
      ["answer", [{ nodeId: "ask" }]],
      ["answer", [{ nodeId: {}, text: "Blue." }]],
      ["answer", [{ nodeId: "ask", text: 5 }]],
      ["answer", [{ nodeId: "ask", text: " " }]],
      ["answer", [{ nodeId: "ask", text: "Blue.", also: true }]],
      ["answer", [{ nodeId: "x".repeat(5_000), text: "Blue." }]],
      ["answer", [{ nodeId: "ask", text: "Blue." }, {}]],
      ["answer", [deep]],
      ["budget", []],
      ["budget", [null]],
      ["budget", [{ add: null }]],
      ["budget", [{ add: {} }]],
      ["budget", [{ add: { turns: -1 } }]],
      ["budget", [{ add: { turns: 1.5 } }]],
      ["budget", [{ add: { turns: 1 }, scope: "toString" }]],
      ["budget", [{ add: { turns: 1 }, also: 1 }]],
      ["budget", [{ add: { constructor: 1 } }]],
      ["pause", ["please"]],
      ["resume", [1, 2]],
      ["finish", [{ force: true }]],
    ];
    for (const [name, args] of refused) {
      const refusal: unknown = await tell(handle, name, args).catch((e: unknown) => e);
      const cause = refusal instanceof Error ? refusal.cause : undefined;
      expect([name, args.length, cause]).toMatchObject([name, args.length, { nonRetryable: true }]);
    }
    const client = new Client({
      connection: bench.client.temporal.connection,
      dataConverter: {
        payloadCodecs: [
          {
            encode: () =>
              Promise.resolve([
                { metadata: { encoding: Buffer.from("binary/encrypted") }, data: Buffer.from("?") },
              ]),
            decode: (payloads: Payload[]) => Promise.resolve(payloads),
          },
        ],
      },
    });
    const encrypted = client.workflow.getHandle(handle.workflowId);
    await expect(encrypted.executeUpdate("answer", { args: ["?"] })).rejects.toThrow(
      "Workflow Update failed",
    );
    const { events } = await handle.fetchHistory();
    expect(events?.filter((event) => event.workflowTaskFailedEventAttributes)).toEqual([]);
    expect(events?.filter((event) => event.workflowExecutionUpdateAcceptedEventAttributes)).toEqual([]);
    expect(await handle.query("runState", deep, {})).toMatchObject({ phase: "waiting-user" });
    await handle.signal("nobody", deep);
    await run.answer({ nodeId: "ask", text: "Blue." });
    await run.result();
  });
});

describe("M2: a run belongs to one workflow id", () => {
  test("another workflow with its id is refused before anything is touched", async () => {
    const bench = await openBench([{ content: "Which?" }, ...STRAIGHT]);
    const packageId = await install(bench);
    const run = await bench.client.start({
      projectRoot: bench.projectRoot,
      packageId,
      storeId: bench.store.storeId,
    });
    await until(run, "waiting-user");
    const input = { projectRoot: bench.projectRoot, packageId, runId: run.runId };
    const thieves = [
      [`run-${randomUUID()}`, input],
      [`run-${randomUUID()}`, { ...input, resume: true }],
      ["thief", input],
      ["thief", { ...input, resume: true }],
      [`run-${run.runId} `, { ...input, resume: true }],
      [run.runId, { ...input, resume: true }],
    ] as const;
    for (const [workflowId, request] of thieves) {
      const refusal = await refusalOf(await start(bench, [request], workflowId));
      expect([workflowId, refusal]).toMatchObject([
        workflowId,
        { nonRetryable: true, failedTasks: 0, message: expect.stringContaining("belong") as string },
      ]);
    }
    expect((await bench.filesOf(run)).executions.newest()).toBe(1);
    await run.answer({ nodeId: "ask", text: "Blue." });
    await expect(run.result()).resolves.toMatchObject({ phase: "completed" });
  });
});
