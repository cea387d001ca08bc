import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { type ScriptedAnswer, patch } from "../fakes/scripted-model.js";
import { twoNodePackage } from "../fakes/two-node-package.js";
import { eventually } from "../fakes/eventually.js";
import { openBench, writeTree } from "./harness.js";

/** The two-node package, its last node under another id. */
function packageEndingAt(id: string): Record<string, string> {
  const files = twoNodePackage();
  const { "workflow.graph.json": graph = "", "steps/finish.md": step = "" } = files;
  return {
    ...files,
    "workflow.graph.json": graph
      .replace('"id":"finish"', JSON.stringify({ id }).slice(1, -1))
      .replace('"to":"finish"', JSON.stringify({ to: id }).slice(1, -1)),
    "steps/finish.md": step.replace("nodeId: finish", `nodeId: ${id}`),
  };
}

test("a node whose id is as long as it may be runs to its end and is searched for by it; one character more is refused", async () => {
  const id = "n".repeat(200);
  const step = (from: string, to: string): ScriptedAnswer => ({
    calls: [patch({ stepsCompleted: { append: [from] }, currentNodeId: { set: to } })],
  });
  const last: ScriptedAnswer = { calls: [patch({ stepsCompleted: { append: [id] } })] };
  const bench = await openBench([step("ask", "middle"), step("middle", id), last]);
  const run = await bench.start(packageEndingAt(id));
  expect(await run.result()).toMatchObject({ phase: "completed", currentNodeId: id });
  await eventually(async () => {
    const found: string[] = [];
    for await (const { workflowId } of bench.client.temporal.workflow.list({ query: `RunNode = "${id}"` })) {
      found.push(workflowId);
    }
    return found.includes(`run-${run.runId}`);
  });
  const dir = await mkdtemp(join(tmpdir(), "interlock-ids-"));
  await writeTree(dir, packageEndingAt(`${id}n`));
  const refused = await bench.store.packages.install(dir);
  expect(JSON.stringify(refused)).toContain("must have at most 200 characters");
});
