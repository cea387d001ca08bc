import { readFileSync } from "node:fs";
import { historyToJSON } from "@temporalio/common/lib/proto-utils.js";
import { expect, test } from "vitest";
import { workflowIdOf } from "../../src/core/run/run-id.js";
import { keepHistory } from "./histories.js";
import { SCENARIOS } from "./scenarios.js";

/** Of the version at hand, which is to be released. */
const { version } = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8")) as {
  version: string;
};

/** What a history says of the machine it was recorded on: replay does not need it. */
function withoutMachine(json: string): string {
  return json
    .replace(/("identity": ?)"[^"]*"/g, '$1"worker"')
    .replace(/("stackTrace": ?)"(?:[^"\\]|\\.)*"/g, '$1""')
    .replace(/("(?:buildId|sdkName|binaryChecksum)": ?)"[^"]*"/g, '$1""')
    .replace(/"name": ?"[^"]*@[^"]*"/g, '"name":"sticky"');
}

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
    const file = `${version}/${name}.${index + 1}.json`;
    process.stdout.write(`${file}: ${keepHistory(file, `${json}\n`)}\n`);
  }
});
