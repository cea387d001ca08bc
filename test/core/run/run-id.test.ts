import { expect, test } from "vitest";
import { isRunId, runIdIn, workflowIdOf } from "../../../src/core/run/run-id.js";

const RUN = "0b8c8a4e-5d1f-4c3a-9b7e-2f6d1a0c4e55";

test("the workflow id of a run says the run's id", () => {
  expect(workflowIdOf(RUN)).toBe(`run-${RUN}`);
  expect(runIdIn(workflowIdOf(RUN))).toBe(RUN);
});

test.each([
  ["in capitals", RUN.toUpperCase()],
  ["with more behind it", `${RUN}0`],
  ["with a line end", `${RUN}\n`],
  ["a path", `../${RUN.slice(3)}`],
  ["no version", `${RUN.slice(0, 14)}0${RUN.slice(15)}`],
  ["nothing", ""],
])("%s is no run id", (_name, text) => {
  expect(isRunId(text)).toBe(false);
  expect(runIdIn(`run-${text}`)).toBeUndefined();
});

test.each([RUN, `Run-${RUN}`, `child-run-${RUN}`, "nightly", ""])(
  "the workflow id %j says no run id",
  (id) => {
    expect(runIdIn(id)).toBeUndefined();
  },
);
