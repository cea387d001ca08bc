import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { findLastAnswer, findResumePoint } from "../../../src/store/runs/resume-point.js";
import { openRunWorld, valueOf } from "../../fakes/run-world.js";
import { twoNodePackage } from "../../fakes/two-node-package.js";

const AT = "2026-01-02T03:04:05.000Z";
const usage = { promptTokens: 0, completionTokens: 0, cost: 0 };

async function openRunFiles() {
  const { store, packageId, projectRoot } = await openRunWorld(twoNodePackage());
  const run = valueOf(await store.runs.createRun({ projectRoot, packageId, activeAgentId: "author" }));
  const { graph } = valueOf(await store.packages.open(packageId)).workflows[0] ?? {};
  if (graph === undefined) throw new Error("The package has a workflow.");
  return { files: valueOf(await store.runs.openFiles(run.projectId, run.runId)), graph };
}

test("a run that nothing has happened in goes on at its beginning", async () => {
  const { files, graph } = await openRunFiles();
  const point = valueOf(await findResumePoint(files, graph));
  expect(point).toMatchObject({ visit: 0, turn: 0, phaseChanges: 0, status: undefined, said: [] });
  expect(await findLastAnswer(files, graph, "author")).toBeUndefined();
});

test("a run goes on with what was said last, of the newest two visits, and its last answer is known with its node and agent", async () => {
  const { files, graph } = await openRunFiles();
  await files.boundaries.keepBeginning({ next: "ask", timestamp: AT }, Buffer.from("---\n{}\n---\n"));
  for (const visit of [1, 2, 3]) {
    const said = [1, 2, 3].map((number) => ({
      type: "user" as const,
      id: `${visit}.${number}`,
      nodeId: "ask",
      text: "words",
    }));
    await files.conversation(`visit-${visit}`).append(said);
  }
  const calls = [{ id: "call", name: "fs_read", argumentsJson: "{}" }];
  const answer = { type: "assistant", content: "", finishReason: "stop", model: "m", usage, calls } as const;
  await files.conversation("visit-3").append([{ ...answer, visit: 3, turn: 1 }]);
  const point = valueOf(await findResumePoint(files, graph));
  expect([point.visit, point.said.map(({ id }) => id)]).toEqual([3, ["2.3", "3.1", "3.2", "3.3"]]);
  expect(await findLastAnswer(files, graph, "author")).toMatchObject({
    entry: { calls },
    nodeId: "ask",
    agentId: "author",
  });
});

test("a run whose document cannot be read goes on nowhere, and nothing is kept of it", async () => {
  const { files, graph } = await openRunFiles();
  await files.boundaries.keepBeginning({ next: "ask", timestamp: AT }, Buffer.from("---\n{}\n---\n"));
  await files.conversation("visit-1").append([{ type: "user", id: "a", nodeId: "ask", text: "words" }]);
  await writeFile(join(files.stateDir, "workflow.md"), "no front matter");
  const point = await findResumePoint(files, graph);
  expect(point).toMatchObject({ ok: false, error: { code: expect.any(String) as string } });
  expect(await files.boundaries.all()).toHaveLength(1);
});
