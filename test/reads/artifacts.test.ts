import { appendFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { artifactsOf } from "../../src/reads/artifacts.js";
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
