import { expect, test } from "vitest";
import { addUnrecorded, silentFault, thrownFault, toResult } from "../../../src/core/engine/closing.js";
import { RUN_ID, USAGE, openedRecord, standAt } from "./record-world.js";

test.each([
  ["LLM_AUTH_FAILED", "LLM_AUTH_FAILED"],
  ["TypeError", "E_INTERNAL"],
  [null, "E_INTERNAL"],
  [undefined, "E_INTERNAL"],
])("what is thrown under %s is the fault %s", (type, code) => {
  expect(thrownFault(type, "why")).toEqual({ code, message: "why" });
});

test.each([
  ["model.turn", "LLM_TIMEOUT"],
  ["state.persist", "E_INTERNAL"],
])("%s that does not answer is the fault %s", (activity, code) => {
  expect(silentFault(activity, "heartbeat")).toEqual({
    code,
    message: `${activity} gave no answer in time: heartbeat`,
  });
});

test("the first failure stays the failure, with what hindered its record", () => {
  const record = openedRecord();
  const fault = { code: "LLM_AUTH_FAILED", message: "no", details: { status: 401 } } as const;
  addUnrecorded(record, fault, { code: "E_INTERNAL", message: "disk", details: { more: 1 } });
  expect(record.failure).toEqual({
    ...fault,
    details: { status: 401, unrecorded: { code: "E_INTERNAL", message: "disk" } },
  });
  expect(record.carried.progress.at(-1)?.text).toBe("not recorded: E_INTERNAL");
});

test("a completed run returns where it ended and what it made and used", () => {
  const record = openedRecord({ carried: { usage: USAGE } });
  standAt(record, "done", ["draft", "done"]);
  expect(toResult(record)).toEqual({
    runId: RUN_ID,
    phase: "completed",
    currentNodeId: "done",
    stepsCompleted: ["draft", "done"],
    artifacts: [],
    usage: USAGE,
  });
});
