import { expect, test } from "vitest";
import { isRunId, runIdIn, shortRunId, workflowIdOf } from "../../../src/core/run/run-id.js";

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

test("runs that Temporal has named in one minute are told apart by their short ids, which begin their ids", () => {
  const ids = ["01a22777-23ed-7a1b-ae07-853290be8e7c", "01a22777-23ed-7ce6-8482-a348136f7828", RUN];
  const short = ids.map(shortRunId);
  expect(short).toEqual(["01a22777-23ed-7a1b", "01a22777-23ed-7ce6", "0b8c8a4e"]);
  expect(new Set(short).size).toBe(ids.length);
});
