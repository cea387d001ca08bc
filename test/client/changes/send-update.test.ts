import { ServiceError, type Client } from "@temporalio/client";
import { expect, test } from "vitest";
import { sendUpdate } from "../../../src/client/changes/send-update.js";

/** A run whose updates all end as Temporal says, and whose newest workflow task has failed. */
function refusingRun(details: string, taskFailure = "") {
  const cause = Object.assign(new Error(details), { code: 8, details, metadata: {} });
  const refused = new ServiceError("Workflow Update failed", { cause });
  const workflow = { getHandle: () => ({ executeUpdate: () => Promise.reject(refused) }) };
  const events = [{}, { workflowTaskFailedEventAttributes: { failure: { message: taskFailure } } }];
  const workflowService = {
    getWorkflowExecutionHistoryReverse: () => Promise.resolve({ history: { events } }),
  };
  const access = { temporal: { workflow, workflowService } as unknown as Client, namespace: "default" }; // no more is asked of it
  const run = {
    address: () => Promise.resolve({ workflowId: "run-1" }),
    state: () => Promise.reject(new Error("is not asked")),
  };
  return { access, run };
}

const PAUSE = { name: "pause", argument: undefined, updateId: "one" };

test("a run that Temporal calls closing for longer than its client asks is said to stand still, in no words of Temporal's alone", async () => {
  const { access, run } = refusingRun("workflow operation can not be applied because workflow is closing");
  await expect(sendUpdate(access, run, PAUSE)).rejects.toMatchObject({
    code: "E_PRECONDITION_FAILED",
    message: expect.stringContaining("The run can be told nothing") as string,
  });
});

test("where the workflow task that was to take an update has failed, it is said for what", async () => {
  const { access, run } = refusingRun(
    "Unable to perform workflow execution update due to unexpected workflow task failure.",
    "BadSearchAttributes: Namespace default has no mapping defined for search attribute RunPhase\u001B[2K",
  );
  await expect(sendUpdate(access, run, PAUSE)).rejects.toMatchObject({
    code: "E_PRECONDITION_FAILED",
    message: expect.stringMatching(
      /^The run was told nothing: its workflow task has failed \(BadSearchAttributes: Namespace default has no mapping.*\[2K\)\. Nothing is lost\./,
    ) as string,
  });
});
