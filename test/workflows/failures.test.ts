import { expect, test } from "vitest";
import { failureOf, refusalOf } from "../../src/workflows/failures.js";

test("what a run fails with and what refuses an update has its code as type, and is not tried again", () => {
  expect(failureOf({ code: "ENGINE_MAX_TURNS_EXCEEDED", message: "too far" })).toMatchObject({
    type: "ENGINE_MAX_TURNS_EXCEEDED",
    message: "too far",
    nonRetryable: true,
  });
  expect(refusalOf("not now")).toMatchObject({ type: "E_PRECONDITION_FAILED", nonRetryable: true });
});
