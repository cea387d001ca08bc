import { ApplicationFailure } from "@temporalio/activity";
import { describe, expect, test } from "vitest";
import { toActivityError, toApplicationFailure, unwrap } from "../../src/activities/failures.js";
import { ERROR_CODES } from "../../src/core/errors.js";
import { ExecutionOver } from "../../src/store/runs/executions.js";
import { LockLost } from "../../src/store/disk/fenced-lock.js";

describe("a fault that an operator must see", () => {
  test.each(ERROR_CODES)("%s is a failure of that type", (code) => {
    const failure = toApplicationFailure({ code, message: "why" });
    expect(failure).toBeInstanceOf(ApplicationFailure);
    expect([failure.type, failure.message]).toEqual([code, "why"]);
  });

  test("is retried only where it may pass by itself", () => {
    const retried = ERROR_CODES.filter(
      (code) => toApplicationFailure({ code, message: "" }).nonRetryable !== true,
    );
    expect(retried).toEqual(["E_INTERNAL", "E_INDEX_WRITE_FAILED"]);
  });
});

test("an execution that is over is not tried again; a lost lock is", () => {
  expect(toActivityError(new ExecutionOver())).toMatchObject({ type: "ENGINE_ABORTED", nonRetryable: true });
  const lost = new LockLost();
  expect(toActivityError(lost)).toBe(lost);
});

test("unwrap gives the value, or throws what stands in its place", () => {
  expect(unwrap({ ok: true, value: 1 })).toBe(1);
  expect(() => unwrap({ ok: false, error: { code: "E_RUN_NOT_FOUND", message: "gone" } })).toThrow("gone");
});
