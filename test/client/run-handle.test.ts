import { type Client, ServiceError } from "@temporalio/client";
import { defaultPayloadConverter } from "@temporalio/common";
import { expect, test } from "vitest";
import { RunHandle } from "../../src/client/run-handle.js";
import { answerRefusal, takeAnswer } from "../../src/core/engine/run-updates.js";
import { openedRecord } from "../core/engine/record-world.js";
import { RUN_STATE } from "../fakes/run-state.js";

const RUN_ID = "11111111-2222-4333-8444-555555555555";
const NOT_FOUND = Object.assign(new Error("gone"), { code: 5, details: "gone", metadata: {} });

/** Temporal with the executions of one run, by their ids; the newest has none. */
function temporalWith(executions: Readonly<Record<string, { after?: string; input: object }>>) {
  const getWorkflowExecutionHistory = (request: { execution: { runId: string } }) => {
    const found = executions[request.execution.runId];
    if (found === undefined) return Promise.reject(NOT_FOUND);
    const workflowExecutionStartedEventAttributes = {
      workflowType: { name: "graphRun" },
      input: { payloads: [defaultPayloadConverter.toPayload(found.input)] },
      firstExecutionRunId: "first",
      continuedExecutionRunId: found.after ?? "",
    };
    return Promise.resolve({ history: { events: [{ workflowExecutionStartedEventAttributes }] } });
  };
  // all that is asked of it here
  return {
    temporal: {
      workflowService: { getWorkflowExecutionHistory },
      options: { loadedDataConverter: { payloadCodecs: [] }, namespace: "x" },
    } as unknown as Client,
    namespace: "x",
  };
}

test("what a run was started with is asked of its first execution, while Temporal knows it", async () => {
  const said = { runId: RUN_ID, input: "Paint it." };
  const carried = { runId: RUN_ID, carried: {} };
  const of = (executions: Parameters<typeof temporalWith>[0]) =>
    new RunHandle(temporalWith(executions), RUN_ID).startedWith();
  expect(await of({ "": { input: said } })).toEqual({ kind: "graph", input: said });
  const newest = { after: "second", input: carried };
  expect((await of({ first: { input: said }, "": newest })).input).toEqual(said);
  expect((await of({ "": newest })).input).toEqual(carried);
  await expect(of({})).rejects.toMatchObject({ code: "E_RUN_NOT_FOUND" });
});

test("who waits for a question is let go by the signal at once, with its reason, though no worker answers", async () => {
  const getHandle = () => ({ query: () => new Promise(() => undefined) });
  const withAbortSignal = (_: AbortSignal, ask: () => Promise<unknown>) => ask();
  const temporal = { workflow: { getHandle }, withAbortSignal } as unknown as Client; // all that is asked of it here
  const stopping = new AbortController();
  const asked = new RunHandle({ temporal, namespace: "x" }, RUN_ID).nextQuestion({ signal: stopping.signal });
  stopping.abort(new Error("enough"));
  await expect(asked).rejects.toThrow("enough");
});

test("who waits for a run's end is not failed by a Temporal that is away for a while, but by a deadline of theirs", async () => {
  const completed = { runId: RUN_ID, phase: "completed", currentNodeId: "end", stepsCompleted: ["end"] };
  const usage = { modelTurns: 1, toolCalls: 0, promptTokens: 1, completionTokens: 1, cost: 0 };
  const handleOf = (code: number) => {
    const cause = Object.assign(new Error("no answer"), { code, details: "no answer", metadata: {} });
    let asked = 0;
    const result = () =>
      asked++ === 0
        ? Promise.reject(new ServiceError("Failed to get Workflow execution history", { cause }))
        : Promise.resolve({ ...completed, artifacts: [], usage });
    const temporal = { workflow: { getHandle: () => ({ result }) } } as unknown as Client; // all that is asked of it here
    return new RunHandle({ temporal, namespace: "x" }, RUN_ID);
  };
  await expect(handleOf(14).result()).resolves.toMatchObject({ phase: "completed" });
  await expect(handleOf(14).resultUnlessAway()).rejects.toThrow("Failed to get");
  await expect(handleOf(4).result()).rejects.toThrow("Failed to get");
});

