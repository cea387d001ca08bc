import { QueryNotRegisteredError, ServiceError } from "@temporalio/client";
import { expect, test } from "vitest";
import { isUnfollowed, toInterlockError } from "../../../src/client/temporal/interlock-error.js";

test.each([
  'It is sealed with the key "k1", which is not among those here ("k2"). Add it to them.',
  'What was sealed with the key "k1" has been altered or cut off: it is not opened.',
])(
  "a worker that lacks a key is said to, not a name of Temporal's errors, nor that the key is missing here: %s",
  (words) => {
    const told = toInterlockError(new QueryNotRegisteredError(words, 3), "r-1");
    expect(told).toMatchObject({ code: "E_PRECONDITION_FAILED" });
    expect(String(told)).toContain(
      `The worker that was asked cannot open the history of run r-1. It says: "${words}"`,
    );
    expect(isUnfollowed(told)).toBe(true);
  },
);

test("what was asked by a client that has been closed says so, not the name of the request", () => {
  const closed = Object.assign(new Error("1 CANCELLED: The connection has been closed."), {
    code: 1,
    details: "The connection has been closed.",
    metadata: {},
  });
  const told = toInterlockError(new ServiceError("Failed to query Workflow", { cause: closed }), "r-1");
  expect(told).toMatchObject({ message: "The connection has been closed.", cause: closed });
  const other = new ServiceError("Failed to query Workflow", {
    cause: Object.assign(closed, { details: "Taken back." }),
  });
  expect(toInterlockError(other, "r-1")).toBe(other);
});

test("a worker whose words are sealed is told of by what they may have been, not by the name of their envelope", () => {
  const told = toInterlockError(new QueryNotRegisteredError("Encoded failure", 3), "r-1");
  expect(told).toMatchObject({ code: "E_PRECONDITION_FAILED" });
  expect(String(told)).toMatch(
    /cannot tell where run r-1 stands, and has sealed why\. .*lacks a key.*another version/,
  );
  expect(isUnfollowed(told)).toBe(true);
});
