import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { historyToJSON } from "@temporalio/common/lib/proto-utils.js";
import { beforeAll, expect, test } from "vitest";
import { workflowIdOf } from "../../src/contract/names.js";
import { SCENARIOS } from "./scenarios.js";

const HISTORIES = fileURLToPath(new URL("./histories", import.meta.url));

/** What a history says of the machine it was recorded on: replay does not need it. */
function withoutMachine(json: string): string {
  return json
    .replace(/("identity": ?)"[^"]*"/g, '$1"worker"')
    .replace(/("stackTrace": ?)"(?:[^"\\]|\\.)*"/g, '$1""')
    .replace(/("(?:buildId|sdkName|binaryChecksum)": ?)"[^"]*"/g, '$1""')
    .replace(/"name": ?"[^"]*@[^"]*"/g, '"name":"sticky"');
}

beforeAll(async () => {
  await rm(HISTORIES, { recursive: true, force: true });
  await mkdir(HISTORIES);
});

test.each(SCENARIOS.map((scenario) => [scenario.name, scenario] as const))("%s", async (name, scenario) => {
  const { bench, run } = await scenario.run();
  const { workflow } = bench.client.temporal;
  const workflowId = workflowIdOf(run.runId);
  const executions: { readonly runId: string; readonly startTime: Date }[] = [];
  for await (const { runId, startTime } of workflow.list({ query: `WorkflowId = "${workflowId}"` })) {
    executions.push({ runId, startTime });
  }
  executions.sort((a, b) => a.startTime.getTime() - b.startTime.getTime());
  expect(executions.length).toBeGreaterThan(0);
  for (const [index, { runId }] of executions.entries()) {
    const history = await workflow.getHandle(workflowId, runId).fetchHistory();
    const json = withoutMachine(JSON.stringify(JSON.parse(historyToJSON(history))));
    await writeFile(join(HISTORIES, `${name}.${index + 1}.json`), `${json}\n`);
  }
});
