import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { METRICS } from "../../src/instruments/metric-table.js";
import { eventually } from "../fakes/eventually.js";
import { freePort } from "../fakes/free-port.js";
import { type Gateway, openGateway } from "../fakes/gateway.js";
import { OtlpReceiver, type ReceivedSpan } from "../fakes/otlp-receiver.js";
import { type ChatRequestBody, ScriptedModel, call } from "../fakes/scripted-model.js";
import { twoNodePackage } from "../fakes/two-node-package.js";
import { step, straightOn } from "../fakes/walk.js";
import { writeTree } from "./harness.js";
import { MAIN, type Shell, jsonOf, newShell } from "./shell.js";

/** What a hostile endpoint calls its model, and a hostile model a tool: each forges a line, were it let through. */
const FORGED = 'x"} 1\nforged_total 9\u202E';

const WORDS_OF_AN_ERROR = "these are words of an endpoint";

/** The first request fails. The first answer reads, calls what there is not, and tries to skip a node; the answers after it go straight on. */
function script(request: ChatRequestBody, index: number) {
  if (index === 0) return { status: 500, body: { error: { message: WORDS_OF_AN_ERROR } } };
  const first = {
    calls: [call("fs_read", { path: "@pkg/bmad.json" }), call(FORGED, {}), step("ask", "finish")],
  };
  return { ...(index === 1 ? first : straightOn(request)), model: `${FORGED} ${index}` };
}