test("who reads a run's events is let go by the signal at once, though Temporal does not say yet which run it is", async () => {
  const never = () => new Promise(() => undefined);
  const withAbortSignal = (_: AbortSignal, ask: () => Promise<unknown>) => ask();
  const workflowService = { getWorkflowExecutionHistory: never };
  const temporal = { workflow: { getHandle: () => ({ describe: never }) }, workflowService, withAbortSignal };
  const stopping = new AbortController();
  const run = new RunHandle({ temporal: temporal as unknown as Client, namespace: "x" }, RUN_ID); // all that is asked of it here
  const first = run.events({ signal: stopping.signal }).next();
  stopping.abort(new Error("enough"));
  await expect(first).rejects.toThrow("enough");
});

test("a field that there is none of is refused, not passed over", async () => {
  const run = new RunHandle({ temporal: {} as Client, namespace: "x" }, RUN_ID); // nothing is asked of it
  const answer = { nodeId: "ask", text: "Blue.", questionId: "1.1" };
  await expect(run.answer(answer)).rejects.toThrow("an answer has no field questionId");
  const wrong: object = { form: 3 };
  for (const ask of [
    () => run.events(wrong).next(),
    () => run.result(wrong),
    () => run.pendingWork(wrong),
    () => run.nextQuestion(wrong),
    () => run.transcript(wrong),
  ])
    await expect(ask()).rejects.toMatchObject({ code: "E_SCHEMA_VALIDATION" });
});

test("a raise that Temporal would count twice, and an answer that is no text, are refused before they are sent", async () => {
  const told: unknown[] = [];
  const executeUpdate = (...update: unknown[]) => {
    told.push(update);
    return Promise.reject(new Error("sent"));
  };
  const temporal = { workflow: { getHandle: () => ({ executeUpdate }) } } as unknown as Client;
  const run = new RunHandle({ temporal, namespace: "x" }, RUN_ID);
  const raise = (raiseId: unknown) => run.raiseBudget({ add: { turns: 1 }, raiseId: raiseId as string });
  for (const raiseId of [7, "", null]) await expect(raise(raiseId)).rejects.toThrow("raiseId must be a text");
  const answer = { nodeId: "ask", question: "1.1", answerId: "1.1" };
  await expect(run.answer({ ...answer, text: 10n as unknown as string })).rejects.toThrow("plain JSON");
  expect(told).toEqual([]);
});

test("a run under a workflow id of its own that nobody here can read is not said to be gone", async () => {
  const access = temporalWith({ "": { input: {} } });
  const sealed = { metadata: { encoding: Buffer.from("binary/sealed") }, data: Buffer.from("x") };
  const getWorkflowExecutionHistory = () => {
    const started = {
      workflowType: { name: "graphRun" },
      input: { payloads: [sealed] },
      firstExecutionRunId: "a",
    };
    return Promise.resolve({ history: { events: [{ workflowExecutionStartedEventAttributes: started }] } });
  };
  const listWorkflowExecutions = () => Promise.resolve({ executions: [], nextPageToken: new Uint8Array() });
  const { options } = access.temporal;
  // all that is asked of it here
  const temporal = {
    options,
    workflowService: { getWorkflowExecutionHistory, listWorkflowExecutions },
  } as unknown as Client;
  const run = new RunHandle({ temporal, namespace: "x" }, { runId: RUN_ID, workflowId: "tea" });
  await expect(run.address()).rejects.toMatchObject({ code: "E_PRECONDITION_FAILED" });
});

test("a pause that a run below is not told says so, after those that answer were told", async () => {
  const [middle, lowest] = ["22222222-2222-4333-8444-555555555555", "33333333-2222-4333-8444-555555555555"];
  const answers: Readonly<Record<string, () => unknown>> = {
    [`run-${RUN_ID}`]: () => ({ ...RUN_STATE, below: { runId: middle, workflowRef: "middle" } }),
    [`run-${middle}`]: () => ({ ...RUN_STATE, below: { runId: lowest, workflowRef: "part" } }),
  };
  const told: string[] = [];
  const getHandle = (workflowId: string) => ({
    query: () =>
      Promise.resolve(answers[workflowId]?.()).then((state) => {
        if (state === undefined) throw new ServiceError("no worker answers");
        return state;
      }),
    describe: () => Promise.resolve({ status: { name: "RUNNING" } }),
    executeUpdate: (name: string) => Promise.resolve(void told.push(`${name} ${workflowId}`)),
  });
  // all that is asked of it here
  const access = { temporal: { workflow: { getHandle } } as unknown as Client, namespace: "x" };
  const pausing = new RunHandle(access, RUN_ID).pause();
  await expect(pausing).rejects.toMatchObject({
    code: "E_PRECONDITION_FAILED",
    message: expect.stringContaining(
      `is paused. Run ${lowest} of part, which it waits for, does not answer`,
    ) as unknown,
  });
  expect(told).toEqual([`pause run-${RUN_ID}`, `pause run-${middle}`]);
});

