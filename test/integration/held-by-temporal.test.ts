import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { eventually } from "../fakes/eventually.js";
import { twoNodePackage } from "../fakes/two-node-package.js";
import { intentOf, straightOn, wordsIn } from "../fakes/walk.js";
import { openBench, until } from "./harness.js";
import { shellOf } from "./shell.js";

const HELD = "is paused in Temporal itself, and neither answers nor hears anything";

test(
  "a run that is paused in Temporal itself says so to whoever asks or tells it, and goes on when it is let go on there",
  { tags: "slow" },
  async () => {
    const bench = await openBench((request) =>
      intentOf(request) !== "continue" && !wordsIn(request).includes("The customer's.")
        ? { content: "Whose story?" }
        : straightOn(request),
    );
    const run = await bench.start(twoNodePackage());
    await until(run, "waiting-user");
    const { workflow, workflowService } = bench.client.temporal;
    // A task that is scheduled meanwhile would be the end of the run: see the page on operating.
    await eventually(async () => {
      const { raw } = await workflow.getHandle(run.workflowId).describe();
      return !raw.pendingWorkflowTask && (raw.pendingActivities ?? []).length === 0;
    });
    const held = { namespace: "default", workflowId: run.workflowId, identity: "somebody", reason: "a look" };
    await workflowService.pauseWorkflowExecution({ ...held, requestId: randomUUID() });

    const refused = { code: "E_PRECONDITION_FAILED", message: expect.stringContaining(HELD) as string };
    await expect(run.state()).rejects.toMatchObject(refused);
    await expect(run.pause()).rejects.toMatchObject(refused);
    await expect(run.answer({ nodeId: "ask", text: "The customer's." })).rejects.toMatchObject(refused);

    const shell = shellOf(bench);
    const status = await shell.run(["status", run.runId]);
    expect(status).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("Whose story?") as string,
      stderr: expect.stringContaining(HELD) as string,
    });
    for (const told of [
      ["answer", run.runId, "Mine."],
      ["pause", run.runId],
      ["cancel", run.runId],
    ]) {
      const { code, stderr } = await shell.run(told);
      expect([told, code, stderr]).toEqual([told, 1, expect.stringContaining(HELD)]);
    }

    await workflowService.unpauseWorkflowExecution({ ...held, requestId: randomUUID() });
    await run.answer({ nodeId: "ask", text: "The customer's." });
    await run.result();
  },
);
