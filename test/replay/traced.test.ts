import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { DefaultLogger, Runtime, Worker, type WorkflowBundleWithSourceMap } from "@temporalio/worker";
import { beforeAll, expect, test } from "vitest";
import { readHistory } from "../../src/replay.js";
import { bundleWorkflows } from "../../src/worker/workflow-bundle.js";
import { HISTORIES, recordedHistories } from "./histories.js";

const INTERCEPTORS = fileURLToPath(new URL("../../src/instruments/trace-workflows.ts", import.meta.url));
let workflowBundle: WorkflowBundleWithSourceMap;

beforeAll(async () => {
  Runtime.install({ logger: new DefaultLogger("ERROR"), shutdownSignals: [] });
  workflowBundle = await bundleWorkflows([INTERCEPTORS]);
});

test("the code for traces is in the bundle that wants it, and not in the other", async () => {
  const has = ({ code }: WorkflowBundleWithSourceMap) => code.includes("@opentelemetry/sdk-trace-base");
  expect([has(workflowBundle), has(await bundleWorkflows())]).toEqual([true, false]);
});

test.each([...recordedHistories().keys()])(
  "%s, recorded without traces, leads code with traces to the same decisions",
  async (name) => {
    const history = await readHistory(join(HISTORIES, name));
    await expect(Worker.runReplayHistory({ workflowBundle }, history, "replayed")).resolves.toBeUndefined();
  },
);

test.each([
  [
    "in an unknown encoding",
    { metadata: { encoding: Buffer.from("binary/encrypted") }, data: Buffer.from("x") },
  ],
  ["in none", { data: Buffer.from("x") }],
  ["that is no JSON", { metadata: { encoding: Buffer.from("json/plain") }, data: Buffer.from("{") }],
])("a trace to go on from %s keeps no run from being worked on", async (_, header) => {
  const [name = ""] = recordedHistories().keys();
  const history = await readHistory(join(HISTORIES, name));
  const started = history.events?.[0]?.workflowExecutionStartedEventAttributes;
  Object.assign(started ?? {}, { header: { fields: { "_tracer-data": header } } });
  await expect(Worker.runReplayHistory({ workflowBundle }, history, "replayed")).resolves.toBeUndefined();
});
