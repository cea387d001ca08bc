import { ServiceError } from "@temporalio/client";
import { expect, test } from "vitest";
import { printable } from "../../../src/core/printable.js";
import { CommandError } from "../../../src/cli/terminal/output.js";
import { stoppedWatching, unfollowed } from "../../../src/cli/follow/follow-and-report.js";

test("a run that cannot be followed because Temporal is gone is said to be kept", () => {
  const gone = new ServiceError("Failed to query Workflow");
  const told = unfollowed(gone, "r-1", true);
  expect(told).toBeInstanceOf(CommandError);
  expect(told).toMatchObject({
    message:
      "Temporal does not answer any more. Run r-1 is kept, and goes on when Temporal and a worker are back. Bring both back with: interlock dev",
    cause: gone,
  });
  expect(unfollowed(gone, "r-1", false)).toMatchObject({ message: expect.stringMatching(/are back\.$/) });
  const status = Object.assign(new Error("Request unauthorized."), { code: 16, details: "", metadata: {} });
  const barred = new ServiceError("Failed to query Workflow", { cause: status });
  expect(unfollowed(barred, "r-1", false)).toBe(barred); // it answers: what it says is told
  const other = new Error("something else");
  expect(unfollowed(other, "r-1", true)).toBe(other);
});

test.each([
  ["with a server and a worker of its own", true, false, /^Stopped .*: interlock dev$/],
  ["beside another worker", true, true, /with the worker that is there\. .* interlock watch r-1$/],
  ["elsewhere", false, false, /interlock watch r-1$/],
])("whoever stops watching a run %s is told how it goes on, in lines that print as they are", (...cased) => {
  const [, embedded, isShared, told] = cased;
  const lines = stoppedWatching("r-1", embedded, isShared);
  expect(lines.map(printable)).toEqual(lines);
  expect(lines[0]).toMatch(told);
});
