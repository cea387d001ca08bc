import { expect, test } from "vitest";
import { openRun } from "../../src/activities/open-run.js";
import { jsonLines } from "../fakes/run-world.js";
import { RUN_ID, openScene } from "./harness-world.js";

test("a run that goes on notes what ran before it failed, once, and nothing that did not run", async () => {
  const { world, files, deps } = await openScene([]);
  const call = (id: string, path: string) => ({
    id,
    name: "fs_read",
    argumentsJson: JSON.stringify({ path }),
  });
  const usage = { promptTokens: 0, completionTokens: 0, cost: 0 };
  const answer = { type: "assistant", content: "", finishReason: "tool_calls", model: "m", usage } as const;
  await files.conversation("visit-1").append([
    {
      ...answer,
      visit: 1,
      turn: 1,
      calls: [call("ran", "@state/workflow.md"), call("not-run", "@pkg/bmad.json")],
    },
  ]);
  await files.calls.record("ran", { result: { ok: true, path: "@state/workflow.md" } });
  const { projectRoot, packageId } = world;
  const request = { kind: "graph", input: { runId: RUN_ID, projectRoot, packageId, resume: true } } as const;
  const { resumed } = await openRun(deps, request);
  await openRun(deps, request);
  const lines = await jsonLines(files.logFile);
  expect(lines.filter(({ kind }) => kind === "model.turn")).toMatchObject([
    { id: "1.1", nodeId: "ask", agentId: "author", model: "m", calls: 2 },
  ]);
  expect(resumed?.usage.modelTurns).toBe(1);
  const events = lines.filter(({ kind }) => kind === "tool.exec");
  expect(events).toMatchObject([
    {
      toolCallId: "ran",
      toolName: "fs.read",
      agentId: "author",
      nodeId: "ask",
      input: { path: "@state/workflow.md" },
    },
  ]);
  expect(resumed?.usage.toolCalls).toBe(1);
});