/** A worker in a process of its own, with all instruments, and what it logs. */
async function startWorker(shell: Shell, options: readonly string[]) {
  const child = spawn(process.execPath, [MAIN, "worker", ...options], {
    env: shell.environment,
    stdio: ["ignore", "pipe", "pipe"],
  });
  const said = { stdout: "", stderr: "" };
  child.stdout.setEncoding("utf8").on("data", (text: string) => void (said.stdout += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => void (said.stderr += text));
  const ended = once(child, "exit");
  return {
    said,
    async stop() {
      child.kill("SIGTERM");
      await ended;
    },
  };
}

const get = async (url: string) => {
  const response = await fetch(url).catch(() => undefined);
  return { status: response?.status, text: (await response?.text()) ?? "" };
};

/** The value of a series; undefined for one that is not there. */
function valueOf(scraped: string, series: string): number | undefined {
  const line = scraped.split("\n").find((known) => known.startsWith(`${series} `));
  return line === undefined ? undefined : Number(line.slice(series.length + 1));
}

describe("a worker with all instruments, and one run that it carries", () => {
  let worker: Awaited<ReturnType<typeof startWorker>>;
  let model: ScriptedModel;
  let collector: OtlpReceiver;
  let metricsUrl: string;
  let healthUrl: string;
  let runId: string;
  let temporal: Gateway;

  beforeAll(async () => {
    const shell = await newShell();
    [model, collector] = await Promise.all([ScriptedModel.start(script), OtlpReceiver.start()]);
    temporal = await openGateway(inject("temporalAddress"));
    const [metrics, health] = await Promise.all([freePort(), freePort()]);
    [metricsUrl, healthUrl] = [`http://127.0.0.1:${metrics}/metrics`, `http://127.0.0.1:${health}`];
    const configured = shell.with({
      TEMPORAL_ADDRESS: temporal.address,
      INTERLOCK_TASK_QUEUE: `instruments-${metrics}`,
      OPENAI_BASE_URL: model.baseUrl,
      INTERLOCK_MODEL: "scripted",
      ...collector.environment,
    });
    const ports = ["--metrics", String(metrics), "--health", `127.0.0.1:${health}`];
    worker = await startWorker(configured, [...ports, "--log-format", "json"]);
    await eventually(async () => (await get(`${healthUrl}/readyz`)).status === 200);
    await writeTree(join(shell.dir, "package"), twoNodePackage());
    const run = await configured.run(["run", "package", "--project", "project", "--json"]);
    runId = (jsonOf(run) as { runId: string }).runId;
  });

  afterAll(async () => {
    await worker.stop();
    await model.close();
    collector.close();
    temporal.close();
  });

  test("says that it lives and is ready, and nothing else", async () => {
    expect(await get(`${healthUrl}/healthz`)).toEqual({ status: 200, text: "ok\n" });
    expect(await get(`${healthUrl}/readyz`)).toEqual({ status: 200, text: "ok\n" });
    expect((await get(`${healthUrl}/metrics`)).status).toBe(404);
  });

  test("serves the SDK's metrics and ours at one address", async () => {
    const wanted = Object.values(METRICS);
    await eventually(async () => {
      const { text } = await get(metricsUrl);
      return wanted.every(({ name, kind }) => text.includes(`# TYPE ${name} ${kind}\n`));
    });
    const { text } = await get(metricsUrl);
    expect(text).toContain("# TYPE temporal_workflow_task_execution_latency_seconds histogram");
    expect(valueOf(text, 'interlock_model_turns_total{model="scripted"}')).toBe(4);
    expect(valueOf(text, 'interlock_model_tokens_total{model="scripted",type="input"}')).toBe(400);
    expect(valueOf(text, 'interlock_model_requests_total{model="scripted",outcome="ok"}')).toBe(4);
    expect(valueOf(text, 'interlock_model_requests_total{model="scripted",outcome="LLM_HTTP_ERROR"}')).toBe(
      1,
    );
    expect(valueOf(text, 'interlock_recoveries_total{activity="model.turn"}')).toBe(1);
    expect(valueOf(text, 'interlock_model_request_seconds_count{model="scripted"}')).toBe(5);
    expect(valueOf(text, 'interlock_tool_calls_total{outcome="ok",tool="fs.read"}')).toBe(1);
    expect(valueOf(text, 'interlock_tool_calls_total{outcome="TOOL_NOT_AVAILABLE",tool="other"}')).toBe(1);
    expect(valueOf(text, "interlock_guard_refusals_total")).toBe(1);
    expect(valueOf(text, 'interlock_run_ends_total{outcome="completed"}')).toBe(1);
    await eventually(
      async () => valueOf((await get(metricsUrl)).text, 'interlock_runs{phase="completed"}') === 1,
    );
  });

  test("lets nobody who names models or tools make a series", async () => {
    const { text } = await get(metricsUrl);
    expect(text).not.toMatch(/forged_total|\u202E/);
  });

  test("logs one JSON object a line, with the run's id in each that is about the run", () => {
    expect(worker.said.stdout).toBe("");
    const lines = worker.said.stderr
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(lines.every(({ level, time, msg }) => level && time && typeof msg === "string")).toBe(true);
    expect(lines.map(({ msg }) => msg)).toContainEqual(expect.stringMatching(/^Worker polls /));
    const ofRun = lines.filter(({ event }) => event !== undefined);
    expect(new Set(ofRun.map((line) => line["runId"]))).toEqual(new Set([runId]));
    expect(ofRun.map(({ event }) => event)).toContain("model.turn");
    expect(worker.said.stderr).not.toContain("\u202E");
  });

  test("sends one trace, from the start over workflow and activity to the model and the tools", async () => {
    const named = (name: string): readonly ReceivedSpan[] =>
      collector.spans.filter((span) => span.name === name);
    await eventually(() => named("RunWorkflow:graphRun").length === 1);
    const [start] = named("StartWorkflow:graphRun");
    const [workflow] = named("RunWorkflow:graphRun");
    const scheduled = named("StartActivity:model.turn");
    const activities = named("RunActivity:model.turn");
    const asked = named("chat scripted");
    expect(start?.parentSpanId ?? "").toBe("");
    expect(workflow?.parentSpanId).toBe(start?.spanId);
    expect([scheduled.length, activities.length, asked.length]).toEqual([4, 5, 5]);
    const parentOf = (span: ReceivedSpan) =>
      collector.spans.find(({ spanId }) => spanId === span.parentSpanId);
    for (const span of asked) {
      const way = [parentOf(span)].flatMap((first) => first ?? []);
      for (let next = way.at(-1); next !== undefined; next = parentOf(next))
        if (!way.includes(next)) way.push(next);
      expect(way.map(({ name }) => name)).toEqual([
        "RunActivity:model.turn",
        "StartActivity:model.turn",
        "RunWorkflow:graphRun",
        "StartWorkflow:graphRun",
      ]);
      expect(span.traceId).toBe(start?.traceId);
    }
    const [read] = named("execute_tool fs.read");
    expect(read?.traceId).toBe(start?.traceId);
    expect(read?.attributes).toMatchObject({
      "gen_ai.operation.name": "execute_tool",
      "gen_ai.tool.name": "fs.read",
      "gen_ai.conversation.id": runId,
    });
    const changes = named("execute_tool fs.apply_patch"); // of the state document, one refused
    expect(changes.map(({ attributes }) => attributes["error.type"])).toContain(undefined);
    for (const { traceId } of changes) expect(traceId).toBe(start?.traceId);
    const [failed, answered] = asked;
    expect(failed?.attributes).toMatchObject({ "error.type": "LLM_HTTP_ERROR" });
    expect(answered?.kind).toBe(3); // CLIENT
    expect(answered?.attributes).toMatchObject({
      "gen_ai.operation.name": "chat",
      "gen_ai.provider.name": "openai",
      "gen_ai.request.model": "scripted",
      "gen_ai.usage.input_tokens": 100,
      "gen_ai.usage.output_tokens": 10,
      "gen_ai.conversation.id": runId,
      "server.address": "127.0.0.1",
    });
  });

  test("sends nothing of what was said", () => {
    const sent = collector.bodies.join("\n");
    expect(worker.said.stderr).toContain(WORDS_OF_AN_ERROR);
    expect(sent).not.toContain(WORDS_OF_AN_ERROR);
    expect(sent).not.toMatch(/NODE_BRIEF|RUN_DIRECTIVE|gen_ai\.(input|output)\.messages|stepsCompleted/);
  });

  test("sends of a workflow what Temporal calls it, and not its memo, which holds the question that waits", () => {
    const ofWorkflows = collector.spans.filter(({ name }) => /^(?:RunWorkflow|StartActivity):/.test(name));
    const said = new Set(ofWorkflows.flatMap(({ attributes }) => Object.keys(attributes)));
    expect([...said].sort()).toEqual(["namespace", "runId", "taskQueue", "workflowId", "workflowType"]);
  });

  test(
    "is not ready while Temporal is away, lives on, and is ready again when it is back",
    { tags: "slow" },
    async () => {
      let ready = await get(`${healthUrl}/readyz`);
      const isReady = async () => (ready = await get(`${healthUrl}/readyz`)).status === 200;

      temporal.close();
      await eventually(async () => !(await isReady()));
      expect(ready).toEqual({ status: 503, text: "Temporal does not answer.\n" });
      expect((await get(`${healthUrl}/healthz`)).status).toBe(200);
      await temporal.reopen();
      await eventually(isReady);
    },
  );
});
