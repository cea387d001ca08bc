import { appendFile, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { artifactsOf, openArtifact } from "../../src/reads/artifacts.js";
import { validPackage } from "../fakes/package-fixture.js";
import { openRunWorld, valueOf } from "../fakes/run-world.js";

test("what is told of a run's artifacts, such as to attest them, is the whole list", async () => {
  const { store, projectRoot, packageId } = await openRunWorld(validPackage());
  const { runId, projectId } = valueOf(
    await store.runs.createRun({ projectRoot, packageId, activeAgentId: "author" }, new Date()),
  );
  const files = valueOf(await store.runs.openFiles(projectId, runId));
  const written = Array.from({ length: 2_001 }, (_, index) => `artifacts/${index}.md`);
  const lines = written.map((path) => {
    const output = { ok: true, path: `@project/${path}`, sha256After: "0" };
    return `${JSON.stringify({ kind: "tool.exec", nodeId: "draft", output })}\n`;
  });
  await appendFile(files.logFile, lines.join(""));
  const { artifacts } = valueOf(await artifactsOf({ store }, runId));
  expect(artifacts.map(({ path }) => path)).toEqual(written);
});

test("what a document lists in another spelling is the same artifact, by either", async () => {
  const { store, projectRoot, packageId } = await openRunWorld(validPackage());
  const { runId, projectId } = valueOf(
    await store.runs.createRun({ projectRoot, packageId, activeAgentId: "author" }, new Date()),
  );
  const files = valueOf(await store.runs.openFiles(projectId, runId));
  await writeFile(join(projectRoot, "artifacts/x.md"), "x");
  const document = join(files.stateDir, "workflow.md");
  const listed = JSON.stringify(["./artifacts/x.md", "artifacts//x.md"]);
  const text = await readFile(document, "utf8");
  await writeFile(document, text.replace(/^artifacts: .*$/m, `artifacts: ${listed}`));
  const { artifacts } = valueOf(await artifactsOf({ store }, runId));
  expect(artifacts).toMatchObject([{ path: "artifacts/x.md", bytes: 1 }]);
  for (const path of ["artifacts/x.md", "./artifacts/x.md"]) {
    const opened = valueOf(await openArtifact({ store }, { run: runId, path }));
    expect(opened.size).toBe(1);
    await opened.close?.();
  }
});
