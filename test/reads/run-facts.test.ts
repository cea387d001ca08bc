import { expect, test } from "vitest";
import { runFacts } from "../../src/reads/run-facts.js";
import { createToolHost } from "../../src/tools/graph/tool-host.js";
import { validPackage } from "../fakes/package-fixture.js";
import { openRunWorld, valueOf } from "../fakes/run-world.js";

test("a second run in a project names the artifacts of the first that it has written again", async () => {
  const { store, projectRoot, packageId } = await openRunWorld(validPackage());
  const host = createToolHost({ store });
  const runThatWrites = async (...paths: string[]) => {
    const { runId } = valueOf(
      await store.runs.createRun({ projectRoot, packageId, activeAgentId: "author" }, new Date()),
    );
    for (const [index, path] of paths.entries()) {
      const result = await host.executeToolCall({
        toolCallId: `${runId}-${index}`,
        name: "fs_write",
        argumentsJson: JSON.stringify({ path: `@project/${path}`, content: runId }),
        context: { projectRoot, packageId, workflowId: "tiny", runId, agentId: "author" },
      });
      expect(result.ok).toBe(true);
    }
    const { standing, writtenAgain } = valueOf(await runFacts(store, runId));
    return { artifacts: standing.artifacts, writtenAgain };
  };
  await expect(runThatWrites("artifacts/plan.md", "notes.md")).resolves.toEqual({
    artifacts: ["artifacts/plan.md"],
    writtenAgain: [],
  });
  await expect(
    runThatWrites("artifacts/plan.md", "artifacts/new.md", "artifacts/new.md", "notes.md"),
  ).resolves.toEqual({ artifacts: ["artifacts/new.md"], writtenAgain: ["artifacts/plan.md"] });
});
