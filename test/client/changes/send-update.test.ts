import { ServiceError, type Client } from "@temporalio/client";
import { expect, test } from "vitest";
import { sendUpdate } from "../../../src/client/changes/send-update.js";

test("a run that Temporal calls closing for longer than its client asks is said to stand still, in no words of Temporal's alone", async () => {
  const said = {
    code: 8,
    details: "workflow operation can not be applied because workflow is closing",
    metadata: {},
  };
  const refused = new ServiceError("Workflow Update failed", {
    cause: Object.assign(new Error(said.details), said),
  });
  const workflow = { getHandle: () => ({ executeUpdate: () => Promise.reject(refused) }) };
  const access = { temporal: { workflow } as unknown as Client, namespace: "default" }; // no more is asked of it
  const run = {
    address: () => Promise.resolve({ workflowId: "run-1" }),
    state: () => Promise.reject(new Error("is not asked")),
  };
  await expect(
    sendUpdate(access, run, { name: "pause", argument: undefined, updateId: "one" }),
  ).rejects.toMatchObject({
    code: "E_PRECONDITION_FAILED",
    message: expect.stringContaining("The run can be told nothing") as string,
  });
});