test("a run that was paused when it ended is over, and no longer paused", async () => {
  const getHandle = () => ({
    query: () => Promise.resolve({ ...RUN_STATE, phase: "failed", paused: true }),
    describe: () => Promise.resolve({ status: { name: "FAILED" } }),
  });
  // all that is asked of it here
  const access = { temporal: { workflow: { getHandle } } as unknown as Client, namespace: "x" };
  await expect(new RunHandle(access, RUN_ID).state()).resolves.toMatchObject({
    phase: "failed",
    paused: false,
  });
});

test("what is too long for a worker's answer to it is sent to no run: its workflow task would fail for ever", async () => {
  const told: string[] = [];
  const getHandle = () => ({
    query: () => Promise.resolve(RUN_STATE),
    describe: () => Promise.resolve({ status: { name: "RUNNING" } }),
    executeUpdate: (name: string) => Promise.resolve(void told.push(name)),
  });
  // all that is asked of it here
  const temporal = { workflow: { getHandle } } as unknown as Client;
  const run = new RunHandle({ temporal, namespace: "x" }, RUN_ID);
  const text = "x".repeat(600_000);
  for (const answer of [
    { nodeId: "ask", text },
    { nodeId: text, text: "Blue." },
  ]) {
    await expect(run.answer(answer)).rejects.toMatchObject({ code: "E_PRECONDITION_FAILED" });
  }
  expect(told).toEqual([]);
});

/** Says an answer to the question 1.1 of one run, as Temporal and its workflow take it. */
function answering() {
  const record = openedRecord({ carried: { phase: "waiting-user", visit: 1, turn: 1 } });
  record.question = { nodeId: "ask", text: "Which way?" };
  const outcomes = new Map<string, object>();
  type Told = { readonly args: [Parameters<typeof takeAnswer>[2]]; readonly updateId: string };
  const executeUpdate = async (_: string, { args: [answer], updateId }: Told) => {
    const known = outcomes.get(updateId); // Temporal runs an update once
    if (known !== undefined) return known;
    const refusal = answerRefusal(record, updateId, answer);
    if (refusal !== undefined) throw new Error(refusal);
    const outcome = { accepted: true, ...takeAnswer(record, updateId, answer) };
    outcomes.set(updateId, outcome);
    return outcome;
  };
  const getHandle = () => ({ executeUpdate });
  // all that is asked of it here
  const access = { temporal: { workflow: { getHandle } } as unknown as Client, namespace: "x" };
  return (text: string, by?: string) =>
    new RunHandle(access, RUN_ID).answer({
      nodeId: "ask",
      text,
      question: "1.1",
      answerId: "page-1.1",
      ...(by === undefined ? {} : { by }),
    });
}

test("of two people's long answers to one question that begin alike, the second one hears that it was not taken", async () => {
  const say = answering();
  const begins = "The plan as it was drafted. ".repeat(10);
  await say(`${begins}Go on.`);
  await say(`${begins}Go on.`);
  await expect(say(`${begins}Stop here!`)).rejects.toThrow(/has another answer already/);
});

test("of two people who say the same to one question, the second one hears whose answer it is", async () => {
  const say = answering();
  await say("Yes.", "ann");
  await say("Yes.", "ann");
  for (const by of ["bob", undefined]) {
    await expect(say("Yes.", by)).rejects.toMatchObject({
      code: "E_PRECONDITION_FAILED",
      message: "The question 1.1 has another answer already, that of ann: this one was not taken.",
    });
  }
});
